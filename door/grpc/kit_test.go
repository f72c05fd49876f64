package grpc

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/codec/msgpack"
	"github.com/weftrpc/weft/compress"
	"github.com/weftrpc/weft/compress/gzip"
	"github.com/weftrpc/weft/door/doortest"
	"github.com/weftrpc/weft/door/internal/http2"
	"github.com/weftrpc/weft/door/wiretest"
)

// limits are the default ones, for what a client usually fills in.
func limits() weft.Limits {
	return weft.Limits{MaxMessage: 64 << 20, MaxMetadata: weft.DefaultMaxMetadata, StreamWindow: weft.DefaultStreamWindow,
		WriteBuffer: weft.DefaultWriteBuffer, WriteTimeout: weft.DefaultWriteTimeout, PingTimeout: weft.DefaultPingTimeout}
}

// client is a client of the wire for doortest.
type client struct {
	w     weft.WireConn
	under net.Conn
}

func dialKit(conn net.Conn) (doortest.Client, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	w, err := Wire(nil).Dial(ctx, weft.WireConfig{Dial: func(context.Context) (net.Conn, error) { return conn, nil },
		Limits: limits(), Logger: slog.New(slog.DiscardHandler), Address: "test"})
	if err != nil && errors.Is(err, context.DeadlineExceeded) {
		return nil, err
	}
	return &client{w, conn}, nil
}

func (c *client) Call(method string, args, reply any) error {
	if c.w == nil {
		return errors.New("there is no connection")
	}
	return c.w.Call(context.Background(), &weft.WireCall{Method: method, Codec: msgpack.New(), Args: args, Reply: reply})
}

// CallWith implements doortest.CarryingClient.
func (c *client) CallWith(ctx context.Context, method string, args, reply any, m weft.Metadata) (weft.Metadata, error) {
	call := &weft.WireCall{Method: method, Codec: msgpack.New(), Args: args, Reply: reply, Metadata: m}
	err := c.w.Call(ctx, call)
	return call.ReplyMetadata, err
}

func (c *client) Close() error {
	if c.w != nil {
		c.w.Close()
	}
	c.under.Close()
	return nil
}

// TestDoor tries the door by the wire of this package; module interop does it by grpc-go.
func TestDoor(t *testing.T) {
	doortest.Run(t, doortest.Kit{
		Scheme: weft.WireGRPC,
		Door:   func() weft.Door { return Door(nil) }, Dial: dialKit, Codes: true, TLSProtocol: "h2",
		Garbage: [][]byte{[]byte(http2.Preface + "garbage that is no frame, and long enough for the header of one")},
	})
}

// TestWire tries the wire by a weft server; module interop does it by grpc-go.
func TestWire(t *testing.T) {
	wiretest.Run(t, wiretest.Kit{
		Wire: func() weft.Wire { return Wire(nil) }, Codes: true, Metadata: true, Streams: true,
		Serve: func(conn net.Conn, h *wiretest.Handlers) {
			srv := weft.NewServer(&weft.ServerConfig{Doors: []weft.Door{Door(nil)}, Logger: slog.New(slog.DiscardHandler),
				Timeout: -1, Limits: weft.Limits{MaxMessage: 64 << 20, HandshakeTimeout: time.Minute}})
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
			defer srv.Close()
			wiretest.ServeOne(conn, srv.Serve)
		},
	})
}

func TestTurns(t *testing.T) {
	doortest.RunTurns(t, doortest.Kit{Door: func() weft.Door { return Door(nil) }, Dial: dialKit})
}

func TestStreamTurns(t *testing.T) {
	gz := gzip.New()
	for name, cfg := range map[string]*weft.ClientConfig{
		"plain":      {},
		"compressed": {Compressor: gz, Compressors: []compress.Compressor{gz}},
	} {
		cfg.Wires = []weft.Wire{Wire(nil)}
		t.Run(name, func(t *testing.T) {
			doortest.RunStreamTurns(t, doortest.Kit{Scheme: weft.WireGRPC, Door: func() weft.Door { return Door(nil) }}, cfg)
		})
	}
}
