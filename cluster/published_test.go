package cluster_test

import (
	"context"
	"testing"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/cluster"
	"github.com/weftrpc/weft/registry/memory"
)

// A client need not be told which methods are idempotent: the servers publish it.
func TestPublishedIdempotence(t *testing.T) {
	reg, err := memory.New(nil)
	must(t, err)
	defer reg.Close()
	srv := weft.NewServer(&weft.ServerConfig{Registry: reg})
	tried := 0
	fn := func(context.Context, *Args) (*Reply, error) {
		if tried++; tried == 1 {
			return nil, weft.Errorf(weft.Unavailable, "not the first time")
		}
		return &Reply{}, nil
	}
	must(t, weft.Handle(srv, "Shop.Get", fn, weft.Idempotent()))
	must(t, weft.Handle(srv, "Shop.Put", fn))
	l, err := srv.Listen(t.Context(), "tcp://127.0.0.1:0")
	must(t, err)
	served := make(chan error, 1)
	go func() { served <- srv.Serve(l) }()
	defer func() {
		srv.Close()
		<-served
	}()
	c, err := cluster.New(&cluster.Config{Registry: reg})
	must(t, err)
	defer c.Close()
	must(t, c.Call(t.Context(), "Shop.Get", &Args{}, nil)) // its second attempt went well
	if !c.Explain(t.Context(), "Shop.Get", nil).Idempotent {
		t.Error("Explain does not know that Shop.Get is idempotent")
	}
	tried = 0
	if err := c.Call(t.Context(), "Shop.Put", &Args{}, nil); weft.CodeOf(err) != weft.Unavailable || tried != 1 {
		t.Errorf("Shop.Put was tried %d times: %v", tried, err)
	}
}
