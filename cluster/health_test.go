package cluster_test

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/cluster"
	"github.com/weftrpc/weft/cluster/balance"
	"github.com/weftrpc/weft/cluster/route"
	"github.com/weftrpc/weft/transport"
	"github.com/weftrpc/weft/transport/mem"
)

// A server that hangs gets no more calls, and gets them again when it works.
func TestHungServer(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t, "a", "b", "c")
		for _, n := range f.servers {
			n.slow(20 * time.Millisecond)
		}
		c := f.client(nil)
		var made atomic.Int64
		load(t, c, 16, 0, &made, func(err error) {
			if weft.CodeOf(err) != weft.DeadlineExceeded {
				t.Errorf("a call ended with %v", err)
			}
		}, func() {
			time.Sleep(2 * time.Second)
			f.servers["a"].slow(time.Hour)
			time.Sleep(2 * time.Second)
			x := c.Explain(t.Context(), "Who.Who", nil)
			for _, k := range x.Candidates {
				if k.Instance.ID == "mem://a" && !strings.Contains(k.Why, "last resort") {
					t.Errorf("two seconds after it hung the server is %q", k.Why)
				}
			}
			before := f.servers["a"].runs.Load()
			time.Sleep(2 * time.Second)
			if n := f.servers["a"].runs.Load() - before; n > 4 {
				t.Errorf("an ejected server got %d calls in two seconds", n)
			}
			f.servers["a"].slow(20 * time.Millisecond)
			time.Sleep(60 * time.Second)
			before = f.servers["a"].runs.Load()
			others := made.Load()
			time.Sleep(time.Second)
			got, all := f.servers["a"].runs.Load()-before, made.Load()-others
			if got < all/6 {
				t.Errorf("a minute after it works again it got %d of %d calls", got, all)
			}
		})
	})
}

// A server that stands still altogether does not keep the calls that wait there.
func TestFrozenServer(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t, "a", "b", "c")
		for _, n := range f.servers {
			n.slow(20 * time.Millisecond)
		}
		var mu sync.Mutex // guards ice, since connections are made by goroutines of the client's
		var ice []*mem.Conn
		f.net.Intercept(func(addr string, client, server *mem.Conn) error {
			mu.Lock()
			defer mu.Unlock()
			if addr == "a" {
				ice = append(ice, server)
			}
			return nil
		})
		yes := true
		c := f.client(func(cfg *cluster.Config) {
			cfg.Methods = map[string]route.Method{"Who.*": {Idempotent: &yes}}
		})
		var made atomic.Int64
		load(t, c, 16, 10*time.Second, &made, nil, func() {
			time.Sleep(2 * time.Second)
			mu.Lock()
			defer mu.Unlock()
			for _, conn := range ice {
				conn.Out().Stall()
			}
		})
		if made.Load() < 3000 {
			t.Errorf("only %d calls were made", made.Load())
		}
		// New connections work, and one is made without a call.
		before := f.servers["a"].runs.Load()
		time.Sleep(time.Minute)
		load(t, c, 3, 10*time.Second, &made, nil, func() {})
		if got := f.servers["a"].runs.Load() - before; got < 300 {
			t.Errorf("a minute later the server got only %d calls", got)
		}
	})
}

// A caller that is alone does not lose its call to a server that stands still: the
// connection is found dead while there is time to ask another server.
func TestFrozenServerAlone(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t, "a", "b")
		var ice atomic.Pointer[mem.Conn]
		f.net.Intercept(func(addr string, client, server *mem.Conn) error {
			if addr == "a" {
				ice.Store(server)
			}
			return nil
		})
		yes := true
		c := f.client(func(cfg *cluster.Config) {
			cfg.Methods = map[string]route.Method{"Who.*": {Idempotent: &yes}}
			cfg.Balancer = balance.RoundRobin()
		})
		shares(t, c, 4)
		time.Sleep(time.Minute)
		shares(t, c, 4)
		ice.Load().Out().Stall()
		var waits []time.Duration
		for range 10 {
			began := time.Now()
			who(t, t.Context(), c)
			if took := time.Since(began); took > 100*time.Millisecond {
				waits = append(waits, took)
			}
		}
		const most = cluster.DefaultPingInterval + cluster.DefaultPingTimeout + 100*time.Millisecond
		if len(waits) != 1 || waits[0] > most {
			t.Errorf("calls waited %v; want one of them, at most %v", waits, most)
		}
	})
}

// One-way calls wait for no answer, so a server that gets them alone is not silent.
func TestNotifiesAreNotSilence(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t, "a", "b")
		a := f.servers["a"]
		must(t, a.srv.RegisterName("Log", a))
		must(t, a.srv.Unregister("Who"))
		a.slow(time.Hour)
		synctest.Wait()
		c := f.client(nil)
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for range 1100 { // more than may be under way
			wg.Go(func() { c.Notify(ctx, "Log.Who", &Args{}) })
		}
		for range 500 {
			if got := who(t, t.Context(), c); got != "b" {
				t.Fatalf("%s answered", got)
			}
			time.Sleep(10 * time.Millisecond)
		}
		for _, k := range c.Explain(t.Context(), "Log.Who", nil).Candidates {
			if strings.Contains(k.Why, "last resort") {
				t.Errorf("a server that deals with one-way calls is %q", k.Why)
			}
		}
		cancel()
		wg.Wait()
	})
}

// A server is not thought to be busy for ever because the user's code has panicked.
func TestPanicIsNoCall(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t, "a", "b")
		var panics atomic.Bool
		c := f.client(func(cfg *cluster.Config) {
			cfg.Methods = map[string]route.Method{"Who.*": {MaxInFlight: 1}}
			cfg.Client = &weft.ClientConfig{
				Transports: []transport.Transport{f.net},
				Credential: func(context.Context, string) (weft.Credential, error) {
					if panics.Load() {
						panic("no credential")
					}
					return weft.Credential{Scheme: "Bearer", Token: "t"}, nil
				},
			}
		})
		shares(t, c, 4)
		calls := map[string]func(){
			"Call":       func() { c.Call(t.Context(), "Who.Who", &Args{}, &Reply{}) },
			"Notify":     func() { c.Notify(t.Context(), "Who.Who", &Args{}) },
			"OpenStream": func() { c.OpenStream(t.Context(), "Who.Chat", &Args{}) },
		}
		for name, call := range calls {
			panics.Store(true)
			for range 10 {
				if recovers(call) == nil {
					t.Errorf("%s did not panic", name)
				}
			}
			panics.Store(false)
			for _, k := range c.Explain(t.Context(), "Who.Who", nil).Candidates {
				if k.InFlight != 0 {
					t.Errorf("after %s has panicked server %s has %d calls in flight", name, k.Instance.ID, k.InFlight)
				}
			}
			shares(t, c, 4)
		}
	})
}

// recovers returns what f panics with, if it does.
func recovers(f func()) (p any) {
	defer func() { p = recover() }()
	f()
	return nil
}

// Pings of an ejected server pass by interceptors and credentials.
func TestPingIsNoCall(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t, "a", "b", "c")
		var strange atomic.Int64 // calls of methods that the test does not call
		see := func(method string) {
			if method != "Who.Who" {
				strange.Add(1)
			}
		}
		c := f.client(func(cfg *cluster.Config) {
			cfg.Client.Interceptors = []weft.UnaryInterceptor{func(ctx context.Context, info *weft.CallInfo, req any, next weft.UnaryFunc) (any, error) {
				see(info.Method)
				return next(ctx, info, req)
			}}
			cfg.Client.Credential = func(_ context.Context, method string) (weft.Credential, error) {
				see(method)
				return weft.Credential{Scheme: "Bearer", Token: "t"}, nil
			}
		})
		for _, n := range f.servers {
			n.slow(20 * time.Millisecond)
		}
		shares(t, c, 30)
		var made atomic.Int64
		load(t, c, 16, 0, &made, func(error) {}, func() {
			f.servers["a"].slow(time.Hour)
			time.Sleep(8 * time.Second)
		})
		if n := strange.Load(); n != 0 {
			t.Errorf("the client made %d calls of its own", n)
		}
	})
}

// What goes wrong on the client's side, or is refused for the sake of the call, says
// nothing about servers.
func TestRefusalsAreNoFall(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t, "a", "b", "c")
		var broken atomic.Bool
		c := f.client(func(cfg *cluster.Config) {
			cfg.Client.Credential = func(context.Context, string) (weft.Credential, error) {
				if broken.Load() {
					return weft.Credential{}, weft.Errorf(weft.Unavailable, "the token service is away")
				}
				return weft.Credential{Scheme: "Bearer", Token: "t"}, nil
			}
		})
		shares(t, c, 30)
		broken.Store(true)
		for range 30 {
			if _, err := weft.Invoke[Reply](t.Context(), c, "Who.Who", &Args{}, weft.WithTimeout(time.Second)); err == nil {
				t.Error("a call without a credential went well")
			}
		}
		for _, k := range c.Explain(t.Context(), "Who.Who", nil).Candidates {
			if !k.Connected || k.Why != "it may get the call" {
				t.Errorf("%s: %s", k.Instance.ID, k.Why)
			}
		}
		broken.Store(false)
		if got := shares(t, c, 30); len(got) != 3 {
			t.Errorf("with credentials again the calls go to %v", got)
		}
	})
}

// A server that is ten times slower than the others gets little.
func TestSlowServer(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t, "a", "b", "c")
		for _, n := range f.servers {
			n.slow(time.Millisecond)
		}
		f.servers["a"].slow(10 * time.Millisecond)
		c := f.client(nil)
		var made atomic.Int64
		load(t, c, 6, 5*time.Second, &made, nil, func() {})
		if got := f.servers["a"].runs.Load(); got*15 > made.Load() {
			t.Errorf("the slow server got %d of %d calls, want at most a fifth of a third", got, made.Load())
		}
	})
}

// A method that fails on one server is not called there, and others are.
func TestBreaker(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t, "a", "b")
		c := f.client(func(cfg *cluster.Config) { cfg.Balancer = balance.RoundRobin() })
		f.servers["a"].fail.Store(weft.Errorf(weft.Internal, "broken"))
		for range 100 {
			weft.Invoke[Reply](t.Context(), c, "Who.Who", &Args{})
		}
		before := f.servers["a"].runs.Load()
		if before > 40 {
			t.Errorf("a broken method ran %d times of a hundred", before)
		}
		for range 20 {
			if name := who(t, t.Context(), c); name != "b" {
				t.Errorf("with an open breaker %s answers", name)
			}
		}
		x := c.Explain(t.Context(), "Who.Who", nil)
		if !strings.Contains(x.String(), "breaker of the method is open") {
			t.Errorf("the explanation does not name the breaker:\n%v", x)
		}
		others := 0
		for range 20 {
			r, err := weft.Invoke[Reply](t.Context(), c, "Who.Other", &Args{})
			must(t, err)
			if r.Server == "a" {
				others++
			}
		}
		if others != 10 {
			t.Errorf("another method ran %d of 20 times on the server, want 10", others)
		}
		f.servers["a"].fail.Store(nil)
		time.Sleep(2 * time.Minute)
		for range 20 {
			who(t, t.Context(), c)
		}
		if f.servers["a"].runs.Load() < before+5 {
			t.Error("the method works again and is not called")
		}
	})
}

// A server that accepts connections and says nothing costs one second once.
func TestSilentAtDial(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t, "a", "b")
		l, err := f.net.Listen(t.Context(), "silent")
		must(t, err)
		defer l.Close()
		d := f.store.Driver()
		must(t, d.Put(t.Context(), weft.Instance{Service: "Who", ID: "silent", Address: "mem://silent"}, time.Hour))
		c := f.client(func(cfg *cluster.Config) { cfg.Balancer = balance.RoundRobin() })
		slow := 0
		for range 60 {
			began := time.Now()
			who(t, t.Context(), c)
			if took := time.Since(began); took > 1500*time.Millisecond {
				t.Errorf("a call took %v", took)
			} else if took > 100*time.Millisecond {
				slow++
			}
		}
		if slow > 1 {
			t.Errorf("%d calls waited for the server that says nothing, want one", slow)
		}
	})
}

// Servers that are not used cost no connection.
func TestIdle(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t, "a", "b")
		c := f.client(func(cfg *cluster.Config) { cfg.IdleTimeout, cfg.Balancer = time.Minute, balance.RoundRobin() })
		if n := len(f.servers["a"].srv.Peers()); n != 0 {
			t.Errorf("there are %d connections before the first call", n)
		}
		shares(t, c, 4)
		time.Sleep(50 * time.Second)
		if n := len(f.servers["a"].srv.Peers()); n != 1 {
			t.Errorf("there are %d connections, want one", n)
		}
		time.Sleep(20 * time.Second)
		if n := len(f.servers["a"].srv.Peers()); n != 0 {
			t.Errorf("there are %d connections after a minute without a call", n)
		}
		shares(t, c, 4)
	})
}

// Two services of one server share its connection.
func TestSharedConnection(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t, "a")
		must(t, f.servers["a"].srv.RegisterName("Also", f.servers["a"]))
		c := f.client(nil)
		who(t, t.Context(), c)
		_, err := weft.Invoke[Reply](t.Context(), c, "Also.Who", &Args{})
		must(t, err)
		if n := len(f.servers["a"].srv.Peers()); n != 1 {
			t.Errorf("two services use %d connections", n)
		}
	})
}

// A server whose connection is cut, in the middle of calls, is back at once.
func TestCutConnection(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t, "a", "b")
		var last atomic.Pointer[mem.Conn]
		f.net.Intercept(func(addr string, client, _ *mem.Conn) error {
			if addr == "a" {
				last.Store(client)
			}
			return nil
		})
		yes := true
		c := f.client(func(cfg *cluster.Config) {
			cfg.Methods = map[string]route.Method{"Who.*": {Idempotent: &yes}}
			cfg.Balancer = balance.RoundRobin()
			cfg.Client = &weft.ClientConfig{Transports: []transport.Transport{f.net}}
		})
		shares(t, c, 10)
		for range 5 {
			last.Load().Close()
			shares(t, c, 10)
			time.Sleep(15 * time.Second) // not so often that it would be ejected
			// A report of the servers' load may come just now, and the turn begin anew.
			if got := shares(t, c, 10); got["a"] < 4 || got["a"] > 6 {
				t.Errorf("fifteen seconds after its connection was cut the shares are %v", got)
			}
		}
	})
}
