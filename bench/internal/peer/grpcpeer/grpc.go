// Package grpcpeer is grpc-go, set up for this workload as well as its own
// options allow: stream workers on the server, 64 KiB buffers, large fixed
// windows, and several channels.
package grpcpeer

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/weftrpc/weft/bench/contract"
	"github.com/weftrpc/weft/bench/harness"
	"github.com/weftrpc/weft/bench/idl/pb"
	"github.com/weftrpc/weft/bench/idl/vt"
	"github.com/weftrpc/weft/bench/internal/listen"
	"github.com/weftrpc/weft/bench/msg"
)

const (
	bufferSize   = 64 << 10
	streamWindow = 1 << 20
	connWindow   = 16 << 20
	maxMessage   = 2 * msg.LargeSize

	// A channel is one HTTP/2 connection. One for every hundred callers, up to
	// ten, unless a number is asked for.
	callersPerChannel = 100
	maxChannels       = 10
)

// Peer is grpc-go. The zero value is ready.
type Peer struct{}

// Name is "grpc-go".
func (Peer) Name() string { return "grpc-go" }

// Describe describes the peer.
func (Peer) Describe() contract.Description {
	return contract.Description{
		Language: "Go",
		Version:  harness.Version("google.golang.org/grpc"),
		Settings: "stream workers, 64 KiB buffers, windows of 1 and 16 MiB, a channel for every 100 callers up to ten; vtprotobuf through CodecV2",
	}
}

// Supports the protobuf codecs and raw.
func (Peer) Supports(codec msg.Codec, method msg.Method) error {
	if !msg.Protobuf(codec) || method == msg.Add && codec == msg.Raw {
		return fmt.Errorf("grpc-go has no codec %s for %s here", codec, method.Name())
	}
	return nil
}

// Serve serves the service Hello.
func (Peer) Serve(ctx context.Context, cfg harness.ServeConfig) error {
	hello, err := service(cfg.Codec, cfg.Service)
	if err != nil {
		return err
	}
	options := []grpc.ServerOption{
		grpc.NumStreamWorkers(uint32(runtime.GOMAXPROCS(0))),
		grpc.ReadBufferSize(bufferSize),
		grpc.WriteBufferSize(bufferSize),
		grpc.InitialWindowSize(streamWindow),
		grpc.InitialConnWindowSize(connWindow),
		grpc.MaxRecvMsgSize(maxMessage),
		grpc.MaxSendMsgSize(maxMessage),
	}
	if codec := forced(cfg.Codec); codec != nil {
		options = append(options, grpc.ForceServerCodecV2(codec))
	}
	server := grpc.NewServer(options...)
	server.RegisterService(hello, nil)
	server.RegisterService(mathService(cfg.Codec), nil)
	return listen.Until(ctx, cfg.Addr, cfg.Ready, server.Serve, server.Stop)
}

// Dial opens the channels and waits until each is connected.
func (Peer) Dial(ctx context.Context, cfg harness.DialConfig) (harness.Client, error) {
	n := cfg.Conns
	switch n {
	case 0:
		n = min((cfg.Callers+callersPerChannel-1)/callersPerChannel, maxChannels)
	case harness.PerCaller:
		n = cfg.Callers
	}
	n = min(n, cfg.Callers)
	call := []grpc.CallOption{grpc.MaxCallRecvMsgSize(maxMessage), grpc.MaxCallSendMsgSize(maxMessage)}
	if codec := forced(cfg.Codec); codec != nil {
		call = append(call, grpc.ForceCodecV2(codec))
	}
	options := []grpc.DialOption{
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithReadBufferSize(bufferSize),
		grpc.WithWriteBufferSize(bufferSize),
		grpc.WithInitialWindowSize(streamWindow),
		grpc.WithInitialConnWindowSize(connWindow),
		grpc.WithDefaultCallOptions(call...),
		grpc.WithDisableServiceConfig(),
		grpc.WithDisableRetry(),
		grpc.WithNoProxy(),
	}
	c := &client{codec: cfg.Codec}
	for range n {
		channel, err := grpc.NewClient("passthrough:///"+cfg.Addr, options...)
		if err != nil {
			c.Close()
			return nil, err
		}
		c.channels = append(c.channels, channel)
		if err := connect(ctx, channel); err != nil {
			c.Close()
			return nil, err
		}
	}
	return c, nil
}

// connect waits until the channel is ready; a channel is lazy otherwise.
func connect(ctx context.Context, channel *grpc.ClientConn) error {
	channel.Connect()
	for {
		state := channel.GetState()
		if state == connectivity.Ready {
			return nil
		}
		if !channel.WaitForStateChange(ctx, state) {
			return fmt.Errorf("connect a channel, still %v: %w", state, ctx.Err())
		}
	}
}

type client struct {
	codec    msg.Codec
	channels []*grpc.ClientConn
}

// Caller spreads the callers evenly over the channels.
func (c *client) Caller(i int) (harness.Caller, error) {
	channel := c.channels[i%len(c.channels)]
	switch c.codec {
	case msg.VT:
		return &caller[*vt.BenchmarkMessage, vt.AddRequest, vt.AddReply]{
			channel: channel, request: sync.OnceValue(msg.NewVT), reply: new(vt.BenchmarkMessage),
			fill: func(r *vt.AddRequest, a, b int32) { r.A, r.B = a, b }, sum: (*vt.AddReply).GetX,
		}, nil
	case msg.Google:
		return &caller[*pb.BenchmarkMessage, pb.AddRequest, pb.AddReply]{
			channel: channel, request: sync.OnceValue(msg.NewGoogle), reply: new(pb.BenchmarkMessage),
			fill: func(r *pb.AddRequest, a, b int32) { r.A, r.B = a, b }, sum: (*pb.AddReply).GetX,
		}, nil
	case msg.Raw:
		request, err := msg.NewRaw()
		return &rawCaller{channel: channel, request: rawBody{request}}, err
	}
	return nil, fmt.Errorf("unknown codec %q", c.codec)
}

func (c *client) Conns() int { return len(c.channels) }

func (c *client) Close() error {
	var errs []error
	for _, channel := range c.channels {
		errs = append(errs, channel.Close())
	}
	return errors.Join(errs...)
}

// caller holds, beside the message, what it needs for MathService, whose messages
// are of another type for each codec.
type caller[M msg.Message, Req, Rep any] struct {
	channel *grpc.ClientConn
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
		if err := c.channel.Invoke(context.Background(), mathName+"Add", &c.add, &c.added); err != nil {
			return err
		}
		return msg.CheckSum(a, b, c.sum(&c.added))
	}
	// Both codecs reset the reply before they decode into it.
	if err := c.channel.Invoke(context.Background(), path(m), c.request(), c.reply); err != nil {
		return err
	}
	return msg.Check(m, c.reply)
}

type rawCaller struct {
	channel        *grpc.ClientConn
	request, reply rawBody
}

func (c *rawCaller) Call(m msg.Method) error {
	if err := c.channel.Invoke(context.Background(), path(m), &c.request, &c.reply); err != nil {
		return err
	}
	return msg.CheckRaw(m, c.request.bytes, c.reply.bytes)
}
