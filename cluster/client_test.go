package cluster_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/cluster"
	"github.com/weftrpc/weft/cluster/balance"
	"github.com/weftrpc/weft/cluster/route"
	"github.com/weftrpc/weft/registry/memory"
)

func TestConfigErrors(t *testing.T) {
	reg, err := memory.New(nil)
	must(t, err)
	defer reg.Close()
	no := false
	for _, tt := range []struct {
		name string
		set  func(*cluster.Config)
		want string
	}{
		{"no registry", func(c *cluster.Config) { c.Registry = nil }, "registry/static"},
		{"a fail mode", func(c *cluster.Config) { c.FailMode = "failsafe" }, `fail mode "failsafe"`},
		{"retries", func(c *cluster.Config) { c.Retry.Attempts = -1 }, "Attempts is -1"},
		{"a backoff", func(c *cluster.Config) { c.Retry.Backoff = -1 }, "Backoff is -1ns"},
		{"a budget", func(c *cluster.Config) { c.Budget.Ratio = -1 }, "Ratio is -1"},
		{"a budget's floor", func(c *cluster.Config) { c.Budget.Floor = math.NaN() }, "Floor is NaN"},
		{"a budget's time", func(c *cluster.Config) { c.Budget.TTL = -1 }, "TTL is -1ns"},
		{"a breaker's window", func(c *cluster.Config) { c.Breaker.Window = -1 }, "Window is -1ns"},
		{"a breaker's calls", func(c *cluster.Config) { c.Breaker.Calls = -1 }, "Calls is -1"},
		{"a breaker's ratio", func(c *cluster.Config) { c.Breaker.Ratio = -1 }, "Ratio is -1"},
		{"a breaker's row", func(c *cluster.Config) { c.Breaker.Consecutive = -1 }, "Consecutive is -1"},
		{"a breaker's time", func(c *cluster.Config) { c.Breaker.Open = -1 }, "Open is -1ns"},
		{"a breaker's longest time", func(c *cluster.Config) { c.Breaker.MaxOpen = -1 }, "MaxOpen is -1ns"},
		{"health's failures", func(c *cluster.Config) { c.Health.Failures = -1 }, "Failures is -1"},
		{"health's rate", func(c *cluster.Config) { c.Health.Rate = 2 }, "Rate is 2"},
		{"health's stall", func(c *cluster.Config) { c.Health.Stall = -1 }, "Stall is -1ns"},
		{"health's ejection", func(c *cluster.Config) { c.Health.Eject = -1 }, "Eject is -1ns"},
		{"a balancer's bound", func(c *cluster.Config) { c.Balancer = balance.Bounded(-1, balance.Ring()) }, "Bounded: the factor is -1"},
		{"a balancer's subset", func(c *cluster.Config) { c.Balancer = balance.SlowStart(0, balance.Subset(-5, "c", nil)) }, "Subset: the size is -5"},
		{"a balancer's window", func(c *cluster.Config) { c.Balancer = balance.SlowStart(-1, nil) }, "SlowStart: the window is -1ns"},
		{"a limit", func(c *cluster.Config) { c.Client = &weft.ClientConfig{Limits: weft.Limits{MaxMessage: -1}} }, "MaxMessage is -1"},
		{"a limit in time", func(c *cluster.Config) { c.Client = &weft.ClientConfig{Limits: weft.Limits{PingTimeout: -1}} }, "PingTimeout is -1ns"},
		{"connections", func(c *cluster.Config) { c.Client = &weft.ClientConfig{MaxConns: -1} }, "MaxConns is -1"},
		{"a backoff of connections", func(c *cluster.Config) { c.Client = &weft.ClientConfig{Backoff: -1} }, "Backoff is -1ns"},
		{"a hook that is none", func(c *cluster.Config) { c.Client = &weft.ClientConfig{Hooks: []any{1}} }, "hook"},
		{"an interceptor that is nil", func(c *cluster.Config) { c.Client = &weft.ClientConfig{Interceptors: []weft.UnaryInterceptor{nil}} }, "interceptor"},
		{"a method without a service", method("Mul", route.Method{}), `Methods["Mul"]: no method has this name`},
		{"a service without a method", method("Arith.", route.Method{}), `Methods["Arith."]: no method has this name`},
		{"a method of no service", method(".Mul", route.Method{}), `Methods[".Mul"]: no method has this name`},
		{"every method", method("*", route.Method{}), `Methods["*"]: no method has this name`},
		{"a pattern of services", method("*.Mul", route.Method{}), `Methods["*.Mul"]: no method has this name`},
		{"a pattern of methods", method("Arith.M*", route.Method{}), `Methods["Arith.M*"]: no method has this name`},
		{"a method's fail mode", method("A.B", route.Method{FailMode: "x"}), `Methods["A.B"]: fail_mode: "x"`},
		{"a method's timeout", method("A.B", route.Method{Timeout: -1}), `Methods["A.B"]: timeout: -1ns`},
		{"a method's attempts", method("A.*", route.Method{Attempts: -1}), `Methods["A.*"]: attempts: -1`},
		{"a method's limit", method("A.B", route.Method{MaxInFlight: -1}), `max_in_flight: -1`},
		{"a method's rate", method("A.B", route.Method{Rate: math.NaN()}), `rate: NaN`},
		{"a hedge that may not be", method("A.B", route.Method{FailMode: "failbackup", Idempotent: &no}), `not to be idempotent`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cfg := &cluster.Config{Registry: reg}
			tt.set(cfg)
			c, err := cluster.New(cfg)
			if err == nil {
				c.Close()
				t.Fatal("New takes it")
			}
			if !strings.Contains(err.Error(), tt.want) || weft.CodeOf(err) != weft.InvalidArgument {
				t.Errorf("New says %q, want something about %q", err, tt.want)
			}
		})
	}
	if _, err := cluster.New(nil); err == nil {
		t.Error("New takes no configuration at all")
	}
	c, err := cluster.New(&cluster.Config{
		Registry: reg, IdleTimeout: -1, RestartGrace: -1, Client: &weft.ClientConfig{Timeout: -1},
		Methods: map[string]route.Method{"pkg.Arith.Mul": {Timeout: time.Second}, "pkg.Arith.*": {}},
	})
	must(t, err)
	must(t, c.Close())
}

// method sets one entry of Methods.
func method(name string, m route.Method) func(*cluster.Config) {
	return func(c *cluster.Config) { c.Methods = map[string]route.Method{name: m} }
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

// Under a split the explanation tells a fallback from a first choice, and says by which
// key and which rules.
func TestExplainSplit(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t)
		f.add("a", weft.Instance{Version: "1"})
		f.add("b", weft.Instance{Version: "1"})
		f.add("c", weft.Instance{Version: "2"})
		c := f.client(func(cfg *cluster.Config) { cfg.Balancer = balance.Ring() })
		who(t, t.Context(), c)
		f.rules(`{"version":7,"routes":[{"name":"canary","when":{"metadata":[{"key":"user","in":["ann"]}]},"to":[{"percent":100,"match":{"version":"2"}},{"percent":0,"match":{"version":"1"}}]}]}`)
		ctx := weft.WithMetadata(cluster.WithKey(t.Context(), "cart 12"), "user", "ann")
		check := func(pick string, isFallback bool, parts ...string) {
			t.Helper()
			x := c.Explain(ctx, "Who.Who", nil)
			if pick != "" && x.Pick != pick || x.Fallback != isFallback || x.RulesVersion != 7 || x.Key != "cart 12" {
				t.Errorf("pick %s, fallback %v, version %d, key %q", x.Pick, x.Fallback, x.RulesVersion, x.Key)
			}
			for _, k := range x.Candidates {
				if k.Fallback != (k.Instance.Version == "1") {
					t.Errorf("%s is a fallback: %v", k.Instance.ID, k.Fallback)
				}
			}
			for _, part := range append(parts, "rules of version 7", `key "cart 12"`, `a fallback, when no instance of "canary: version=2" can be reached: it may get the call`) {
				if !strings.Contains(x.String(), part) {
					t.Errorf("the explanation lacks %q:\n%v", part, x)
				}
			}
		}
		check("mem://c", false, "would go to mem://c\n")
		f.servers["c"].reg.Close() // so that it stays in the list
		must(t, f.store.Driver().Put(t.Context(), weft.Instance{Service: "Who", ID: "mem://c", Address: "mem://c", Version: "2"}, time.Hour))
		time.Sleep(time.Second)
		if name := who(t, ctx, c); name != "c" {
			t.Errorf("%s answered", name)
		}
		f.servers["c"].srv.Close()
		time.Sleep(time.Second)
		check("", true, ", a fallback: none of the instances that the rules chose first can be reached")
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
		for name, call := range ways(t, c) {
			if err := call(); !errors.Is(err, weft.ErrClientClosed) {
				t.Errorf("%s with a closed client ended with %v", name, err)
			}
		}

		c = f.client(nil)
		go func() {
			_, err := weft.Invoke[Reply](t.Context(), c, "Who.Who", &Args{})
			ended <- err
		}()
		time.Sleep(100 * time.Millisecond)
		must(t, c.Close())
		if err := <-ended; weft.CodeOf(err) != weft.Canceled || !errors.Is(err, weft.ErrClientClosed) {
			t.Errorf("a call that was open when the client was closed ended with %v", err)
		}
	})
}
