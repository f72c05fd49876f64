package cluster_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/cluster"
	"github.com/weftrpc/weft/cluster/breaker"
	"github.com/weftrpc/weft/cluster/health"
	"github.com/weftrpc/weft/cluster/retry"
	"github.com/weftrpc/weft/cluster/route"
	"github.com/weftrpc/weft/registry/memory"
)

func TestConfigErrors(t *testing.T) {
	reg, err := memory.New(nil)
	must(t, err)
	defer reg.Close()
	for _, tt := range []struct {
		name string
		cfg  *cluster.Config
		want string
	}{
		{"nothing", nil, "no Registry"},
		{"no registry", &cluster.Config{}, "registry/static"},
		{"a fail mode", &cluster.Config{Registry: reg, FailMode: "failsafe"}, `fail mode "failsafe"`},
		{"a fail mode of a method", &cluster.Config{Registry: reg, Methods: map[string]route.Method{"A.B": {FailMode: "x"}}}, "method A.B"},
		{"retries", &cluster.Config{Registry: reg, Retry: retry.Policy{Attempts: -1}}, "ttempts"},
		{"a budget", &cluster.Config{Registry: reg, Budget: retry.BudgetConfig{Ratio: -1}}, "atio"},
		{"a breaker", &cluster.Config{Registry: reg, Breaker: breaker.Config{Ratio: -1}}, "atio"},
		{"health", &cluster.Config{Registry: reg, Health: health.Config{Failures: -1}}, "ailures"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, err := cluster.New(tt.cfg)
			if err == nil {
				c.Close()
				t.Fatal("New takes it")
			}
			if !strings.Contains(err.Error(), tt.want) {
				t.Errorf("New says %q, want something about %q", err, tt.want)
			}
		})
	}
}

func TestMethodNames(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newFleet(t, "a").client(nil)
		for _, name := range []string{"", "Who", ".Who", "Who."} {
			err := c.Call(t.Context(), name, &Args{}, nil)
			wantError(t, err, weft.InvalidArgument, weft.NotSent, "Service.Method")
		}
		err := c.Call(t.Context(), "Who.Missing", &Args{}, nil)
		if weft.CodeOf(err) != weft.Unimplemented {
			t.Errorf("a method that is not there gives %v", err)
		}
	})
}

// A client may be there before its servers, and a registry before both.
func TestServersComeLater(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t)
		c := f.client(nil)
		_, err := weft.Invoke[Reply](t.Context(), c, "Who.Who", &Args{}, weft.WithTimeout(time.Second))
		wantError(t, err, weft.Unavailable, weft.NotSent, "no server of Who is known", "memory")
		go func() {
			time.Sleep(100 * time.Millisecond)
			f.add("a", weft.Instance{})
		}()
		time.Sleep(time.Second)
		who(t, t.Context(), c)
	})
}

func TestNoServer(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t, "a", "b")
		d := f.store.Driver()
		must(t, d.Put(t.Context(), weft.Instance{Service: "Who", ID: "odd", Address: "carrier://pigeon"}, time.Hour))
		c := f.client(nil)
		for range 4 {
			who(t, t.Context(), c)
		}
		f.rules(`{"instances":[{"name":"broken disk","match":{"id":"mem://b"},"state":"off"}]}`)
		f.servers["a"].srv.Close()
		time.Sleep(time.Second)
		must(t, d.Put(t.Context(), weft.Instance{Service: "Who", ID: "mem://a", Address: "mem://a"}, time.Hour))
		time.Sleep(time.Second)
		_, err := weft.Invoke[Reply](t.Context(), c, "Who.Who", &Args{}, weft.WithTimeout(time.Second))
		if e := err.(*weft.Error); e.Outcome != weft.NotSent {
			t.Errorf("the outcome is %v", e.Outcome)
		}
		x := c.Explain(t.Context(), "Who.Who", nil).String()
		for _, want := range []string{"mem://a", "cannot be reached", "mem://b", "it is off", "broken disk", "odd", "carrier", "memory"} {
			if !strings.Contains(x, want) {
				t.Errorf("the explanation lacks %q:\n%s", want, x)
			}
		}
	})
}

func TestExplain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t, "a", "b", "c")
		c := f.client(nil)
		x := c.Explain(t.Context(), "Who.Who", nil)
		if x.Err != nil || !strings.HasPrefix(x.Pick, "mem://") || len(x.Candidates) != 3 || x.Source != "memory" {
			t.Fatalf("before the first call the explanation is %+v", x)
		}
		for _, k := range x.Candidates {
			if !k.Eligible || k.Weight != weft.DefaultWeight {
				t.Errorf("candidate %+v", k)
			}
		}
		if x := c.Explain(t.Context(), "Nonsense", nil); x.Err == nil {
			t.Error("a name without a service is explained")
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if x := c.Explain(ctx, "Nobody.Home", nil); x.Err == nil || x.Pick != "" {
			t.Errorf("a service without servers: %+v", x)
		}
	})
}

func TestClose(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t, "a")
		f.servers["a"].slow(time.Second)
		c := f.client(nil)
		ended := make(chan error, 1)
		go func() {
			_, err := weft.Invoke[Reply](t.Context(), c, "Who.Who", &Args{})
			ended <- err
		}()
		time.Sleep(100 * time.Millisecond)
		must(t, c.Shutdown(t.Context()))
		if err := <-ended; err != nil {
			t.Errorf("a call that was open at the shutdown ended with %v", err)
		}
		wantError(t, c.Call(t.Context(), "Who.Who", &Args{}, nil), weft.Canceled, weft.NotSent, "closed")
		wantError(t, c.Call(t.Context(), "New.Method", &Args{}, nil), weft.Canceled, weft.NotSent, "closed")

		c = f.client(nil)
		go func() {
			_, err := weft.Invoke[Reply](t.Context(), c, "Who.Who", &Args{})
			ended <- err
		}()
		time.Sleep(100 * time.Millisecond)
		must(t, c.Close())
		if err := <-ended; weft.CodeOf(err) != weft.Canceled {
			t.Errorf("a call that was open when the client was closed ended with %v", err)
		}
	})
}
