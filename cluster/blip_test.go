package cluster_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/cluster"
	"github.com/weftrpc/weft/cluster/balance"
	"github.com/weftrpc/weft/cluster/route"
	"github.com/weftrpc/weft/transport/mem"
)

// resets remembers the connections of a fleet and resets all of them.
type resets struct {
	mu    sync.Mutex
	conns []*mem.Conn
}

func (f *fleet) resets() *resets {
	r := new(resets)
	f.net.Intercept(func(_ string, client, _ *mem.Conn) error {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.conns = append(r.conns, client)
		return nil
	})
	return r
}

func (r *resets) all() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.conns {
		c.Close()
	}
	r.conns = nil
}

// Every connection is reset once, with calls of many callers in flight on each. That is
// one event for each connection, for which no server is left out.
func TestBlip(t *testing.T) {
	for _, servers := range []int{1, 3} {
		for _, callers := range []int{16, 48} {
			for _, idempotent := range []bool{false, true} {
				t.Run(fmt.Sprintf("%d servers, %d callers, idempotent %v", servers, callers, idempotent), func(t *testing.T) {
					bubble(t, func(t *testing.T) { blip(t, servers, callers, idempotent) })
				})
			}
		}
	}
}

func blip(t *testing.T, servers, callers int, idempotent bool) {
	f := newFleet(t, []string{"a", "b", "c"}[:servers]...)
	for _, n := range f.servers {
		n.slow(20 * time.Millisecond)
	}
	r := f.resets()
	c := f.client(func(cfg *cluster.Config) {
		cfg.Balancer = balance.RoundRobin()
		// One attempt leaves what a lost connection gives for free. It is made when all connections have been reset: it would be lost
		// again on one that is reset next, and what follows then has to be paid for.
		cfg.Methods = map[string]route.Method{"Who.*": {Idempotent: &idempotent, Attempts: 1}}
		cfg.Observe = func(_ context.Context, e cluster.Event) {
			if e.Kind == cluster.Retrying {
				time.Sleep(time.Millisecond)
			}
		}
	})
	for range servers {
		who(t, t.Context(), c)
	}
	// A connection that is lost as soon as it was made is made anew after a pause, and
	// that the client was idle leaves its budget for retries with next to nothing.
	time.Sleep(time.Minute)
	var reset atomic.Int64 // when, by the clock; 0: not yet
	var first atomic.Int64 // when the first call after it ended well
	failed := make([]int, callers)
	var stop atomic.Bool
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			for !stop.Load() {
				began := time.Now().UnixNano()
				_, err := weft.Invoke[Reply](t.Context(), c, "Who.Who", &Args{})
				at := reset.Load()
				switch {
				case err != nil:
					failed[i]++
					wantError(t, err, weft.Unavailable, weft.OutcomeUnknown)
				case at > 0 && began >= at:
					first.CompareAndSwap(0, time.Now().UnixNano())
				}
				time.Sleep(time.Millisecond) // lets all connections be reset in the same moment
			}
		})
	}
	time.Sleep(55 * time.Millisecond)
	reset.Store(time.Now().UnixNano())
	r.all()
	time.Sleep(10 * time.Second)
	stop.Store(true)
	wg.Wait()
	for i, n := range failed {
		if n > 1 || n > 0 && idempotent {
			t.Fatalf("%d calls of caller %d failed", n, i)
		}
	}
	switch took := time.Duration(first.Load() - reset.Load()); {
	case first.Load() == 0:
		t.Error("no call ended well after the reset")
	case took > 100*time.Millisecond:
		t.Errorf("the first call after the reset ended well after %v", took)
	}
	for _, k := range c.Explain(t.Context(), "Who.Who", nil).Candidates {
		if k.Why != "it may get the call" {
			t.Errorf("%s: %s", k.Instance.ID, k.Why)
		}
	}
}

// The connection of one server is reset with many calls in flight on it. That opens no breaker and ejects no server: it is one event.
func TestLostConnectionIsOneEvent(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t, "a", "b", "c")
		r := new(resets)
		f.net.Intercept(func(address string, client, _ *mem.Conn) error {
			if address == "a" {
				r.mu.Lock()
				defer r.mu.Unlock()
				r.conns = append(r.conns, client)
			}
			return nil
		})
		c := f.client(func(cfg *cluster.Config) { cfg.Balancer = balance.RoundRobin() })
		shares(t, c, 30)
		time.Sleep(time.Minute) // a connection that is lost as soon as it was made is another matter
		for _, n := range f.servers {
			n.slow(time.Second / 2) // too short for silence that has a server ejected
		}
		var failed atomic.Int64
		var wg sync.WaitGroup
		for range 90 {
			wg.Go(func() {
				if _, err := weft.Invoke[Reply](t.Context(), c, "Who.Who", &Args{}); err != nil {
					wantError(t, err, weft.Unavailable, weft.OutcomeUnknown)
					failed.Add(1)
				}
			})
		}
		time.Sleep(time.Second / 4)
		r.all()
		wg.Wait()
		if failed.Load() != 30 {
			t.Errorf("%d calls failed, want those of one server of three", failed.Load())
		}
		for _, n := range f.servers {
			n.slow(0)
		}
		if got := shares(t, c, 30); got["a"] != 10 {
			t.Errorf("when the other calls have ended they go to %v", got)
		}
		if s := c.Stats(); s.Ejections != 0 || s.Losses != 1 || statsOf(t, c, "Who.Who").BreakerOpenings != 0 {
			t.Errorf("%d ejections, %d losses, %d openings of breakers", s.Ejections, s.Losses, statsOf(t, c, "Who.Who").BreakerOpenings)
		}
	})
}

// Breakers leave out half of the servers at most, and with that the call goes on.
func TestBreakersLeaveHalf(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t, "a", "b", "c", "d")
		c := f.client(func(cfg *cluster.Config) { cfg.Balancer = balance.RoundRobin() })
		for _, n := range f.servers {
			n.fail.Store(weft.Errorf(weft.Internal, "broken"))
		}
		call := func() error {
			_, err := weft.Invoke[Reply](t.Context(), c, "Who.Who", &Args{})
			return err
		}
		for range 200 {
			call()
		}
		for _, n := range f.servers {
			n.runs.Store(0)
		}
		for range 100 {
			wantError(t, call(), weft.Internal, weft.Executed, "broken")
		}
		asked := 0
		for _, n := range f.servers {
			if n.runs.Load() > 0 {
				asked++
			}
		}
		if asked < 2 || asked > 3 { // one may have been closed by its probe
			t.Errorf("with the breakers of all open the calls went to %d of 4 servers, want half of them", asked)
		}
		for _, n := range f.servers {
			n.fail.Store(nil)
		}
		must(t, call())
		time.Sleep(2 * time.Minute)
		if got := shares(t, c, 40); len(got) != 4 {
			t.Errorf("all work again, and the calls go to %v", got)
		}
	})
}

// The only server is not shut out by a breaker: there is nothing better.
func TestBreakerOfTheOnlyServer(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t, "a")
		c := f.client(nil)
		f.servers["a"].fail.Store(weft.Errorf(weft.Internal, "broken"))
		for range 50 {
			_, err := weft.Invoke[Reply](t.Context(), c, "Who.Who", &Args{})
			wantError(t, err, weft.Internal, weft.Executed)
		}
		f.servers["a"].fail.Store(nil)
		time.Sleep(time.Millisecond)
		who(t, t.Context(), c)
		for _, k := range c.Explain(t.Context(), "Who.Who", nil).Candidates {
			if k.Why != "it may get the call" {
				t.Errorf("%s: %s", k.Instance.ID, k.Why)
			}
		}
	})
}
