// Package jrpcpeer is JSON-RPC 2.0 by the library github.com/creachadair/jrpc2.
package jrpcpeer

import (
	"context"
	"fmt"
	"net"
	"sync"

	"github.com/creachadair/jrpc2"
	"github.com/creachadair/jrpc2/channel"
	"github.com/creachadair/jrpc2/handler"

	"github.com/weftrpc/weft/bench/contract"
	"github.com/weftrpc/weft/bench/harness"
	"github.com/weftrpc/weft/bench/idl/thrift/wire"
	"github.com/weftrpc/weft/bench/internal/conns"
	"github.com/weftrpc/weft/bench/internal/listen"
	"github.com/weftrpc/weft/bench/internal/peer/netrpcpeer"
	"github.com/weftrpc/weft/bench/msg"
)

// A connection for every hundred callers, up to ten, unless a number is asked for. The server runs as many calls
// of a connection at the same time; its default is the number of processors.
const (
	callersPerConn = 100
	maxConns       = 10
)

// Peer is jrpc2. The zero value is ready.
type Peer struct{}

// Name is "jrpc2".
func (Peer) Name() string { return "jrpc2" }

// Describe describes the peer.
func (p Peer) Describe() contract.Description {
	return contract.Description{
		Language: "Go",
		Version:  harness.Version("github.com/creachadair/jrpc2"),
		Settings: "JSON-RPC 2.0 over TCP, a line for each message, encoding/json, messages of plain fields, 100 calls of a connection at a time, a connection for every 100 callers up to ten",
		Client:   p.Name(), // it is measured beside weft's door alone
	}
}

// Supports JSON.
func (Peer) Supports(codec msg.Codec, _ msg.Method) error {
	if codec != msg.JSON {
		return fmt.Errorf("jrpc2 has no codec %s", codec)
	}
	return nil
}

// Serve serves Hello and MathService.
func (Peer) Serve(ctx context.Context, cfg harness.ServeConfig) error {
	methods := handler.Map{
		msg.Add.Name(): handler.New(func(_ context.Context, n *netrpcpeer.Numbers) (int32, error) { return n.A + n.B, nil }),
	}
	for _, m := range msg.Methods() {
		methods[m.Name()] = handler.New(func(_ context.Context, message *wire.BenchmarkMessage) (*wire.BenchmarkMessage, error) {
			cfg.Service.AnswerPlain(m, message)
			return message, nil
		})
	}
	return listen.Serve(ctx, cfg.Addr, cfg.Ready, func(conn net.Conn) error {
		return jrpc2.NewServer(methods, &jrpc2.ServerOptions{Concurrency: callersPerConn}).Start(channel.Line(conn, conn)).Wait()
	})
}

// Dial opens the connections.
func (Peer) Dial(ctx context.Context, cfg harness.DialConfig) (harness.Client, error) {
	open, err := conns.Dial(ctx, cfg.Addr, conns.Number(cfg, callersPerConn, maxConns), func(c net.Conn) *jrpc2.Client {
		return jrpc2.NewClient(channel.Line(c, c), nil)
	})
	if err != nil {
		return nil, err
	}
	return &client{open}, nil
}

type client struct{ conns.Open[*jrpc2.Client] }

func (c *client) Caller(i int) (harness.Caller, error) {
	return &caller{client: c.Open[i%len(c.Open)], request: sync.OnceValue(msg.NewPlain)}, nil
}

type caller struct {
	client  *jrpc2.Client
	request func() *wire.BenchmarkMessage // made at the first use: sums have none
	reply   wire.BenchmarkMessage
	numbers msg.Numbers
}

func (c *caller) Call(m msg.Method) error {
	ctx := context.Background()
	if m == msg.Add {
		a, b := c.numbers.Next()
		var sum int32
		if err := c.client.CallResult(ctx, m.Name(), netrpcpeer.Numbers{A: a, B: b}, &sum); err != nil {
			return err
		}
		return msg.CheckSum(a, b, sum)
	}
	c.reply = wire.BenchmarkMessage{} // encoding/json does not touch a field that did not come
	if err := c.client.CallResult(ctx, m.Name(), c.request(), &c.reply); err != nil {
		return err
	}
	return msg.CheckPlain(m, &c.reply)
}
