package connect_test

import (
	"context"
	"log/slog"
	"net"
	"testing"
	"time"

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
}
