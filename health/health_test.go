package health_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/health"
	"github.com/weftrpc/weft/registry"
	"github.com/weftrpc/weft/registry/memory"
	"github.com/weftrpc/weft/transport"
	"github.com/weftrpc/weft/transport/mem"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// world is a server in memory, with its health and a client.
type world struct {
	t    *testing.T
	net  *mem.Network
	srv  *weft.Server
	h    *health.Health
	down atomic.Bool // what the check "database" says
}

func silent() *slog.Logger { return slog.New(slog.DiscardHandler) }

func newWorld(t *testing.T, reg weft.Registry, change func(*world, *health.Config)) *world {
	t.Helper()
	w := &world{t: t, net: mem.New()}
	cfg := weft.ServerConfig{Transports: []transport.Transport{w.net}, Logger: silent(), Registry: reg}
	w.srv = weft.NewServer(&cfg)
	t.Cleanup(func() { w.srv.Close() })
	hc := health.Config{Logger: silent(), Checks: []health.Check{{Name: "database", Period: time.Second, Func: func(context.Context) error {
		if w.down.Load() {
			return errors.New("password secret is wrong")
		}
		return nil
	}}}}
	if change != nil {
		change(w, &hc)
	}
	var err error
	w.h, err = health.New(w.srv, &hc)
	must(t, err)
	for _, name := range []string{"Orders.Get", "Stock.Get"} {
		must(t, weft.Handle(w.srv, name, func(_ context.Context, n *int) (*int, error) { return n, nil }))
	}
	return w
}

func (w *world) serve() *weft.Client {
	w.t.Helper()
	l, err := w.srv.Listen(w.t.Context(), "mem://server")
	must(w.t, err)
	go w.srv.Serve(l) // it ends with the server
	synctest.Wait()
	time.Sleep(1300 * time.Millisecond) // between two rounds of checks from then on
	c, err := weft.Dial(w.t.Context(), "mem://server", &weft.ClientConfig{Transports: []transport.Transport{w.net}, Logger: silent()})
	must(w.t, err)
	w.t.Cleanup(func() { c.Close() })
	return c
}

func (w *world) is(service string, want health.Status) {
	w.t.Helper()
	if got, ok := w.h.Status(service); got != want || !ok {
		w.t.Errorf("service %q is %v, %v, want %v", service, got, ok, want)
	}
}

func TestServerAndChecks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil, func(w *world, c *health.Config) {
			c.Checks = append(c.Checks,
				health.Check{Name: "stock", Services: []string{"Stock"}, Period: time.Second, Failures: 2, Func: func(context.Context) error {
					if w.down.Load() {
						return errors.New("no")
					}
					return nil
				}},
				health.Check{Name: "mail", Optional: true, Func: func(context.Context) error { panic("no mail") }})
			c.Checks[0].Services = []string{"Orders"}
		})
		synctest.Wait()
		w.is("", health.Starting)
		w.is("Orders", health.Starting)
		c := w.serve()
		for _, s := range []string{"", "Orders", "Stock", health.Service} {
			w.is(s, health.Serving)
		}
		if _, ok := w.h.Status("None"); ok {
			t.Error("an unknown service has a status")
		}
		changed := w.h.Changed()
		w.down.Store(true)
		time.Sleep(time.Second)
		<-changed
		w.is("Orders", health.NotServing)
		w.is("Stock", health.Serving) // one failure of two
		w.is("", health.Serving)      // no check is of the whole server
		time.Sleep(time.Second)
		w.is("Stock", health.NotServing)
		w.down.Store(false)
		time.Sleep(time.Second)
		w.is("Orders", health.Serving)
		w.is("Stock", health.Serving)

		w.h.Set("", false)
		w.is("Orders", health.NotServing)
		w.h.Set("", true)
		w.is("Orders", health.Serving)

		r, err := weft.Invoke[health.Report](t.Context(), c, "weft.v1.Health.Check", &health.Query{Service: "Orders"})
		must(t, err)
		if r.Status != "serving" || r.Service != "Orders" || len(r.Checks) != 3 || !r.Checks[2].Failing || !r.Checks[2].Optional || r.Checks[0].Failing {
			t.Errorf("%+v", r)
		}
		if err := c.Call(t.Context(), "weft.v1.Health.Check", &health.Query{Service: "None"}, nil); !errors.Is(err, weft.NotFound) {
			t.Errorf("%v", err)
		}
	})
}

// Watch sends every change, and does not hold up the end of the server.
func TestWatchAndDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil, nil)
		c := w.serve()
		stream, err := weft.Subscribe[health.Report](t.Context(), c, "weft.v1.Health.Watch", &health.Query{Service: "Orders"})
		must(t, err)
		next := func(want string) {
			t.Helper()
			r, err := stream.Recv()
			if err != nil || r.Status != want {
				t.Fatalf("%+v, %v, want %q", r, err, want)
			}
		}
		next("serving")
		w.down.Store(true)
		next("not serving")
		w.down.Store(false)
		next("serving")
		began := time.Now()
		ended := make(chan error, 1)
		go func() { ended <- w.srv.Shutdown(t.Context()) }() // it ends when the stream has
		next("draining")
		if _, err := stream.Recv(); !errors.Is(err, io.EOF) {
			t.Errorf("the stream ended with %v", err)
		}
		must(t, <-ended)
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("the shutdown took %v", took)
		}
		w.is("", health.Draining)
	})
}

// A check that does not return has failed, and is not called again meanwhile.
func TestCheckHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int32
		release := make(chan struct{})
		w := newWorld(t, nil, func(w *world, c *health.Config) {
			c.Checks = append(c.Checks, health.Check{Name: "hangs", Period: time.Second, Timeout: time.Second, Func: func(context.Context) error {
				if calls.Add(1) == 1 {
					<-release
				}
				return nil
			}})
		})
		w.serve()
		w.is("", health.NotServing)
		time.Sleep(time.Minute)
		if n := calls.Load(); n != 1 {
			t.Errorf("the check was called %d times", n)
		}
		close(release)
		time.Sleep(2 * time.Second)
		w.is("", health.Serving)
	})
}

func probe(h http.Handler, path string) (int, string) {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	return w.Code, w.Body.String()
}

func TestProbes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var dead atomic.Bool
		w := newWorld(t, nil, func(w *world, c *health.Config) {
			c.Checks = append(c.Checks, health.Check{Name: "loop", Live: true, Optional: true, Period: time.Second, Func: func(context.Context) error {
				if dead.Load() {
					return errors.New("stuck")
				}
				return nil
			}})
		})
		are := func(live, ready, startup int) {
			t.Helper()
			for path, want := range map[string]int{"/livez": live, "/health/readyz": ready, "/readyz?service=Orders": ready, "/startupz": startup,
				"/readyz?service=None": 404, "/other": 404} {
				code, body := probe(w.h, path)
				if code != want || strings.Contains(body, "secret") {
					t.Errorf("%s: %d, want %d: %s", path, code, want, body)
				}
			}
		}
		are(200, 503, 503)
		w.serve()
		are(200, 200, 200)
		w.down.Store(true)
		time.Sleep(time.Second)
		are(200, 503, 200)
		_, body := probe(w.h, "/readyz")
		var r health.Report
		if err := json.Unmarshal([]byte(body), &r); err != nil || r.Status != "not serving" || r.Checks[0].Name != "database" || !r.Checks[0].Failing {
			t.Errorf("%s, %v", body, err)
		}
		w.down.Store(false)
		dead.Store(true)
		time.Sleep(time.Second)
		are(503, 200, 200)
		must(t, w.srv.Shutdown(t.Context()))
		are(503, 503, 200)
		post := httptest.NewRecorder()
		w.h.ServeHTTP(post, httptest.NewRequest(http.MethodPost, "/readyz", nil))
		if post.Code != http.StatusMethodNotAllowed {
			t.Errorf("%d", post.Code)
		}
	})
}

// states are those of the instances in a registry, by service.
func states(t *testing.T, reg *registry.Registry, services ...string) string {
	t.Helper()
	var out []string
	for _, service := range services {
		got := make(chan *registry.Snapshot, 100)
		stop := reg.Watch(service, func(s *registry.Snapshot) { got <- s })
		synctest.Wait()
		stop()
		state := "absent"
		for len(got) > 0 {
			for _, i := range (<-got).Instances {
				state = i.State.String()
			}
		}
		out = append(out, state)
	}
	return strings.Join(out, " ")
}

// What is not ready is published as Draining, also before the first result of its checks; a
// state that the program sets stays.
func TestRegistry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.NewStore()
		reg, err := store.Registry(&registry.Config{Logger: silent(), NoCache: true})
		must(t, err)
		defer reg.Close()
		release := make(chan struct{})
		w := newWorld(t, reg, func(w *world, c *health.Config) {
			c.Checks = append(c.Checks, health.Check{Name: "warm", Services: []string{"Orders"}, Period: time.Second, Timeout: time.Hour, Func: func(ctx context.Context) error {
				select {
				case <-release:
					return nil
				case <-ctx.Done():
					return ctx.Err()
				}
			}})
		})
		w.serve()
		is := func(want string) {
			t.Helper()
			if got := states(t, reg, "Orders", "Stock", health.Service); got != want {
				t.Errorf("the states are %s, want %s", got, want)
			}
		}
		is("draining on on")
		close(release)
		time.Sleep(time.Second)
		is("on on on")
		w.down.Store(true)
		time.Sleep(2 * time.Second)
		is("draining draining on")
		must(t, w.srv.SetInstance("Stock", func(i *weft.Instance) { i.State = weft.Off }))
		w.down.Store(false)
		time.Sleep(2 * time.Second)
		is("on off on")
		must(t, w.srv.Shutdown(t.Context()))
	})
}

// A service that has only aliases has a status, and is published, as the service whose methods it has.
func TestAlias(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reg, err := memory.NewStore().Registry(&registry.Config{Logger: silent(), NoCache: true})
		must(t, err)
		defer reg.Close()
		w := newWorld(t, reg, func(_ *world, c *health.Config) { c.Checks[0].Services = []string{"Orders"} })
		must(t, w.srv.Alias("Purchases.Get", "Orders.Get"))
		must(t, w.srv.Alias("Stock.Order", "Orders.Get")) // Stock has a method of its own
		is := func(status health.Status, published string) {
			t.Helper()
			w.is("Purchases", status)
			w.is("Stock", health.Serving)
			if got := states(t, reg, "Orders", "Purchases", "Stock"); got != published {
				t.Errorf("the states are %s, want %s", got, published)
			}
		}
		w.serve()
		is(health.Serving, "on on on")
		w.down.Store(true)
		time.Sleep(2 * time.Second)
		is(health.NotServing, "draining draining on")
		w.down.Store(false)
		time.Sleep(2 * time.Second)
		is(health.Serving, "on on on")
		must(t, w.srv.Alias("Later.Get", "Orders.Get"))
		time.Sleep(2 * time.Second)
		if got := states(t, reg, "Later"); got != "on" {
			t.Errorf("an alias that came later is %s", got)
		}
		w.h.Set("Purchases", false)
		is(health.NotServing, "on draining on")
		must(t, w.srv.Shutdown(t.Context()))
	})
}

func TestDependency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		back := newWorld(t, nil, nil)
		c := back.serve()
		check := health.Dependency("back", c, "Orders")
		if !check.Optional {
			t.Error("a dependency takes the server down with it")
		}
		must(t, check.Func(t.Context()))
		back.down.Store(true)
		time.Sleep(2 * time.Second)
		if err := check.Func(t.Context()); !errors.Is(err, weft.Unavailable) {
			t.Errorf("%v", err)
		}
		c.Close()
		if err := check.Func(t.Context()); err == nil {
			t.Error("a client that is closed reports a good health")
		}
	})
}

func TestWrongChecks(t *testing.T) {
	f := func(context.Context) error { return nil }
	for want, checks := range map[string][]health.Check{
		`Checks[0] (""): it needs a name`:  {{Func: f}},
		`Checks[0] ("a"): Func is nil`:     {{Name: "a"}},
		`Checks[1] ("a"): it needs a name`: {{Name: "a", Func: f}, {Name: "a", Func: f}},
		`("a"): Period is -1ns, want 0`:    {{Name: "a", Func: f, Period: -1}},
		`("a"): Timeout is -2ns, want 0`:   {{Name: "a", Func: f, Timeout: -2}},
		`("a"): Failures is -3, want 0`:    {{Name: "a", Func: f, Failures: -3}},
	} {
		srv := weft.NewServer(nil)
		if _, err := health.New(srv, &health.Config{Checks: checks}); !errors.Is(err, weft.InvalidArgument) || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v", checks, err)
		}
		srv.Close()
	}
}
