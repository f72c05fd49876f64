package oneport

import (
	"context"
	"log/slog"
	"testing"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/cluster"
	"github.com/weftrpc/weft/door/connect"
	"github.com/weftrpc/weft/door/grpc"
	"github.com/weftrpc/weft/internal/polltest"
	"github.com/weftrpc/weft/registry/static"
)

// TestCluster has the client of a cluster call two servers, by gRPC and by Connect, as their addresses say. It goes on with one when
// the other has ended.
func TestCluster(t *testing.T) {
	var servers []*weft.Server
	var addresses []string
	for _, scheme := range []string{"grpc", "connect+http"} {
		srv, addr := start(t, nil)
		err := weft.Handle(srv, "Test.Scheme", func(context.Context, *Message) (*Message, error) { return &Message{Text: scheme}, nil })
		if err != nil {
			t.Fatal(err)
		}
		servers, addresses = append(servers, srv), append(addresses, scheme+"://"+addr)
	}
	reg, err := static.New(addresses...)
	if err != nil {
		t.Fatal(err)
	}
	defer reg.Close()
	c, err := cluster.New(&cluster.Config{Registry: reg, Logger: slog.New(slog.DiscardHandler),
		Client: &weft.ClientConfig{Wires: []weft.Wire{grpc.Wire(nil), connect.Wire(nil)}, Logger: slog.New(slog.DiscardHandler), Limits: limits()}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	seen := make(map[string]bool)
	polltest.True(t, patience, "both servers have answered", func() bool {
		m, err := weft.Invoke[Message](t.Context(), c, "Test.Scheme", &Message{}, weft.WithTimeout(patience))
		if err != nil {
			t.Fatal(err)
		}
		seen[m.Text] = true
		return len(seen) == 2
	})
	servers[0].Close()
	polltest.True(t, patience, "the server that is left answers", func() bool {
		m, err := weft.Invoke[Message](t.Context(), c, "Test.Scheme", &Message{}, weft.WithTimeout(patience))
		return err == nil && m.Text == "connect+http"
	})
}
