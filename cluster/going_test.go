package cluster_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/cluster"
	"github.com/weftrpc/weft/cluster/balance"
	"github.com/weftrpc/weft/cluster/route"
	"github.com/weftrpc/weft/transport"
)

// A server that shuts down while calls run on it, and is listed all the same, is left at once: no call fails, and none waits.
func TestServerThatDrainsIsLeft(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t)
		f.listed("a", "b")
		a := f.serveNode(&node{name: "a"})
		f.serveNode(&node{name: "b"})
		c := f.client(func(cfg *cluster.Config) { cfg.Balancer = balance.RoundRobin() })
		for range 10 {
			who(t, t.Context(), c)
		}
		a.slow(time.Minute)
		var wg sync.WaitGroup
		for range 4 { // half of them on a
			wg.Go(func() {
				if err := c.Call(t.Context(), "Who.Who", &Args{}, &Reply{}, weft.WithTimeout(time.Hour)); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		ended := timed(func() error { return a.srv.Shutdown(t.Context()) })
		synctest.Wait()
		began := time.Now()
		for range 50 {
			if got := who(t, t.Context(), c); got != "b" {
				t.Errorf("a call went to %s", got)
			}
		}
		if took := time.Since(began); took > 100*time.Millisecond {
			t.Errorf("the calls took %v", took)
		}
		wg.Wait()
		must(t, (<-ended).err)
	})
}

// The error of a shutdown of the client is that of its context, also of calls to a server that is listed no more.
func TestShutdownCanceledBesideServerThatLeft(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t)
		f.listed("a")
		a := f.serveNode(&node{name: "a"})
		f.serveNode(&node{name: "b"})
		c := f.client(nil)
		who(t, t.Context(), c)
		a.slow(time.Hour)
		call := timed(func() error { return c.Call(t.Context(), "Who.Who", &Args{}, &Reply{}, weft.WithTimeout(time.Hour)) })
		synctest.Wait()
		f.listed("b")
		must(t, f.store.Driver().Delete(t.Context(), weft.Instance{Service: "Who", ID: "a"}))
		time.Sleep(10 * time.Second)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		err := c.Shutdown(ctx)
		wantError(t, err, weft.Canceled, weft.OutcomeUnknown, "servers that have left were still open: context canceled")
		if errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		if (<-call).err == nil {
			t.Error("the call went well")
		}
	})
}

// When the time of a shutdown is up all calls in flight end at once. That says nothing about their method: it is called as soon as the server
// is back.
func TestServerThatIsShutDownWithCalls(t *testing.T) {
	for _, idempotent := range []bool{false, true} {
		bubble(t, func(t *testing.T) {
			f := newFleet(t)
			f.listed("a", "b")
			a := f.serveNode(&node{name: "a"})
			f.serveNode(&node{name: "b"})
			c := f.client(func(cfg *cluster.Config) {
				cfg.Balancer = balance.RoundRobin()
				cfg.Methods = map[string]route.Method{"Who.Who": {Idempotent: &idempotent}}
			})
			for range 10 {
				who(t, t.Context(), c)
			}
			a.slow(time.Hour)
			var wg sync.WaitGroup
			for range 60 {
				wg.Go(func() {
					err := c.Call(t.Context(), "Who.Who", &Args{}, &Reply{}, weft.WithTimeout(time.Hour))
					if err != nil && idempotent {
						t.Errorf("an idempotent call: %v", err)
					} else if err != nil {
						wantError(t, err, weft.Unavailable, weft.Executed, "the server shut down")
					}
				})
			}
			synctest.Wait()
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if a.srv.Shutdown(ctx) == nil {
				t.Error("nothing was cut off")
			}
			wg.Wait()
			for range 10 {
				if got := who(t, t.Context(), c); got != "b" {
					t.Errorf("a call went to %s", got)
				}
			}
			f.serveNode(&node{name: "a"})
			time.Sleep(2 * time.Second)
			if got := shares(t, c, 40); got["a"] < 10 {
				t.Errorf("the server is back, and the calls go to %v; %+v", got, c.Explain(t.Context(), "Who.Who", nil))
			}
		})
	}
}

// serveNode starts a server that does not register itself.
func (f *fleet) serveNode(n *node) *node {
	f.t.Helper()
	n.srv = weft.NewServer(&weft.ServerConfig{Logger: silent(), Transports: []transport.Transport{f.net}})
	must(f.t, n.srv.RegisterName("Who", n))
	l, err := n.srv.Listen(f.t.Context(), "mem://"+n.name)
	must(f.t, err)
	go n.srv.Serve(l) // this goroutine ends with the server
	f.t.Cleanup(func() { n.srv.Close() })
	return n
}
