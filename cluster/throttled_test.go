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
	"github.com/weftrpc/weft/transport"
)

// small starts a server that can answer forty calls of Slow.Call a second.
func (f *fleet) small(name string) *weft.Server {
	f.t.Helper()
	srv := weft.NewServer(&weft.ServerConfig{Logger: silent(), Transports: []transport.Transport{f.net}})
	must(f.t, weft.Handle(srv, "Slow.Call", func(context.Context, *Args) (*Reply, error) {
		time.Sleep(50 * time.Millisecond)
		return &Reply{Server: name}, nil
	}, weft.MethodLimit(2), weft.Idempotent()))
	l, err := srv.Listen(f.t.Context(), "mem://"+name)
	must(f.t, err)
	go srv.Serve(l) // this goroutine ends with the server
	f.t.Cleanup(func() { srv.Close() })
	must(f.t, f.store.Driver().Put(f.t.Context(), weft.Instance{Service: "Slow", ID: name, Address: "mem://" + name}, 24*time.Hour))
	return srv
}

// ends are what became of calls.
type ends struct{ good, refused, throttled, other int }

// drive makes calls at a rate.
func drive(t *testing.T, c *cluster.Client, ctx context.Context, rate int, d time.Duration) ends {
	t.Helper()
	var mu sync.Mutex
	var out ends
	var wg sync.WaitGroup
	for range int(d.Seconds() * float64(rate)) {
		time.Sleep(time.Second / time.Duration(rate))
		wg.Go(func() {
			err := c.Call(ctx, "Slow.Call", &Args{}, &Reply{})
			e, _ := errors.AsType[*weft.Error](err)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				out.good++
			case e.Reason == weft.ReasonThrottled && e.Outcome == weft.NotSent && e.Code == weft.ResourceExhausted:
				out.throttled++
			case e.Reason == weft.ReasonOverloadMethod:
				out.refused++
			default:
				t.Errorf("a call ended with %v", err)
				out.other++
			}
		})
	}
	wg.Wait()
	return out
}

// A client whose servers refuse most calls for overload sends about twice as many as are accepted, does not open
// breakers for it, tries few of them again, and sends all again when the overload is over.
func TestThrottled(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t)
		servers := []*weft.Server{f.small("a"), f.small("b")}
		c := f.client(nil)
		calls := func() (n uint64) {
			for _, s := range servers {
				stats := s.Stats()
				for _, r := range stats.Refused {
					n += r
				}
				for _, m := range stats.Methods {
					n += m.Calls
				}
			}
			return n
		}
		if got := drive(t, c, t.Context(), 40, 2*time.Second); got != (ends{good: 80}) {
			t.Errorf("without overload: %+v", got)
		}
		drive(t, c, t.Context(), 1000, 2*time.Second)
		again := func() (n uint64) {
			for _, m := range c.Stats().Methods {
				n += m.Retries
			}
			return n
		}
		before, retries := calls(), again()
		const seconds = 16 // in which chance decides little: of a second some 67 calls are answered, give or take three
		got := drive(t, c, t.Context(), 1000, seconds*time.Second)
		sent := int(calls() - before)
		if got.good < seconds*80*8/10 || got.throttled < seconds*750 {
			t.Errorf("under overload: %+v", got)
		}
		if sent > 4*got.good {
			t.Errorf("%d calls were sent for %d that were answered", sent, got.good)
		}
		stats := c.Stats()
		if stats.Throttled == 0 {
			t.Error("no call was counted as throttled")
		}
		for _, m := range stats.Methods {
			if m.BreakerOpenings > 0 {
				t.Errorf("breakers opened %d times", m.BreakerOpenings)
			}
		}
		if n := again() - retries; n > 1 {
			t.Errorf("%d attempts more for %d calls that were sent while others were held back", n, sent)
		}
		drive(t, c, t.Context(), 40, 4*time.Second)
		if got := drive(t, c, t.Context(), 40, 2*time.Second); got.good < 76 {
			t.Errorf("four seconds after the overload: %+v", got)
		}
		synctest.Wait()
	})
}

// A client that is told so sends every call.
func TestNoThrottle(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t)
		f.small("a")
		c := f.client(func(cfg *cluster.Config) { cfg.NoThrottle = true })
		if got := drive(t, c, t.Context(), 500, 3*time.Second); got.throttled > 0 || got.refused == 0 {
			t.Errorf("%+v", got)
		}
	})
}
