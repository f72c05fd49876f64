// Package thriftpeer is Apache Thrift for Go, with its binary and its compact
// protocol.
package thriftpeer

import (
	"context"
	"fmt"
	"net"
	"sync"

	"github.com/apache/thrift/lib/go/thrift"

	"github.com/weftrpc/weft/bench/contract"
	"github.com/weftrpc/weft/bench/harness"
	"github.com/weftrpc/weft/bench/idl/thrift/wire"
	"github.com/weftrpc/weft/bench/internal/conns"
	"github.com/weftrpc/weft/bench/msg"
)

const (
	bufferSize = 8 << 10
	maxMessage = 2 * msg.LargeSize
)

// Peer is Thrift. The zero value is ready.
type Peer struct{}

// Name is "thrift-go".
func (Peer) Name() string { return "thrift-go" }

// Describe describes the peer.
func (Peer) Describe() contract.Description {
	return contract.Description{
		Language: "Go",
		Version:  harness.Version("github.com/apache/thrift"),
		Settings: "TSimpleServer, buffered transport of 8 KiB, a connection for each caller, since one carries one call at a time; the server's connectivity check is off",
	}
}

// Supports the two protocols.
func (Peer) Supports(codec msg.Codec, _ msg.Method) error {
	if codec != msg.Binary && codec != msg.Compact {
		return fmt.Errorf("thrift has no codec %s", codec)
	}
	return nil
}

func protocol(codec msg.Codec) thrift.TProtocolFactory {
	if codec == msg.Compact {
		return thrift.NewTCompactProtocolFactoryConf(config())
	}
	return thrift.NewTBinaryProtocolFactoryConf(config())
}

func config() *thrift.TConfiguration {
	return &thrift.TConfiguration{MaxMessageSize: maxMessage, MaxFrameSize: maxMessage}
}

// Serve serves Greeter and MathService. The two have no method in common, so one
// processor has them all.
func (Peer) Serve(ctx context.Context, cfg harness.ServeConfig) error {
	// A goroutine and a timer for every call otherwise.
	if thrift.ServerConnectivityCheckInterval != 0 {
		thrift.ServerConnectivityCheckInterval = 0
	}
	listener, err := net.Listen("tcp", cfg.Addr)
	if err != nil {
		return err
	}
	processor := wire.NewGreeterProcessor(&greeter{cfg.Service})
	for name, function := range wire.NewMathServiceProcessor(adder{}).ProcessorMap() {
		processor.AddToProcessorMap(name, function)
	}
	socket := &serverSocket{listener}
	server := thrift.NewTSimpleServer4(processor, socket, thrift.NewTBufferedTransportFactory(bufferSize), protocol(cfg.Codec))
	defer context.AfterFunc(ctx, func() { server.Stop() })()
	cfg.Ready(listener.Addr().String())
	if err := server.Serve(); err != nil && ctx.Err() == nil {
		return err
	}
	return nil
}

// serverSocket is a listener as Thrift wants it: its own does not tell the port
// before it serves.
type serverSocket struct{ listener net.Listener }

func (s *serverSocket) Listen() error    { return nil }
func (s *serverSocket) Close() error     { return s.listener.Close() }
func (s *serverSocket) Interrupt() error { return s.listener.Close() }

func (s *serverSocket) Accept() (thrift.TTransport, error) {
	conn, err := s.listener.Accept()
	if err != nil {
		return nil, err
	}
	return thrift.NewTSocketFromConnConf(conn, config()), nil
}

// greeter is Greeter.
type greeter struct{ service *msg.Service }

func (g *greeter) answer(m msg.Method, message *wire.BenchmarkMessage) (*wire.BenchmarkMessage, error) {
	g.service.AnswerPlain(m, message)
	return message, nil
}

func (g *greeter) Say(_ context.Context, message *wire.BenchmarkMessage) (*wire.BenchmarkMessage, error) {
	return g.answer(msg.Say, message)
}

func (g *greeter) Slow(_ context.Context, message *wire.BenchmarkMessage) (*wire.BenchmarkMessage, error) {
	return g.answer(msg.Slow, message)
}

func (g *greeter) Sleep(_ context.Context, message *wire.BenchmarkMessage) (*wire.BenchmarkMessage, error) {
	return g.answer(msg.Sleep, message)
}

func (g *greeter) Medium(_ context.Context, message *wire.BenchmarkMessage) (*wire.BenchmarkMessage, error) {
	return g.answer(msg.Medium, message)
}

func (g *greeter) Large(_ context.Context, message *wire.BenchmarkMessage) (*wire.BenchmarkMessage, error) {
	return g.answer(msg.Large, message)
}

// adder is MathService.
type adder struct{}

func (adder) Add(_ context.Context, a, b int32) (int32, error) { return a + b, nil }

// Dial opens a connection for each caller, whatever number is asked for.
func (Peer) Dial(ctx context.Context, cfg harness.DialConfig) (harness.Client, error) {
	open, err := conns.Dial(ctx, cfg.Addr, cfg.Callers, func(c net.Conn) net.Conn { return c })
	if err != nil {
		return nil, err
	}
	c := &client{Open: open}
	for _, conn := range open {
		transport := thrift.NewTBufferedTransport(thrift.NewTSocketFromConnConf(conn, config()), bufferSize)
		factory := protocol(cfg.Codec)
		standard := thrift.NewTStandardClient(factory.GetProtocol(transport), factory.GetProtocol(transport))
		c.callers = append(c.callers, &caller{
			greeter: wire.NewGreeterClient(standard), math: wire.NewMathServiceClient(standard), request: sync.OnceValue(msg.NewPlain),
		})
	}
	return c, nil
}

type client struct {
	conns.Open[net.Conn]
	callers []*caller
}

func (c *client) Caller(i int) (harness.Caller, error) { return c.callers[i], nil }

type caller struct {
	greeter *wire.GreeterClient
	math    *wire.MathServiceClient
	request func() *wire.BenchmarkMessage // made at the first use: sums have none
	numbers msg.Numbers
}

func (c *caller) Call(m msg.Method) error {
	ctx := context.Background()
	if m == msg.Add {
		a, b := c.numbers.Next()
		x, err := c.math.Add(ctx, a, b)
		if err != nil {
			return err
		}
		return msg.CheckSum(a, b, x)
	}
	reply, err := c.method(m)(ctx, c.request())
	if err != nil {
		return err
	}
	return msg.CheckPlain(m, reply)
}

func (c *caller) method(m msg.Method) func(context.Context, *wire.BenchmarkMessage) (*wire.BenchmarkMessage, error) {
	switch m {
	case msg.Slow:
		return c.greeter.Slow
	case msg.Sleep:
		return c.greeter.Sleep
	case msg.Medium:
		return c.greeter.Medium
	case msg.Large:
		return c.greeter.Large
	}
	return c.greeter.Say
}
