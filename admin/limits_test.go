package admin_test

import (
	"context"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/admin"
	"github.com/weftrpc/weft/cluster"
	"github.com/weftrpc/weft/internal/polltest"
	"github.com/weftrpc/weft/registry/static"
)

func TestLimits(t *testing.T) {
	back := start(t, nil, nil)
	reg, err := static.New("tcp://" + back.addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { reg.Close() })
	cc, err := cluster.New(&cluster.Config{Registry: reg, Logger: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cc.Close() })
	if err := cc.Call(t.Context(), "Arith.Mul", &Args{}, nil); err != nil {
		t.Fatal(err)
	}
	r := start(t, &weft.ServerConfig{MaxConns: 10}, &admin.Config{Clusters: map[string]*cluster.Client{"back": cc}})
	err = weft.Handle(r.srv, "Narrow.Sleep", func(ctx context.Context, _ *Args) (*Product, error) { <-ctx.Done(); return nil, ctx.Err() }, weft.MethodLimit(1))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c, a := r.dial("", nil), r.admin("")
	open := c.Go(ctx, "Narrow.Sleep", &Args{}, nil, nil, weft.WithTimeout(10*time.Minute))
	var l *admin.Limits
	polltest.True(t, 30*time.Second, "the call counts against its limit", func() bool {
		if l, err = a.Limits(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		return len(l.Overload.Methods) == 1 && l.Overload.Methods[0].Calls == admin.Bound{Now: 1, Most: 1}
	})
	if l.Connections != (admin.Bound{Now: 2, Most: 10}) || !l.Overload.On || l.InFlight.Now < 1 || l.Overload.Methods[0].Method != "Narrow.Sleep" {
		t.Errorf("%+v", l)
	}
	if err := c.Call(t.Context(), "Narrow.Sleep", &Args{}, nil); err == nil {
		t.Error("a call beyond the limit was taken")
	}
	l, err = a.Limits(t.Context(), &admin.LimitsRequest{Method: "Arith.*"})
	if err != nil || l.Refused[weft.ReasonOverloadMethod] != 1 || len(l.Overload.Methods) != 0 {
		t.Errorf("%+v, %v", l, err)
	}
	if len(l.Breakers) != 1 || len(l.Breakers[0].Servers) != 1 || len(l.Breakers[0].Servers[0].Breakers) != 1 || l.Breakers[0].Servers[0].Breakers[0].State != "closed" {
		t.Errorf("%+v", l.Breakers)
	}
	cancel()
	<-open.Done
}
