// Package drpcpeer is storj's drpc: protobuf, one call at a time on a connection.
package drpcpeer

import (
	"context"
	"fmt"
	"net"
	"sync"

	"storj.io/drpc"
	"storj.io/drpc/drpcconn"
	"storj.io/drpc/drpcmanager"
	"storj.io/drpc/drpcmux"
	"storj.io/drpc/drpcserver"
	"storj.io/drpc/drpcwire"

	"github.com/weftrpc/weft/bench/contract"
	"github.com/weftrpc/weft/bench/harness"
	"github.com/weftrpc/weft/bench/idl/pb"
	"github.com/weftrpc/weft/bench/idl/vt"
	"github.com/weftrpc/weft/bench/internal/conns"
	"github.com/weftrpc/weft/bench/msg"
)

// Peer is drpc. The zero value is ready.
type Peer struct{}

// Name is "drpc".
func (Peer) Name() string { return "drpc" }

// Describe describes the peer.
func (Peer) Describe() contract.Description {
	return contract.Description{
		Language: "Go",
		Version:  harness.Version("storj.io/drpc"),
		Settings: "a connection for each caller, since one carries one call at a time; messages up to 16 MiB; vtprotobuf through its Encoding, into its buffers",
	}
}

// Supports the two protobuf codecs.
func (Peer) Supports(codec msg.Codec, _ msg.Method) error {
	if codec != msg.VT && codec != msg.Google {
		return fmt.Errorf("drpc has no codec %s here", codec)
	}
	return nil
}

// maxMessage is what a reply to Large needs; drpc's default is 4 MiB.
const maxMessage = 2 * msg.LargeSize

// options are those of both sides.
func options() drpcmanager.Options {
	return drpcmanager.Options{Reader: drpcwire.ReaderOptions{MaximumBufferSize: maxMessage}}
}

// Serve serves Hello and MathService.
func (Peer) Serve(ctx context.Context, cfg harness.ServeConfig) error {
	mux := drpcmux.New()
	if err := mux.Register(cfg.Service, describe(cfg.Codec)); err != nil {
		return err
	}
	listener, err := net.Listen("tcp", cfg.Addr)
	if err != nil {
		return err
	}
	cfg.Ready(listener.Addr().String())
	return drpcserver.NewWithOptions(mux, drpcserver.Options{Manager: options()}).Serve(ctx, listener)
}

// Dial opens a connection for each caller, whatever number is asked for.
func (Peer) Dial(ctx context.Context, cfg harness.DialConfig) (harness.Client, error) {
	open, err := conns.Dial(ctx, cfg.Addr, cfg.Callers, func(c net.Conn) *drpcconn.Conn {
		return drpcconn.NewWithOptions(c, drpcconn.Options{Manager: options()})
	})
	if err != nil {
		return nil, err
	}
	return &client{open, cfg.Codec}, nil
}

type client struct {
	conns.Open[*drpcconn.Conn]
	codec msg.Codec
}

func (c *client) Caller(i int) (harness.Caller, error) {
	if c.codec == msg.VT {
		return &caller[*vt.BenchmarkMessage, vt.AddRequest, vt.AddReply]{
			conn: c.Open[i], encoding: encoding(c.codec), request: sync.OnceValue(msg.NewVT), reply: new(vt.BenchmarkMessage),
			fill: func(r *vt.AddRequest, a, b int32) { r.A, r.B = a, b }, sum: (*vt.AddReply).GetX,
		}, nil
	}
	return &caller[*pb.BenchmarkMessage, pb.AddRequest, pb.AddReply]{
		conn: c.Open[i], encoding: encoding(c.codec), request: sync.OnceValue(msg.NewGoogle), reply: new(pb.BenchmarkMessage),
		fill: func(r *pb.AddRequest, a, b int32) { r.A, r.B = a, b }, sum: (*pb.AddReply).GetX,
	}, nil
}

type caller[M msg.Message, Req, Rep any] struct {
	conn     *drpcconn.Conn
	encoding drpc.Encoding
	request  func() M // made at the first use: sums have none
	reply    M
	numbers  msg.Numbers
	add      Req
	added    Rep
	fill     func(r *Req, a, b int32)
	sum      func(r *Rep) int32
}

func (c *caller[M, Req, Rep]) Call(m msg.Method) error {
	if m == msg.Add {
		a, b := c.numbers.Next()
		c.fill(&c.add, a, b)
		if err := c.conn.Invoke(context.Background(), path(m), c.encoding, &c.add, &c.added); err != nil {
			return err
		}
		return msg.CheckSum(a, b, c.sum(&c.added))
	}
	if err := c.conn.Invoke(context.Background(), path(m), c.encoding, c.request(), c.reply); err != nil {
		return err
	}
	return msg.Check(m, c.reply)
}
