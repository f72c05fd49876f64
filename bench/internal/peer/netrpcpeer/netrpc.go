// Package netrpcpeer is net/rpc of the standard library, with gob and with JSON-RPC.
package netrpcpeer

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/rpc"
	"net/rpc/jsonrpc"
	"runtime"
	"sync"

	"github.com/weftrpc/weft/bench/contract"
	"github.com/weftrpc/weft/bench/harness"
	"github.com/weftrpc/weft/bench/idl/thrift/wire"
	"github.com/weftrpc/weft/bench/internal/conns"
	"github.com/weftrpc/weft/bench/internal/listen"
	"github.com/weftrpc/weft/bench/msg"
)

// A connection for every hundred callers, up to ten, unless a number is asked for.
const (
	callersPerConn = 100
	maxConns       = 10
)

// Peer is net/rpc. The zero value is ready.
type Peer struct{}

// Name is "net-rpc".
func (Peer) Name() string { return "net-rpc" }

// Describe describes the peer.
func (Peer) Describe() contract.Description {
	return contract.Description{
		Language: "Go",
		Version:  runtime.Version(),
		Settings: "the server of the standard library, messages of plain fields, a connection for every 100 callers up to ten",
	}
}

// Supports gob and JSON.
func (Peer) Supports(codec msg.Codec, _ msg.Method) error {
	if codec != msg.Gob && codec != msg.JSON {
		return fmt.Errorf("net/rpc has no codec %s", codec)
	}
	return nil
}

// Serve serves Hello and MathService.
func (Peer) Serve(ctx context.Context, cfg harness.ServeConfig) error {
	server := rpc.NewServer()
	if err := errors.Join(server.Register(&Hello{cfg.Service}), server.Register(new(MathService))); err != nil {
		return err
	}
	return listen.Serve(ctx, cfg.Addr, cfg.Ready, func(conn net.Conn) error {
		if cfg.Codec == msg.JSON {
			server.ServeCodec(jsonrpc.NewServerCodec(conn))
		} else {
			server.ServeConn(conn)
		}
		return nil
	})
}

// Hello is the service as net/rpc wants it. A reply is a pointer to a pointer so
// that the request, which is fresh for each call, can be sent back as it is.
type Hello struct{ service *msg.Service }

func (h *Hello) answer(m msg.Method, args *wire.BenchmarkMessage, reply **wire.BenchmarkMessage) error {
	h.service.AnswerPlain(m, args)
	*reply = args
	return nil
}

// Say answers at once.
func (h *Hello) Say(args *wire.BenchmarkMessage, reply **wire.BenchmarkMessage) error {
	return h.answer(msg.Say, args, reply)
}

// Slow answers after msg.SlowTime.
func (h *Hello) Slow(args *wire.BenchmarkMessage, reply **wire.BenchmarkMessage) error {
	return h.answer(msg.Slow, args, reply)
}

// Sleep answers after msg.SleepTime.
func (h *Hello) Sleep(args *wire.BenchmarkMessage, reply **wire.BenchmarkMessage) error {
	return h.answer(msg.Sleep, args, reply)
}

// Medium answers with msg.MediumSize bytes.
func (h *Hello) Medium(args *wire.BenchmarkMessage, reply **wire.BenchmarkMessage) error {
	return h.answer(msg.Medium, args, reply)
}

// Large answers with msg.LargeSize bytes.
func (h *Hello) Large(args *wire.BenchmarkMessage, reply **wire.BenchmarkMessage) error {
	return h.answer(msg.Large, args, reply)
}

// Numbers are what MathService adds.
type Numbers struct{ A, B int32 }

// MathService adds.
type MathService struct{}

// Add is the sum.
func (*MathService) Add(args *Numbers, reply *int32) error {
	*reply = args.A + args.B
	return nil
}

// Dial opens the connections.
func (Peer) Dial(ctx context.Context, cfg harness.DialConfig) (harness.Client, error) {
	open, err := conns.Dial(ctx, cfg.Addr, conns.Number(cfg, callersPerConn, maxConns), func(c net.Conn) *rpc.Client {
		if cfg.Codec == msg.JSON {
			return jsonrpc.NewClient(c)
		}
		return rpc.NewClient(c)
	})
	if err != nil {
		return nil, err
	}
	return &client{open}, nil
}

type client struct{ conns.Open[*rpc.Client] }

func (c *client) Caller(i int) (harness.Caller, error) {
	return &caller{client: c.Open[i%len(c.Open)], request: sync.OnceValue(msg.NewPlain)}, nil
}

type caller struct {
	client  *rpc.Client
	request func() *wire.BenchmarkMessage // made at the first use: sums have none
	reply   wire.BenchmarkMessage
	numbers msg.Numbers
}

func (c *caller) Call(m msg.Method) error {
	if m == msg.Add {
		return c.add()
	}
	c.reply = wire.BenchmarkMessage{} // neither codec touches a field that did not come
	if err := c.client.Call(m.Name(), c.request(), &c.reply); err != nil {
		return err
	}
	return msg.CheckPlain(m, &c.reply)
}

func (c *caller) add() error {
	a, b := c.numbers.Next()
	var x int32
	if err := c.client.Call(msg.Add.Name(), &Numbers{a, b}, &x); err != nil {
		return err
	}
	return msg.CheckSum(a, b, x)
}
