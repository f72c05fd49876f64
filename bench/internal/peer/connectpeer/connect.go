// Package connectpeer is connect-go over HTTP/2 without TLS, and over HTTP/1.1.
package connectpeer

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"connectrpc.com/connect"

	"github.com/weftrpc/weft/bench/contract"
	"github.com/weftrpc/weft/bench/harness"
	"github.com/weftrpc/weft/bench/idl/pb"
	"github.com/weftrpc/weft/bench/idl/vt"
	"github.com/weftrpc/weft/bench/internal/listen"
	"github.com/weftrpc/weft/bench/msg"
)

// Peer is connect-go. The zero value speaks HTTP/2.
type Peer struct {
	HTTP1 bool // speak HTTP/1.1, a connection for each call in flight
}

const (
	// streamsPerConn is how many callers share a connection of HTTP/2, unless a
	// number of connections is asked for.
	streamsPerConn = 100

	// maxStreams is what the server lets share one. With more, net/http's client
	// would open connections that were not asked for.
	maxStreams = 1 << 16
)

// Name is "connect" or "connect-h1".
func (p Peer) Name() string {
	if p.HTTP1 {
		return "connect-h1"
	}
	return "connect"
}

// Describe describes the peer.
func (p Peer) Describe() contract.Description {
	settings := "Connect protocol over HTTP/2 without TLS, net/http's client and server, 100 callers a connection; no compression; vtprotobuf through its Codec"
	if p.HTTP1 {
		settings = "Connect protocol over HTTP/1.1, net/http's client and server, a connection for each caller; no compression; vtprotobuf through its Codec"
	}
	return contract.Description{Language: "Go", Version: harness.Version("connectrpc.com/connect"), Settings: settings}
}

// Supports the two protobuf codecs.
func (Peer) Supports(codec msg.Codec, _ msg.Method) error {
	if codec != msg.VT && codec != msg.Google {
		return fmt.Errorf("connect has no codec %s here", codec)
	}
	return nil
}

// path is the method as HTTP carries it.
func path(m msg.Method) string {
	if m == msg.Add {
		return "/main.MathService/Add"
	}
	return "/main.Hello/" + m.String()
}

// Serve serves Hello and MathService.
func (p Peer) Serve(ctx context.Context, cfg harness.ServeConfig) error {
	mux := http.NewServeMux()
	options := handlerOptions(cfg.Codec)
	for _, m := range msg.Methods() {
		if cfg.Codec == msg.VT {
			mux.Handle(path(m), say[vt.BenchmarkMessage](m, cfg.Service, options...))
		} else {
			mux.Handle(path(m), say[pb.BenchmarkMessage](m, cfg.Service, options...))
		}
	}
	if cfg.Codec == msg.VT {
		mux.Handle(path(msg.Add), connect.NewUnaryHandlerSimple(path(msg.Add),
			func(_ context.Context, r *vt.AddRequest) (*vt.AddReply, error) {
				return &vt.AddReply{X: r.A + r.B}, nil
			}, options...))
	} else {
		mux.Handle(path(msg.Add), connect.NewUnaryHandlerSimple(path(msg.Add),
			func(_ context.Context, r *pb.AddRequest) (*pb.AddReply, error) {
				return &pb.AddReply{X: r.A + r.B}, nil
			}, options...))
	}
	server := &http.Server{Handler: mux, Protocols: p.protocols(), HTTP2: &http.HTTP2Config{MaxConcurrentStreams: maxStreams}}
	return listen.Until(ctx, cfg.Addr, cfg.Ready, server.Serve, func() { server.Close() })
}

// message is a pointer to a message of either generated package.
type message[T any] interface {
	*T
	msg.Message
}

func say[T any, M message[T]](m msg.Method, s *msg.Service, options ...connect.HandlerOption) http.Handler {
	return connect.NewUnaryHandlerSimple(path(m), func(_ context.Context, request *T) (*T, error) {
		s.Answer(m, M(request))
		return request, nil
	}, options...)
}

func (p Peer) protocols() *http.Protocols {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(p.HTTP1)
	protocols.SetUnencryptedHTTP2(!p.HTTP1)
	return protocols
}

// Dial makes the transports. They connect when they are first used. So that the
// callers that share one find its connection, instead of opening several at once,
// a call is made on each; a lone caller connects with its own first call.
func (p Peer) Dial(ctx context.Context, cfg harness.DialConfig) (harness.Client, error) {
	c := &client{cfg: cfg}
	c.ctx, c.end = context.WithCancel(context.Background())
	n := 1
	if !p.HTTP1 {
		if n = (cfg.Callers + streamsPerConn - 1) / streamsPerConn; cfg.Conns > 0 {
			n = cfg.Conns
		} else if cfg.Conns == harness.PerCaller {
			n = cfg.Callers
		}
	}
	for range min(n, cfg.Callers) {
		c.transports = append(c.transports, &http.Transport{
			Protocols:           p.protocols(),
			MaxIdleConnsPerHost: cfg.Callers,
			DisableCompression:  true,
			DialContext:         (&net.Dialer{Timeout: 10 * time.Second}).DialContext,
		})
	}
	c.conns = len(c.transports)
	if p.HTTP1 {
		c.conns = cfg.Callers
	}
	if cfg.Callers == 1 {
		return c, nil
	}
	for i := range c.transports {
		if err := c.connect(ctx, i); err != nil {
			c.Close()
			return nil, err
		}
	}
	return c, nil
}

// connect makes a call over one transport.
func (c *client) connect(ctx context.Context, i int) error {
	defer context.AfterFunc(ctx, c.end)()
	caller, err := c.Caller(i)
	if err != nil {
		return err
	}
	return caller.Call(msg.Add)
}

type client struct {
	ctx        context.Context // of all calls
	end        context.CancelFunc
	cfg        harness.DialConfig
	conns      int
	transports []*http.Transport
}

func (c *client) Caller(i int) (harness.Caller, error) {
	http := &http.Client{Transport: c.transports[i%len(c.transports)]}
	url := "http://" + c.cfg.Addr
	options := clientOptions(c.cfg.Codec)
	if c.cfg.Codec == msg.VT {
		return &caller[vt.BenchmarkMessage, *vt.BenchmarkMessage, vt.AddRequest, vt.AddReply]{
			ctx: c.ctx, calls: clients[vt.BenchmarkMessage](http, url, options...), request: sync.OnceValue(msg.NewVT),
			adder: connect.NewClient[vt.AddRequest, vt.AddReply](http, url+path(msg.Add), options...),
			fill:  func(r *vt.AddRequest, a, b int32) { r.A, r.B = a, b }, sum: (*vt.AddReply).GetX,
		}, nil
	}
	return &caller[pb.BenchmarkMessage, *pb.BenchmarkMessage, pb.AddRequest, pb.AddReply]{
		ctx: c.ctx, calls: clients[pb.BenchmarkMessage](http, url, options...), request: sync.OnceValue(msg.NewGoogle),
		adder: connect.NewClient[pb.AddRequest, pb.AddReply](http, url+path(msg.Add), options...),
		fill:  func(r *pb.AddRequest, a, b int32) { r.A, r.B = a, b }, sum: (*pb.AddReply).GetX,
	}, nil
}

func (c *client) Conns() int { return c.conns }

func (c *client) Close() error {
	c.end()
	for _, t := range c.transports {
		t.CloseIdleConnections()
	}
	return nil
}

// clients are one for each method of Hello.
func clients[T any](http *http.Client, url string, options ...connect.ClientOption) map[msg.Method]*connect.Client[T, T] {
	all := make(map[msg.Method]*connect.Client[T, T])
	for _, m := range msg.Methods() {
		all[m] = connect.NewClient[T, T](http, url+path(m), options...)
	}
	return all
}

type caller[T any, M message[T], Req, Rep any] struct {
	ctx     context.Context
	calls   map[msg.Method]*connect.Client[T, T]
	adder   *connect.Client[Req, Rep]
	request func() *T // made at the first use: sums have none
	numbers msg.Numbers
	fill    func(r *Req, a, b int32)
	sum     func(r *Rep) int32
}

func (c *caller[T, M, Req, Rep]) Call(m msg.Method) error {
	if m == msg.Add {
		a, b := c.numbers.Next()
		request := new(Req)
		c.fill(request, a, b)
		reply, err := c.adder.CallUnary(c.ctx, connect.NewRequest(request))
		if err != nil {
			return err
		}
		return msg.CheckSum(a, b, c.sum(reply.Msg))
	}
	reply, err := c.calls[m].CallUnary(c.ctx, connect.NewRequest(c.request()))
	if err != nil {
		return err
	}
	return msg.Check(m, M(reply.Msg))
}
