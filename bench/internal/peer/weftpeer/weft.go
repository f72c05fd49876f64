// Package weftpeer is weft as it comes: default configurations, typed handlers,
// and one client for all callers unless each is to have its own.
package weftpeer

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/bench/contract"
	"github.com/weftrpc/weft/bench/harness"
	"github.com/weftrpc/weft/bench/idl/pb"
	"github.com/weftrpc/weft/bench/idl/vt"
	"github.com/weftrpc/weft/bench/internal/weftserver"
	"github.com/weftrpc/weft/bench/msg"
	"github.com/weftrpc/weft/cluster"
	"github.com/weftrpc/weft/codec"
	"github.com/weftrpc/weft/codec/msgpack"
	"github.com/weftrpc/weft/codec/protobuf"
	"github.com/weftrpc/weft/codec/raw"
	"github.com/weftrpc/weft/registry"
	"github.com/weftrpc/weft/registry/static"
)

// limits let the large reply pass; the rest are the defaults.
func limits() weft.Limits { return weft.Limits{MaxMessage: msg.LargeSize + 4<<10} }

// manyCallers is how many make weft use its second connection.
const manyCallers = 256

// Peer is weft. The zero value is ready.
type Peer struct{}

// Name is "weft".
func (Peer) Name() string { return "weft" }

// Describe describes the peer.
func (Peer) Describe() contract.Description {
	return contract.Description{
		Language: "Go",
		Version:  harness.Version("github.com/weftrpc/weft"),
		Settings: "default configurations, typed handlers, one client for all callers: one connection, two when hundreds of calls are open; two servers: package cluster, with its defaults",
	}
}

// Supports the protobuf codecs and raw, and for Hello.Say the forms of messages that only
// weft has.
func (Peer) Supports(codec msg.Codec, method msg.Method) error {
	if own(codec) && method == msg.Say {
		return nil
	}
	if !msg.Protobuf(codec) || method == msg.Add && codec == msg.Raw {
		return fmt.Errorf("weft has no codec %s for %s here", codec, method.Name())
	}
	return nil
}

// Serve serves Hello.
func (Peer) Serve(ctx context.Context, cfg harness.ServeConfig) error {
	config := &weft.ServerConfig{Limits: limits()}
	if cfg.Codec == msg.Compiled {
		config.Codecs = []codec.Codec{protobuf.NewCompiled()}
	}
	server := weft.NewServer(config)
	for _, m := range msg.Methods() {
		if err := register(server, cfg, m); err != nil {
			return err
		}
	}
	if cfg.Codec == msg.VT || cfg.Codec == msg.Google {
		if err := weftserver.Add(server, msg.Add.Name(), cfg.Codec); err != nil {
			return err
		}
	}
	return weftserver.Serve(ctx, server, cfg)
}

func register(server *weft.Server, cfg harness.ServeConfig, m msg.Method) error {
	switch cfg.Codec {
	case msg.VT:
		return weftserver.Echo(server, m.Name(), func(message *vt.BenchmarkMessage) { cfg.Service.Answer(m, message) })
	case msg.Google:
		return weftserver.Echo(server, m.Name(), func(message *pb.BenchmarkMessage) { cfg.Service.Answer(m, message) })
	case msg.Raw:
		return weft.HandleRaw(server, m.Name(), func(_ context.Context, body, _ []byte) ([]byte, error) {
			return cfg.Service.AnswerRaw(m, body), nil
		})
	}
	return registerOwn(server, cfg, m)
}

// Dial opens the connections.
func (Peer) Dial(ctx context.Context, cfg harness.DialConfig) (harness.Client, error) {
	n, conns := 1, cfg.Conns
	switch conns {
	case harness.PerCaller:
		n, conns = cfg.Callers, 1
	case 0:
		// What weft chooses itself, for the record: a second
		// connection is made when hundreds of calls are open.
		conns = 1
		if cfg.Callers > manyCallers {
			conns = 2
		}
	}
	c := &client{codec: cfg.Codec}
	for range n {
		one, err := weft.Dial(ctx, "tcp://"+cfg.Addr, &weft.ClientConfig{Codec: usual(cfg.Codec), MaxConns: conns, Limits: limits()})
		if err != nil {
			c.Close()
			return nil, err
		}
		c.clients = append(c.clients, one)
	}
	c.conns = n * conns
	return c, nil
}

// DialServers makes one client that balances over all servers.
func (Peer) DialServers(_ context.Context, addrs []string, cfg harness.DialConfig) (harness.Client, error) {
	for i, addr := range addrs {
		addrs[i] = "tcp://" + addr
	}
	reg, err := static.New(addrs...)
	if err != nil {
		return nil, err
	}
	one, err := cluster.New(&cluster.Config{Registry: reg, Client: &weft.ClientConfig{Codec: usual(cfg.Codec), Limits: limits()}})
	if err != nil {
		return nil, errors.Join(err, reg.Close())
	}
	return &client{codec: cfg.Codec, clients: []connection{balanced{one, reg}}, conns: len(addrs)}, nil
}

// usual is the codec of all calls.
func usual(name msg.Codec) codec.Codec {
	switch name {
	case msg.Raw:
		return raw.New()
	case msg.Plain:
		return msgpack.New()
	case msg.Compiled:
		return protobuf.NewCompiled()
	}
	return protobuf.New()
}

// connection is a client of one server, or of several.
type connection interface {
	weft.Caller
	Close() error
}

// balanced is a client of several servers with the list of them.
type balanced struct {
	*cluster.Client
	servers *registry.Registry
}

func (b balanced) Close() error { return errors.Join(b.Client.Close(), b.servers.Close()) }

type client struct {
	codec   msg.Codec
	clients []connection
	conns   int
}

// Caller makes a caller.
func (c *client) Caller(i int) (harness.Caller, error) {
	one := c.clients[i%len(c.clients)]
	switch c.codec {
	case msg.VT:
		return &caller[*vt.BenchmarkMessage, vt.AddRequest, vt.AddReply]{
			client: one, request: sync.OnceValue(msg.NewVT), reply: new(vt.BenchmarkMessage),
			fill: func(r *vt.AddRequest, a, b int32) { r.A, r.B = a, b }, sum: (*vt.AddReply).GetX,
		}, nil
	case msg.Google:
		return &caller[*pb.BenchmarkMessage, pb.AddRequest, pb.AddReply]{
			client: one, request: sync.OnceValue(msg.NewGoogle), reply: new(pb.BenchmarkMessage),
			fill: func(r *pb.AddRequest, a, b int32) { r.A, r.B = a, b }, sum: (*pb.AddReply).GetX,
		}, nil
	case msg.Raw:
		request, err := msg.NewRaw()
		return &rawCaller{client: one, request: request}, err
	}
	return ownCaller(one, c.codec)
}

func (c *client) Conns() int { return c.conns }

func (c *client) Close() error {
	var errs []error
	for _, one := range c.clients {
		errs = append(errs, one.Close())
	}
	return errors.Join(errs...)
}

// caller holds, beside the message, what it needs for MathService, whose messages
// are of another type for each codec.
type caller[M msg.Message, Req, Rep any] struct {
	client  weft.Caller
	request func() M // made at the first use: sums have none
	reply   M
	numbers msg.Numbers
	add     Req
	added   Rep
	fill    func(r *Req, a, b int32)
	sum     func(r *Rep) int32
}

func (c *caller[M, Req, Rep]) Call(m msg.Method) error {
	if m == msg.Add {
		a, b := c.numbers.Next()
		c.fill(&c.add, a, b)
		if err := c.client.Call(context.Background(), msg.Add.Name(), &c.add, &c.added); err != nil {
			return err
		}
		return msg.CheckSum(a, b, c.sum(&c.added))
	}
	if err := c.client.Call(context.Background(), name(m), c.request(), c.reply); err != nil {
		return err
	}
	return msg.Check(m, c.reply)
}

type rawCaller struct {
	client         weft.Caller
	request, reply []byte
}

func (c *rawCaller) Call(m msg.Method) error {
	if err := c.client.Call(context.Background(), name(m), &c.request, &c.reply); err != nil {
		return err
	}
	return msg.CheckRaw(m, c.request, c.reply)
}

// name is the method's name. It does not allocate.
func name(m msg.Method) string {
	switch m {
	case msg.Slow:
		return "Hello.Slow"
	case msg.Sleep:
		return "Hello.Sleep"
	case msg.Medium:
		return "Hello.Medium"
	case msg.Large:
		return "Hello.Large"
	}
	return "Hello.Say"
}
