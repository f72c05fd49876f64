// Package weftpeer is weft as it comes: default configurations, typed handlers,
// and one client for all callers unless each is to have its own. It speaks weft's own wire, or another one at both ends.
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
	"github.com/weftrpc/weft/bench/internal/shamaton"
	"github.com/weftrpc/weft/bench/internal/weftserver"
	"github.com/weftrpc/weft/bench/msg"
	"github.com/weftrpc/weft/cluster"
	"github.com/weftrpc/weft/codec"
	"github.com/weftrpc/weft/codec/msgpack"
	"github.com/weftrpc/weft/codec/protobuf"
	"github.com/weftrpc/weft/codec/raw"
	"github.com/weftrpc/weft/door/grpc"
	"github.com/weftrpc/weft/door/rpcx"
	"github.com/weftrpc/weft/registry"
	"github.com/weftrpc/weft/registry/static"
)

// limits let the large reply pass; the rest are the defaults.
func limits() weft.Limits { return weft.Limits{MaxMessage: msg.LargeSize + 4<<10} }

// manyCallers is how many make weft use its second connection.
const manyCallers = 256

// Peer is weft. The zero value is ready, and speaks weft's own wire.
type Peer struct {
	scheme string // of a foreign wire
	door   func() weft.Door
	wire   func() weft.Wire
}

// GRPC is weft at both ends of the wire of gRPC.
func GRPC() Peer {
	return Peer{"grpc", func() weft.Door { return grpc.Door(nil) }, func() weft.Wire { return grpc.Wire(nil) }}
}

// RPCX is weft at both ends of the wire of rpcx.
func RPCX() Peer {
	return Peer{"rpcx", func() weft.Door { return rpcx.Door(nil) }, func() weft.Wire { return rpcx.Wire(nil) }}
}

// Name is "weft", and behind it the scheme of a foreign wire, such as "weft-rpcx".
func (p Peer) Name() string {
	if p.scheme == "" {
		return "weft"
	}
	return "weft-" + p.scheme
}

// Describe describes the peer.
func (p Peer) Describe() contract.Description {
	if p.scheme != "" {
		d := Peer{}.Describe()
		d.Settings = fmt.Sprintf("weft's client and weft's server on the wire of %s; %s", p.scheme, d.Settings)
		d.Client = Peer{}.Name()
		return d
	}
	return contract.Description{
		Language: "Go",
		Version:  harness.Version("github.com/weftrpc/weft"),
		Settings: "default configurations, typed handlers, one client for all callers: one connection, two when hundreds of calls are open; two servers: package cluster, with its defaults",
	}
}

// Supports the protobuf codecs and raw, and for Hello.Say the forms of messages that only
// weft has.
func (p Peer) Supports(codec msg.Codec, method msg.Method) error {
	if p.scheme != "" {
		if codec != msg.VT && codec != msg.Google {
			return fmt.Errorf("%s has no codec %s here", p.Name(), codec)
		}
		return nil
	}
	if own(codec) && method == msg.Say {
		return nil
	}
	if !msg.Protobuf(codec) || method == msg.Add && codec == msg.Raw {
		return fmt.Errorf("weft has no codec %s for %s here", codec, method.Name())
	}
	return nil
}

// Serve serves Hello.
func (p Peer) Serve(ctx context.Context, cfg harness.ServeConfig) error {
	config := &weft.ServerConfig{Limits: limits()}
	if p.door != nil {
		config.Doors = []weft.Door{p.door()}
	}
	if cfg.Codec == msg.Compiled || cfg.Codec == msg.PlainLibrary {
		config.Codecs = []codec.Codec{usual(cfg.Codec)}
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
func (p Peer) Dial(ctx context.Context, cfg harness.DialConfig) (harness.Client, error) {
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
		one, err := weft.Dial(ctx, p.address(cfg.Addr), p.clientConfig(cfg.Codec, conns))
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
func (p Peer) DialServers(_ context.Context, addrs []string, cfg harness.DialConfig) (harness.Client, error) {
	for i, addr := range addrs {
		addrs[i] = p.address(addr)
	}
	reg, err := static.New(addrs...)
	if err != nil {
		return nil, err
	}
	one, err := cluster.New(&cluster.Config{Registry: reg, Client: p.clientConfig(cfg.Codec, 0)})
	if err != nil {
		return nil, errors.Join(err, reg.Close())
	}
	return &client{codec: cfg.Codec, clients: []connection{balanced{one, reg}}, conns: len(addrs)}, nil
}

// address is that of a server at host:port.
func (p Peer) address(at string) string {
	if p.scheme == "" {
		return "tcp://" + at
	}
	return p.scheme + "://" + at
}

// clientConfig is that of a client with at most conns connections to a server; 0: the default.
func (p Peer) clientConfig(codec msg.Codec, conns int) *weft.ClientConfig {
	cfg := &weft.ClientConfig{Codec: usual(codec), MaxConns: conns, Limits: limits()}
	if p.wire != nil {
		cfg.Wires = []weft.Wire{p.wire()}
	}
	return cfg
}

// usual is the codec of all calls.
func usual(name msg.Codec) codec.Codec {
	switch name {
	case msg.Raw:
		return raw.New()
	case msg.Plain:
		return msgpack.New()
	case msg.PlainLibrary:
		return shamaton.New()
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
