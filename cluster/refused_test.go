package cluster_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/cluster"
	"github.com/weftrpc/weft/transport"
)

// listed puts servers into the registry that need not be there.
func (f *fleet) listed(names ...string) {
	f.t.Helper()
	for _, name := range names {
		must(f.t, f.store.Driver().Put(f.t.Context(), weft.Instance{Service: "Who", ID: name, Address: "mem://" + name}, 24*time.Hour))
	}
}

// serve starts a server that does not register itself.
func (f *fleet) serve(name string) *weft.Server {
	f.t.Helper()
	srv := weft.NewServer(&weft.ServerConfig{Logger: silent(), Transports: []transport.Transport{f.net}})
	must(f.t, srv.RegisterName("Who", &node{name: name}))
	l, err := srv.Listen(f.t.Context(), "mem://"+name)
	must(f.t, err)
	go srv.Serve(l) // this goroutine ends with the server
	f.t.Cleanup(func() { srv.Close() })
	return srv
}

// ways are the ways to make a call.
func ways(t *testing.T, c *cluster.Client) map[string]func() error {
	return map[string]func() error{
		"Call":   func() error { return c.Call(t.Context(), "Who.Who", &Args{}, &Reply{}) },
		"Notify": func() error { return c.Notify(t.Context(), "Who.Who", &Args{}) },
		"OpenStream": func() error {
			s, err := c.OpenStream(t.Context(), "Who.Chat", &Args{})
			if err == nil {
				s.Close()
			}
			return err
		},
	}
}

// ending is how a call ended, and how long it took.
type ending struct {
	err  error
	took time.Duration
}

// timed makes a call on a goroutine of its own, which ends with the call.
func timed(call func() error) <-chan ending {
	ended := make(chan ending, 1)
	go func() {
		began := time.Now()
		err := call()
		ended <- ending{err, time.Since(began)}
	}()
	return ended
}

// A call to servers none of which can be reached fails as soon as each was tried, and
// the error names all of them and why.
func TestAllRefuse(t *testing.T) {
	for _, n := range []int{1, 3, 12} {
		for _, way := range []string{"Call", "Notify", "OpenStream"} {
			t.Run(fmt.Sprintf("%s to %d", way, n), func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					f := newFleet(t)
					var names []string
					for i := range n {
						names = append(names, fmt.Sprintf("s%02d", i))
					}
					f.listed(names...)
					c := f.client(nil)
					call := ways(t, c)[way]
					for range 3 {
						began := time.Now()
						err := call()
						if took := time.Since(began); took > 10*time.Millisecond {
							t.Errorf("the call took %v", took)
						}
						wantError(t, err, weft.Unavailable, weft.NotSent, fmt.Sprintf("none of the %d known servers", n))
						for _, name := range names {
							if !strings.Contains(err.Error(), "; "+name+": it cannot be reached: connect to mem://"+name+": ") {
								t.Errorf("the error does not say why %s cannot be reached: %v", name, err)
							}
						}
						if e, _ := errors.AsType[*weft.Error](err); e.Reason != weft.ReasonNoServer {
							t.Errorf("the reason is %q", e.Reason)
						}
					}
					// One that is there is found behind all the others.
					f.serve("there")
					f.listed("there")
					time.Sleep(time.Second)
					began := time.Now()
					must(t, call())
					if took := time.Since(began); took > 10*time.Millisecond {
						t.Errorf("with one server that is there the call took %v", took)
					}
				})
			})
		}
	}
}

// A server that was reached before may just be restarting: calls wait for it, but no
// longer than the configured time.
func TestRestart(t *testing.T) {
	for _, way := range []string{"Call", "Notify", "OpenStream"} {
		t.Run(way, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				f := newFleet(t)
				f.listed("a", "b")
				a, b := f.serve("a"), f.serve("b")
				c := f.client(func(cfg *cluster.Config) { cfg.IdleTimeout = -1 })
				for range 10 {
					who(t, t.Context(), c)
				}
				call := ways(t, c)[way]
				time.Sleep(time.Minute)
				a.Close()
				b.Close()
				synctest.Wait()
				ended := timed(call)
				time.Sleep(time.Second)
				a = f.serve("a")
				e := <-ended
				must(t, e.err)
				if e.took > cluster.DefaultRestartGrace {
					t.Errorf("the call took %v", e.took)
				}

				time.Sleep(time.Minute)
				a.Close()
				synctest.Wait()
				began := time.Now()
				err := call()
				wantError(t, err, weft.Unavailable, weft.NotSent, "; a: it cannot be reached", "; b: it cannot be reached")
				if took := time.Since(began); took < cluster.DefaultRestartGrace || took > cluster.DefaultRestartGrace+50*time.Millisecond {
					t.Errorf("the call took %v, want %v", took, cluster.DefaultRestartGrace)
				}
				began = time.Now()
				if call() == nil {
					t.Error("the call went well")
				}
				if took := time.Since(began); took > 10*time.Millisecond {
					t.Errorf("after that a call took %v", took)
				}
			})
		})
	}
}

// A call has less time than the pause before its next attempt, which ends as soon as the only server is
// back: it is not given up for that pause.
func TestRestartBeforeDeadline(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t)
		f.listed("a")
		a := f.serve("a")
		c := f.client(nil)
		who(t, t.Context(), c)
		for range 20 {
			time.Sleep(time.Minute)
			who(t, t.Context(), c)
			must(t, a.Shutdown(t.Context()))
			synctest.Wait()
			var wg sync.WaitGroup
			for range 20 {
				wg.Go(func() {
					if _, err := weft.Invoke[Reply](t.Context(), c, "Who.Who", &Args{}, weft.WithTimeout(30*time.Millisecond)); err != nil {
						t.Error(err)
					}
				})
			}
			time.Sleep(5 * time.Millisecond)
			a = f.serve("a")
			wg.Wait()
		}
		must(t, a.Shutdown(t.Context()))
		synctest.Wait()
		began := time.Now()
		_, err := weft.Invoke[Reply](t.Context(), c, "Who.Who", &Args{}, weft.WithTimeout(30*time.Millisecond))
		wantError(t, err, weft.Unavailable, weft.NotSent, "a: it cannot be reached")
		if took := time.Since(began); took > 31*time.Millisecond {
			t.Errorf("a call of 30 ms took %v", took)
		}
	})
}

// The list of servers may be empty for a moment: all ways to call wait for the next one.
func TestEmptyForAMoment(t *testing.T) {
	for _, way := range []string{"Call", "Notify", "OpenStream"} {
		t.Run(way, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				f := newFleet(t)
				c := f.client(nil)
				call := ways(t, c)[way]
				if err := call(); err == nil {
					t.Error("without a server the call went well")
				}
				f.serve("a")
				ended := timed(call)
				time.Sleep(3 * time.Second)
				f.listed("a")
				e := <-ended
				must(t, e.err)
				if e.took < 3*time.Second || e.took > 3*time.Second+100*time.Millisecond {
					t.Errorf("the call took %v, want 3 s", e.took)
				}
			})
		})
	}
}

// What the failure of a call costs does not grow with every server that it does not name: during an outage every call fails.
func TestErrorOfManyServers(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const n = 1000
		f := newFleet(t)
		for i := range n {
			f.listed(fmt.Sprintf("s%03d", i))
		}
		c := f.client(func(cfg *cluster.Config) { cfg.RestartGrace = -1 })
		call := ways(t, c)["Call"]
		for range 2 {
			wantError(t, call(), weft.Unavailable, weft.NotSent, "none of the 1000 known servers", "s000: it cannot be reached", "s015: it cannot be reached", "; and 984 more")
		}
		if allocs := testing.AllocsPerRun(5, func() { _ = call() }); allocs > n {
			t.Errorf("a call that fails allocates %v times, with %d servers", allocs, n)
		}
	})
}
