package main

import (
	"context"
	"net"
	"sync/atomic"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/transport"
)

// wire is a transport that counts the bytes a client sends.
type wire struct {
	transport.Transport
	sent atomic.Int64
}

// Dial connects, as the transport within does.
func (w *wire) Dial(ctx context.Context, addr string) (net.Conn, error) {
	conn, err := w.Transport.Dial(ctx, addr)
	if err != nil {
		return nil, err
	}
	return &countedConn{conn, w}, nil
}

type countedConn struct {
	net.Conn
	w *wire
}

func (c *countedConn) Write(b []byte) (int, error) {
	c.w.sent.Add(int64(len(b))) // first: the reply may come before Write returns
	return c.Conn.Write(b)
}

// send makes a call and returns how many bytes it has sent. It makes the call
// twice: the first one also tells the server the names of the method and the codec.
func send(ctx context.Context, c *weft.Client, w *wire, method string, args, reply any, opts ...weft.CallOption) (int64, error) {
	var before int64
	for range 2 {
		before = w.sent.Load()
		if err := c.Call(ctx, method, args, reply, opts...); err != nil {
			return 0, err
		}
	}
	return w.sent.Load() - before, nil
}
