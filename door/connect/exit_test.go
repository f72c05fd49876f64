package connect_test

import (
	"context"
	"log/slog"
	"runtime"
	"testing"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/connect"
)

// TestExit: a call whose handler ends its goroutine is answered, over both versions of HTTP.
func TestExit(t *testing.T) {
	addr := startHostile(t, weft.ServerConfig{}, func(srv *weft.Server) error {
		if err := weft.Handle(srv, "Demo.Exit", func(context.Context, *Name) (*Name, error) {
			runtime.Goexit()
			return nil, nil
		}); err != nil {
			return err
		}
		return echo(srv)
	})
	for _, http2 := range []bool{false, true} {
		for range 3 { // a connection of HTTP/1.1 ends with its goroutine
			c, err := weft.Dial(t.Context(), "connect+http://"+addr, &weft.ClientConfig{Logger: slog.New(slog.DiscardHandler),
				Wires: []weft.Wire{connect.Wire(&connect.WireConfig{HTTP2: http2})}})
			must(t, err)
			n, err := weft.Invoke[Name](t.Context(), c, "Demo.Echo", &Name{Text: "Ada"})
			if err != nil || n.Text != "Ada" {
				t.Errorf("HTTP/2 %v: %v, %v", http2, n, err)
			}
			_, err = weft.Invoke[Name](t.Context(), c, "Demo.Exit", &Name{})
			if e, ok := err.(*weft.Error); !ok || e.Code != weft.Internal || e.Message != "the handler ended its goroutine" || e.Outcome != weft.Executed {
				t.Errorf("HTTP/2 %v: %v", http2, err)
			}
			c.Close()
		}
	}
}
