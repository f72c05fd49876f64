package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/cluster"
	"github.com/weftrpc/weft/cluster/balance"
	"github.com/weftrpc/weft/cluster/internal/idle"
	"github.com/weftrpc/weft/cluster/retry"
	"github.com/weftrpc/weft/registry"
)

// watches counts those of a source that are open.
type watches struct {
	registry.Source
	lists, documents, most atomic.Int64
	silent                 atomic.Bool // no list is told
	away                   atomic.Bool // every list comes with an error
}

func (w *watches) Watch(service string, f func(*registry.Snapshot)) func() {
	w.most.Store(max(w.most.Load(), w.lists.Add(1)))
	stop := w.Source.Watch(service, func(s *registry.Snapshot) {
		if w.away.Load() {
			failed := *s
			failed.Err, s = errors.New("away"), &failed
		}
		if !w.silent.Load() {
			f(s)
		}
	})
	return func() {
		stop()
		w.lists.Add(-1)
	}
}

func (w *watches) WatchDocument(name string, f func(registry.Document, error) error) func() {
	w.documents.Add(1)
	stop := w.Source.WatchDocument(name, f)
	return func() {
		stop()
		w.documents.Add(-1)
	}
}

func (w *watches) want(t *testing.T, what string, n int64) {
	t.Helper()
	synctest.Wait()
	if lists, documents := w.lists.Load(), w.documents.Load(); lists != n || documents != n {
		t.Errorf("%s: %d lists and %d documents are watched, want %d of each", what, lists, documents, n)
	}
}

// counting makes a client whose watches are counted.
func (f *fleet) counting(configure func(*cluster.Config)) (*cluster.Client, *watches) {
	w := &watches{}
	return f.client(func(cfg *cluster.Config) {
		w.Source, cfg.Registry = cfg.Registry, w
		if configure != nil {
			configure(cfg)
		}
	}), w
}

// A service that is not called is no longer watched, and its servers go, until it is called again. What was counted of its methods stays.
func TestIdleService(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t, "a", "b")
		c, w := f.counting(func(cfg *cluster.Config) { cfg.Balancer = balance.RoundRobin() })
		for range 3 {
			who(t, t.Context(), c)
			time.Sleep(cluster.DefaultServiceIdle - time.Second)
		}
		w.want(t, "a service that is called now and then", 1)
		time.Sleep(3 * time.Second)
		w.want(t, "a service that is not called", 0)
		if s := c.Stats(); len(s.Services) != 0 || len(s.Servers) != 2 {
			t.Errorf("of a service that was closed just now there are %+v and %d servers, want the servers", s.Services, len(s.Servers))
		}
		time.Sleep(time.Minute)
		if s := c.Stats(); len(s.Servers) != 0 || len(s.Methods) != 1 || s.Methods[0].Calls != 3 {
			t.Errorf("of a service that was closed a minute ago there are %d servers and %+v", len(s.Servers), s.Methods)
		}
		synctest.Wait()
		for name, n := range f.servers {
			if peers := len(n.srv.Peers()); peers != 0 {
				t.Errorf("server %s has %d connections", name, peers)
			}
		}
		f.add("c", weft.Instance{})
		if got := shares(t, c, 60); len(got) != 3 {
			t.Errorf("called again, the calls go to %v", got)
		}
		w.want(t, "a service that is called again", 1)
		if s := c.Stats(); len(s.Services) != 1 || len(s.Servers) != 3 || len(s.Methods) != 1 || s.Methods[0].Calls != 63 {
			t.Errorf("of a service that was opened again there are %+v, %d servers and %+v", s.Services, len(s.Servers), s.Methods)
		}
		time.Sleep(cluster.DefaultServiceIdle + time.Minute)
		w.want(t, "a service that is not called", 0)
		if e := c.Explain(t.Context(), "Who.Who", nil); e.Err != nil || len(e.Candidates) != 3 {
			t.Errorf("Explain of a service that was closed:\n%v", e)
		}
		w.want(t, "a service that was explained", 1)
	})
}

// What is under way when its service is closed goes on: a stream, a call that lasts, and a call that is made again.
func TestIdleServiceWithCalls(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t, "a")
		c, w := f.counting(nil)
		s, err := weft.OpenStream[Args, Reply](t.Context(), c, "Who.Chat")
		must(t, err)
		f.servers["a"].slow(30 * time.Minute)
		long := timed(func() error {
			return c.Call(t.Context(), "Who.Who", &Args{}, &Reply{}, weft.WithTimeout(time.Hour))
		})
		again := timed(func() error {
			return c.Call(cluster.WithIdempotent(t.Context()), "Who.Who", &Args{}, &Reply{}, weft.WithTimeout(time.Hour))
		})
		time.Sleep(20 * time.Minute)
		w.want(t, "a service with calls that began long ago", 0)
		must(t, s.Send(&Args{}))
		if r, err := s.Recv(); err != nil || r.Server != "a" {
			t.Errorf("on the stream came %v, %v", r, err)
		}
		time.Sleep(10*time.Minute - time.Second)
		f.servers["a"].fail.Store(weft.Errorf(weft.Unavailable, "not now"))
		b := f.add("b", weft.Instance{})
		time.Sleep(time.Second)
		f.servers["a"].slow(0)
		must(t, s.Send(&Args{}))
		if _, err := s.CloseAndRecv(); err != nil {
			t.Errorf("the end of the stream: %v", err)
		}
		wantError(t, (<-long).err, weft.Unavailable, weft.Executed, "not now")
		if e := <-again; e.err != nil || b.runs.Load() != 1 {
			t.Errorf("the call that is made again ended with %v, and %d ran on the new server", e.err, b.runs.Load())
		}
		w.want(t, "a service of which a call was made again", 1)
	})
}

// A call that is to be made again learns of the first server of its service, though its service was closed meanwhile.
func TestIdleServiceBetweenAttempts(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t)
		c, w := f.counting(func(cfg *cluster.Config) {
			cfg.Retry = retry.Policy{Backoff: 1000 * time.Hour, MaxBackoff: 1000 * time.Hour}
		})
		call := timed(func() error {
			return c.Call(t.Context(), "Who.Who", &Args{}, &Reply{}, weft.WithTimeout(10000*time.Hour))
		})
		const wait = 10 * idle.VacantTimeout
		time.Sleep(wait)
		w.want(t, "a service of which a call is to be made again", 1)
		f.add("a", weft.Instance{})
		if e := <-call; e.err != nil || e.took > wait+time.Minute {
			t.Errorf("the call ended with %v after %v", e.err, e.took)
		}
	})
}

// A call that is to be made again learns of the first server of its service as soon as another call has opened it again, though it was
// closed meanwhile to make room for another name. Until then it opens nothing itself.
func TestDisplacedServiceBetweenAttempts(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t)
		c, w := f.counting(func(cfg *cluster.Config) {
			cfg.Retry = retry.Policy{Backoff: 1000 * time.Hour, MaxBackoff: 1000 * time.Hour}
		})
		call := timed(func() error {
			return c.Call(t.Context(), "Who.Who", &Args{}, &Reply{}, weft.WithTimeout(10000*time.Hour))
		})
		const turns = 2
		for turn := range turns {
			time.Sleep(time.Second)
			for i := range idle.MostVacant {
				err := c.Call(t.Context(), fmt.Sprintf("No%d_%d.Who", turn, i), &Args{}, &Reply{}, weft.WithTimeout(time.Second))
				wantError(t, err, weft.Unavailable, weft.NotSent)
			}
			w.want(t, "while other names have taken the room", idle.MostVacant)
			if turn == turns-1 {
				f.add("a", weft.Instance{})
			}
			synctest.Wait()
			if len(call) > 0 {
				t.Fatalf("a call whose service is closed has ended: %v", <-call)
			}
			err := c.Call(t.Context(), "Who.Other", &Args{}, &Reply{}, weft.WithTimeout(time.Second))
			if turn < turns-1 {
				wantError(t, err, weft.Unavailable, weft.NotSent)
			} else if err != nil {
				t.Errorf("a call of another method: %v", err)
			}
		}
		if e := <-call; e.err != nil || e.took > time.Minute {
			t.Errorf("the call ended with %v after %v", e.err, e.took)
		}
	})
}

// Names that no registry knows are watched for a short time and are bounded, and take nothing from services that have servers.
func TestUnknownServices(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t, "a")
		c, w := f.counting(func(cfg *cluster.Config) { cfg.FailMode = cluster.Failfast })
		who(t, t.Context(), c)
		for i := range 5 * idle.MostVacant {
			err := c.Call(t.Context(), fmt.Sprintf("No%d.Who", i), &Args{}, &Reply{})
			wantError(t, err, weft.Unavailable, weft.NotSent, "the list of memory")
		}
		w.want(t, "after many names", idle.MostVacant+1)
		if most := w.most.Load(); most > idle.MostVacant+1+10 {
			t.Errorf("%d names were watched at the same time", most)
		}
		who(t, t.Context(), c)
		time.Sleep(idle.VacantTimeout + 2*time.Second)
		w.want(t, "a minute later", 1)
		who(t, t.Context(), c)
		// One of the names gets a server.
		err := c.Call(t.Context(), "Late.Who", &Args{}, &Reply{})
		wantError(t, err, weft.Unavailable, weft.NotSent)
		must(t, f.servers["a"].srv.RegisterName("Late", f.servers["a"]))
		time.Sleep(2 * time.Minute)
		must(t, c.Call(t.Context(), "Late.Who", &Args{}, &Reply{}))
		time.Sleep(2 * time.Minute)
		w.want(t, "with a service that has got a server", 2)
	})
}

// While a registry says nothing calls wait, and no more names are waited for than are allowed.
func TestUnknownServicesOfASilentRegistry(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t, "a")
		c, w := f.counting(func(cfg *cluster.Config) { cfg.ServiceIdleTimeout = -1 })
		who(t, t.Context(), c)
		w.silent.Store(true)
		var late, refused atomic.Int64
		var wg sync.WaitGroup
		for i := range idle.MostVacant + 50 {
			wg.Go(func() {
				err := c.Call(t.Context(), fmt.Sprintf("No%d.Who", i), &Args{}, &Reply{}, weft.WithTimeout(5*time.Minute))
				e, _ := errors.AsType[*weft.Error](err)
				switch {
				case e != nil && e.Code == weft.DeadlineExceeded && e.Outcome == weft.NotSent:
					late.Add(1)
				case e != nil && e.Code == weft.ResourceExhausted && e.Outcome == weft.NotSent && e.Reason == weft.ReasonClientLimit:
					refused.Add(1)
				default:
					t.Errorf("a call ended with %v", err)
				}
			})
		}
		synctest.Wait()
		who(t, t.Context(), c)
		w.want(t, "while calls wait", idle.MostVacant+1)
		wg.Wait()
		if late.Load() != idle.MostVacant || refused.Load() != 50 {
			t.Errorf("%d calls waited and %d were refused", late.Load(), refused.Load())
		}
		time.Sleep(2 * time.Minute)
		w.want(t, "after the calls", 1)
		who(t, t.Context(), c)
	})
}

// The list of a registry that does not answer is kept, since it cannot be learned again.
func TestIdleServiceOfARegistryThatIsAway(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t, "a")
		c, w := f.counting(nil)
		who(t, t.Context(), c)
		w.away.Store(true)
		f.add("b", weft.Instance{}) // has the registry tell the list
		time.Sleep(2 * cluster.DefaultServiceIdle)
		w.want(t, "while the registry is away", 1)
		w.silent.Store(true)
		if got := shares(t, c, 20); len(got) != 2 {
			t.Errorf("the calls go to %v", got)
		}
		w.silent.Store(false)
		w.away.Store(false)
		f.add("c", weft.Instance{})
		time.Sleep(2 * cluster.DefaultServiceIdle)
		w.want(t, "when it is back", 0)
	})
}

// Calls that begin while their service is closed are made, in every fail mode and in every way.
func TestCallsWhileTheirServiceIsClosed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t, "a", "b")
		c, w := f.counting(func(cfg *cluster.Config) {
			cfg.ServiceIdleTimeout, cfg.FailMode = time.Nanosecond, cluster.Failfast
		})
		ways := ways(t, c)
		ways["Fork"] = func() error { _, err := cluster.Fork[Reply](t.Context(), c, "Who.Who", &Args{}); return err }
		ways["Explain"] = func() error { return c.Explain(t.Context(), "Who.Who", nil).Err }
		ways["another method"] = func() error { return c.Call(t.Context(), "Who.Other", &Args{}, &Reply{}) }
		ways["with a deadline"] = func() error {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			return c.Call(ctx, "Who.Who", &Args{}, &Reply{})
		}
		var wg sync.WaitGroup
		began := time.Now()
		for way, call := range ways {
			for i := range 4 {
				wg.Go(func() {
					for n := 0; time.Since(began) < time.Minute; n++ {
						if err := call(); err != nil {
							t.Errorf("%s: %v", way, err)
							return
						}
						time.Sleep(time.Duration(1+(i*7+n)%13) * 50 * time.Millisecond)
					}
				})
			}
		}
		wg.Wait()
		time.Sleep(time.Minute)
		w.want(t, "at last", 0)
	})
}
