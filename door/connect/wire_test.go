package connect_test

import (
	"context"
	"log/slog"
	"net"
	"sync"
	"testing"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/connect"
	"github.com/weftrpc/weft/door/wiretest"
)

// TestWire tries the wire by a weft server, over both versions of HTTP; module interop does it by connect-go.
func TestWire(t *testing.T) {
	for name, http2 := range map[string]bool{"HTTP1": false, "HTTP2": true} {
		t.Run(name, func(t *testing.T) {
			wiretest.Run(t, wiretest.Kit{
				Wire:  func() weft.Wire { return connect.Wire(&connect.WireConfig{HTTP2: http2}) },
				Codes: true, Metadata: true, Streams: true, Serve: serve,
			})
		})
	}
}

// serve serves one connection.
func serve(conn net.Conn, h *wiretest.Handlers) {
	srv := weft.NewServer(&weft.ServerConfig{Doors: connect.Doors(nil), Logger: slog.New(slog.DiscardHandler),
		Timeout: -1, Limits: weft.Limits{MaxMessage: 64 << 20}})
	if err := srv.RegisterName("Test", h); err != nil {
		panic(err)
	}
	err := weft.HandleServerStream(srv, "Test.Count", func(_ context.Context, m *wiretest.Message, out *weft.Sender[wiretest.Message]) error {
		for n := range m.N {
			if err := out.Send(&wiretest.Message{N: n + 1}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		panic(err)
	}
	l := &single{conn: make(chan net.Conn, 1), addr: conn.LocalAddr(), over: make(chan struct{})}
	w := &closing{Conn: conn, closed: make(chan struct{})}
	l.conn <- w
	var wg sync.WaitGroup
	wg.Go(func() { _ = srv.Serve(l) })
	<-w.closed
	srv.Close()
	wg.Wait()
}

// single is a listener of one connection.
type single struct {
	conn chan net.Conn
	addr net.Addr
	over chan struct{}
	once sync.Once
}

func (l *single) Accept() (net.Conn, error) {
	select {
	case c := <-l.conn:
		return c, nil
	case <-l.over:
		return nil, net.ErrClosed
	}
}

func (l *single) Close() error {
	l.once.Do(func() { close(l.over) })
	return nil
}

func (l *single) Addr() net.Addr { return l.addr }

// closing is a connection that tells when it is closed.
type closing struct {
	net.Conn
	closed chan struct{}
	once   sync.Once
}

func (c *closing) Close() error {
	err := c.Conn.Close()
	c.once.Do(func() { close(c.closed) })
	return err
}
