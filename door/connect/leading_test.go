package connect_test

import (
	"context"
	"io"
	"log/slog"
	"testing"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/connect"
	"github.com/weftrpc/weft/internal/polltest"
)

// TestLeadingThatPanics has Config.Leading panic for one key: that pair follows the messages, each call is answered, and none is left.
func TestLeadingThatPanics(t *testing.T) {
	doors := connect.Doors(&connect.Config{Leading: func(key string) bool {
		if key == "bad" {
			panic("on purpose")
		}
		return key == "first"
	}})
	srv := weft.NewServer(&weft.ServerConfig{Doors: doors, Logger: slog.New(slog.DiscardHandler)})
	set := func(ctx context.Context) error {
		return weft.SetReplyMetadata(ctx, "first", "1", "bad", "2", "last", "3")
	}
	must(t, weft.HandleServerStream(srv, "Demo.Stream", func(ctx context.Context, n *Name, out *weft.Sender[Name]) error {
		if err := set(ctx); err != nil {
			return err
		}
		return out.Send(n)
	}))
	must(t, weft.Handle(srv, "Demo.Call", func(ctx context.Context, n *Name) (*Name, error) {
		if err := set(ctx); err != nil || n.Text != "" {
			return n, err
		}
		return nil, weft.Errorf(weft.NotFound, "none")
	}))
	l, err := srv.Listen(t.Context(), "tcp://127.0.0.1:0")
	must(t, err)
	served := make(chan error, 1)
	go func() { served <- srv.Serve(l) }() // it ends with the server
	defer func() {
		srv.Close()
		<-served
	}()
	for _, http2 := range []bool{false, true} {
		wire := connect.Wire(&connect.WireConfig{HTTP2: http2})
		c, err := weft.Dial(t.Context(), "connect+http://"+l.Addr().String(), &weft.ClientConfig{Wires: []weft.Wire{wire}, Logger: slog.New(slog.DiscardHandler)})
		must(t, err)
		check := func(m weft.Metadata) {
			t.Helper()
			for key, want := range map[string]string{"first": "1", "bad": "2", "last": "3"} {
				if all := m.Values(key); len(all) != 1 || all[0] != want {
					t.Errorf("%s came back as %q", key, all)
				}
			}
		}
		for text, want := range map[string]weft.Code{"Ada": 0, "": weft.NotFound} {
			var m weft.Metadata
			if err := c.Call(t.Context(), "Demo.Call", &Name{Text: text}, new(Name), weft.WithReplyMetadata(&m)); weft.CodeOf(err) != want {
				t.Errorf("the call of %q ended with %v", text, err)
			}
			check(m)
		}
		var m weft.Metadata
		s, err := weft.Subscribe[Name](t.Context(), c, "Demo.Stream", &Name{Text: "Ada"}, weft.WithReplyMetadata(&m))
		must(t, err)
		if n, err := s.Recv(); err != nil || n.Text != "Ada" {
			t.Errorf("%v, %v", n, err)
		}
		if _, err := s.Recv(); err != io.EOF {
			t.Errorf("the stream ended with %v", err)
		}
		check(m)
		s.Close()
		c.Close()
	}
	polltest.True(t, patience, "no call is left", func() bool { return srv.Stats().InFlight == 0 })
}
