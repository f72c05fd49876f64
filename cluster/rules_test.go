package cluster_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/cluster"
	"github.com/weftrpc/weft/cluster/balance"
	"github.com/weftrpc/weft/cluster/route"
)

// Rules come from the registry and act on clients that run.
func TestRules(t *testing.T) {
	for _, tt := range []struct {
		name string
		doc  string
		run  func(t *testing.T, f *fleet, c *cluster.Client)
	}{
		{"an instance is taken out", `{"instances":[{"match":{"id":"mem://a"},"state":"off"}]}`,
			func(t *testing.T, f *fleet, c *cluster.Client) {
				if got := shares(t, c, 30); keys(got) != "[b c]" {
					t.Errorf("the shares are %v, want none for a", got)
				}
				f.rules(`{}`)
				if got := shares(t, c, 30); keys(got) != "[a b c]" {
					t.Errorf("without the rule the shares are %v", got)
				}
			}},
		{"a weight", `{"instances":[{"match":{"id":"mem://a"},"weight":800},{"match":{"id":"*"},"weight":100}]}`,
			func(t *testing.T, f *fleet, c *cluster.Client) {
				if got := shares(t, c, 100); got["a"] != 80 {
					t.Errorf("the shares are %v, want 80 of 100 for a", got)
				}
			}},
		{"by metadata", `{"routes":[{"name":"beta","when":{"metadata":[{"key":"user","in":["ann"]}]},"to":[{"match":{"version":"2"}}]}]}`,
			func(t *testing.T, f *fleet, c *cluster.Client) {
				ctx := weft.WithMetadata(t.Context(), "user", "ann")
				for range 10 {
					if name := who(t, ctx, c); name != "c" {
						t.Errorf("the call went to %s, want the one of version 2", name)
					}
				}
				if got := shares(t, c, 30); keys(got) != "[a b c]" {
					t.Errorf("the shares of other calls are %v", got)
				}
			}},
		{"a canary", `{"routes":[{"name":"canary","to":[{"percent":90,"match":{"version":"1"}},{"percent":10,"match":{"version":"2"}}]}]}`,
			func(t *testing.T, f *fleet, c *cluster.Client) {
				if got := shares(t, c, 2000); got["c"] < 140 || got["c"] > 260 {
					t.Errorf("the canary got %d of 2000 calls, want a tenth", got["c"])
				}
			}},
		{"nowhere to go", `{"routes":[{"name":"eu","to":[{"match":{"zone":"eu"}}],"else":"fail"}]}`,
			func(t *testing.T, f *fleet, c *cluster.Client) {
				_, err := weft.Invoke[Reply](t.Context(), c, "Who.Who", &Args{}, weft.WithTimeout(time.Second))
				wantError(t, err, weft.Unavailable, weft.NotSent, `"eu"`)
			}},
		{"a timeout", `{"methods":{"Who":{"timeout":"50ms"}}}`,
			func(t *testing.T, f *fleet, c *cluster.Client) {
				for _, n := range f.servers {
					n.slow(time.Second)
				}
				began := time.Now()
				_, err := weft.Invoke[Reply](t.Context(), c, "Who.Who", &Args{})
				if took := time.Since(began); weft.CodeOf(err) != weft.DeadlineExceeded || took > 100*time.Millisecond {
					t.Errorf("the call ended after %v with %v", took, err)
				}
				if _, err := weft.Invoke[Reply](t.Context(), c, "Who.Who", &Args{}, weft.WithTimeout(2*time.Second)); err != nil {
					t.Errorf("a call with a timeout of its own: %v", err)
				}
			}},
		{"calls in flight", `{"methods":{"Who":{"max_in_flight":2}}}`,
			func(t *testing.T, f *fleet, c *cluster.Client) {
				for _, n := range f.servers {
					n.slow(time.Second)
				}
				var wg sync.WaitGroup
				var mu sync.Mutex
				refused := 0
				for range 5 {
					wg.Go(func() {
						_, err := weft.Invoke[Reply](t.Context(), c, "Who.Who", &Args{})
						if err != nil {
							wantError(t, err, weft.ResourceExhausted, weft.NotSent, "in flight: 2")
							mu.Lock()
							refused++
							mu.Unlock()
						}
					})
				}
				wg.Wait()
				if refused != 3 {
					t.Errorf("%d of five calls were refused, want three", refused)
				}
			}},
		{"a rate", `{"methods":{"Who":{"rate":10}}}`,
			func(t *testing.T, f *fleet, c *cluster.Client) {
				good := 0
				for range 500 {
					if _, err := weft.Invoke[Reply](t.Context(), c, "Who.Who", &Args{}); err == nil {
						good++
					}
					time.Sleep(10 * time.Millisecond)
				}
				if good < 48 || good > 53 {
					t.Errorf("%d calls went through in five seconds, want ten a second", good)
				}
			}},
		{"a rate, and calls to all servers", `{"methods":{"Who":{"rate":2,"max_in_flight":1}}}`,
			func(t *testing.T, f *fleet, c *cluster.Client) {
				fans := map[string]func() error{
					"Broadcast": func() error { _, err := cluster.Broadcast[Reply](t.Context(), c, "Who.Who", &Args{}); return err },
					"Inform":    func() error { _, err := cluster.Inform[Reply](t.Context(), c, "Who.Who", &Args{}); return err },
					"Fork":      func() error { _, err := cluster.Fork[Reply](t.Context(), c, "Who.Who", &Args{}); return err },
				}
				for name, fan := range fans {
					time.Sleep(2 * time.Second)
					if err := fan(); err != nil { // one call, however many servers it goes to
						t.Errorf("%s: %v", name, err)
					}
					wantError(t, fan(), weft.ResourceExhausted, weft.NotSent, "2 a second")
				}
				time.Sleep(2 * time.Second)
				for _, n := range f.servers {
					n.slow(time.Second)
				}
				first := timed(fans["Inform"])
				time.Sleep(900 * time.Millisecond)
				wantError(t, fans["Inform"](), weft.ResourceExhausted, weft.NotSent, "in flight: 1")
				must(t, (<-first).err)
			}},
		{"a rate that was a mistake", `{"methods":{"Who":{"rate":0.01}}}`,
			func(t *testing.T, f *fleet, c *cluster.Client) {
				who(t, t.Context(), c)
				if _, err := weft.Invoke[Reply](t.Context(), c, "Who.Who", &Args{}); weft.CodeOf(err) != weft.ResourceExhausted {
					t.Errorf("a second call ended with %v", err)
				}
				f.rules(`{"methods":{"Who":{"rate":100}}}`)
				who(t, t.Context(), c)
			}},
		{"idempotent, with one attempt", `{"methods":{"Who":{"idempotent":true,"attempts":1}}}`,
			func(t *testing.T, f *fleet, c *cluster.Client) {
				for _, n := range f.servers {
					n.fail.Store(weft.Errorf(weft.Unavailable, "no"))
				}
				weft.Invoke[Reply](t.Context(), c, "Who.Who", &Args{})
				var runs int64
				for _, n := range f.servers {
					runs += n.runs.Load()
				}
				if runs != 1 {
					t.Errorf("the call ran %d times, want once", runs)
				}
			}},
		{"rules that do not parse", `{"instances":[{"match":{"id":"mem://a"},"state":"off"}]}`,
			func(t *testing.T, f *fleet, c *cluster.Client) {
				f.rules(`{"instances":[{"match":`)
				if got := shares(t, c, 30); keys(got) != "[b c]" {
					t.Errorf("the last good rules do not hold: %v", got)
				}
				x := c.Explain(t.Context(), "Who.Who", nil)
				if x.Rules == nil || !strings.Contains(x.String(), "newest rules are not used") {
					t.Errorf("the explanation does not say that the rules are old:\n%v", x)
				}
				f.rules(`{}`)
				if got := shares(t, c, 30); keys(got) != "[a b c]" {
					t.Errorf("good rules after bad ones do not hold: %v", got)
				}
			}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				f := newFleet(t)
				f.add("a", weft.Instance{Version: "1"})
				f.add("b", weft.Instance{Version: "1"})
				f.add("c", weft.Instance{Version: "2"})
				c := f.client(func(cfg *cluster.Config) { cfg.Balancer = balance.WeightedRoundRobin() })
				who(t, t.Context(), c)
				for _, n := range f.servers {
					n.runs.Store(0)
				}
				f.rules(tt.doc)
				tt.run(t, f, c)
			})
		})
	}
}

// A call that rules forbid fails at once and names the rule: to wait changes nothing.
func TestForbiddenByRules(t *testing.T) {
	for _, tt := range []struct {
		name, doc string
		want      []string
	}{
		{"a route with else fail", `{"routes":[{"name":"eu only","to":[{"match":{"zone":"eu"}}],"else":"fail"}]}`,
			[]string{`the rule "eu only" forbids the call`, "mem://a: ", "mem://b: "}},
		{"everything off", `{"instances":[{"name":"closed today","match":{"id":"*"},"state":"off"}]}`,
			[]string{"every instance of Who is off", `mem://a: it is off (off by rule "closed today")`, "mem://b: it is off"}},
		{"off, and a route", `{"instances":[{"name":"closed today","match":{"id":"*"},"state":"off"}],"routes":[{"name":"r","to":[{"match":{"zone":""}}]}]}`,
			[]string{`rule "closed today"`}},
	} {
		for _, mode := range []cluster.FailMode{cluster.Failfast, cluster.Failover, cluster.Failtry, cluster.Failbackup} {
			t.Run(tt.name+" "+string(mode), func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					f := newFleet(t, "a", "b")
					c := f.client(func(cfg *cluster.Config) { cfg.FailMode = mode })
					who(t, t.Context(), c)
					f.rules(tt.doc)
					began := time.Now()
					for what, call := range map[string]func() error{
						"a call":     func() error { return c.Call(t.Context(), "Who.Who", &Args{}, &Reply{}) },
						"a one-way":  func() error { return c.Notify(t.Context(), "Who.Who", &Args{}) },
						"a stream":   func() error { _, err := c.OpenStream(t.Context(), "Who.Chat", &Args{}); return err },
						"a fan-out":  func() error { _, err := cluster.Inform[Reply](t.Context(), c, "Who.Who", &Args{}); return err },
						"a new call": func() error { return c.Call(t.Context(), "Who.Other", &Args{}, &Reply{}) },
					} {
						err := call()
						if took := time.Since(began); took > 0 {
							t.Fatalf("%s took %v", what, took)
						}
						wantError(t, err, weft.Unavailable, weft.NotSent, tt.want...)
						if e := err.(*weft.Error); e.Reason != weft.ReasonForbidden {
							t.Errorf("%s: the reason is %q", what, e.Reason)
						}
					}
					f.rules(`{}`)
					who(t, t.Context(), c)
				})
			})
		}
	}
}

func TestNoRules(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t, "a", "b")
		f.rules(`{"instances":[{"match":{"id":"mem://a"},"state":"off"}]}`)
		c := f.client(func(cfg *cluster.Config) { cfg.NoRules, cfg.Balancer = true, balance.RoundRobin() })
		if got := shares(t, c, 10); got["a"] != 5 {
			t.Errorf("with NoRules the shares are %v", got)
		}
	})
}

func TestGroupAndVersion(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t)
		f.add("a", weft.Instance{Group: "blue", Version: "1"})
		f.add("b", weft.Instance{Group: "green", Version: "1"})
		f.add("c", weft.Instance{Group: "green", Version: "2"})
		for _, tt := range []struct{ group, version, want string }{
			{"", "", "[a b c]"}, {"green", "", "[b c]"}, {"green", "2", "[c]"}, {"", "1", "[a b]"},
		} {
			c := f.client(func(cfg *cluster.Config) { cfg.Group, cfg.Version = tt.group, tt.version })
			if got := shares(t, c, 60); keys(got) != tt.want {
				t.Errorf("group %q and version %q give %v, want %s", tt.group, tt.version, got, tt.want)
			}
		}
		c := f.client(func(cfg *cluster.Config) { cfg.Group = "red" })
		_, err := weft.Invoke[Reply](t.Context(), c, "Who.Who", &Args{}, weft.WithTimeout(time.Second))
		wantError(t, err, weft.Unavailable, weft.NotSent, "mem://a", `its group is "blue", this client wants "red"`)
	})
}

// Not even the first call of a client goes where the rules forbid it.
func TestFirstCallObeys(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t, "a", "b")
		f.rules(`{"instances":[{"match":{"id":"mem://a"},"state":"off"}]}`)
		for range 50 {
			c := f.client(nil)
			if got := who(t, t.Context(), c); got != "b" {
				t.Errorf("the first call of a client went to %s, which is off", got)
			}
			must(t, c.Close())
		}
	})
}

// Method configuration and rules add up.
func TestMethods(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t, "a")
		yes := true
		c := f.client(func(cfg *cluster.Config) {
			cfg.Methods = map[string]route.Method{
				"Who.*":   {Timeout: 3 * time.Second, FailMode: "failtry"},
				"Who.Who": {Idempotent: &yes},
			}
		})
		f.rules(`{"methods":{"Who":{"timeout":"1s"}}}`)
		who(t, t.Context(), c)
		x := c.Explain(t.Context(), "Who.Who", nil)
		if x.Timeout != time.Second || x.FailMode != cluster.Failtry || !x.Idempotent {
			t.Errorf("the call would have timeout %v, fail mode %s, idempotent %v", x.Timeout, x.FailMode, x.Idempotent)
		}
		x = c.Explain(t.Context(), "Who.Other", nil)
		if x.Timeout != 3*time.Second || x.Idempotent {
			t.Errorf("the other call would have timeout %v, idempotent %v", x.Timeout, x.Idempotent)
		}
	})
}
