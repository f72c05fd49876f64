package announce_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrpc/weft/instance"
	"github.com/weftrpc/weft/internal/announce"
	"github.com/weftrpc/weft/internal/fence"
	"github.com/weftrpc/weft/internal/leak"
	"github.com/weftrpc/weft/internal/wire"
)

func TestMain(m *testing.M) { leak.Main(m) }

// registry remembers what it was told.
type registry struct {
	mu    sync.Mutex
	log   []string
	has   map[string]instance.Instance
	fail  error         // of what comes next
	hangs chan struct{} // Close waits for it; nil: it does not wait
}

func (r *registry) Register(i instance.Instance) (announce.Registration, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fail != nil {
		return nil, r.fail
	}
	r.has[i.Service] = i
	r.log = append(r.log, "+"+i.Service)
	return registration{r, i.Service}, nil
}

func (r *registry) said() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Join(r.log, " ")
}

func (r *registry) get(service string) instance.Instance {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.has[service]
}

func (r *registry) refuse(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fail = err
}

type registration struct {
	r       *registry
	service string
}

func (n registration) Update(i instance.Instance) error {
	n.r.mu.Lock()
	defer n.r.mu.Unlock()
	if n.r.fail != nil {
		return n.r.fail
	}
	n.r.has[n.service] = i
	n.r.log = append(n.r.log, "="+n.service)
	return nil
}

func (n registration) Close(context.Context) error {
	if n.r.hangs != nil {
		<-n.r.hangs
	}
	n.r.mu.Lock()
	defer n.r.mu.Unlock()
	n.r.log = append(n.r.log, "-"+n.service)
	return nil
}

// server is what an Announcer publishes.
type server struct {
	mu       sync.Mutex
	services []string
	work     announce.Work
}

func (s *server) set(services ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.services = services
}

func (s *server) config(r *registry) announce.Config {
	log := slog.New(slog.DiscardHandler)
	return announce.Config{
		Register: r.Register,
		Services: func() map[string][]string {
			s.mu.Lock()
			defer s.mu.Unlock()
			all := make(map[string][]string)
			for _, name := range s.services {
				all[name] = []string{name}
			}
			return all
		},
		Idempotent: func(string) []string { return nil },
		Work: func() announce.Work {
			s.mu.Lock()
			defer s.mu.Unlock()
			return s.work
		},
		InFlight: func() int { return 0 }, Code: codeOf, Fence: &fence.Fence{Log: log}, Log: log,
	}
}

// codeOf is the code of an error, Unknown for one without.
func codeOf(err error) wire.Code {
	if c, ok := errors.AsType[coded](err); ok {
		return wire.Code(c)
	}
	return 2 // Unknown
}

// coded is an error that is a code.
type coded wire.Code

func (c coded) Error() string { return "refused" }

func begin(t *testing.T, cfg announce.Config) *announce.Announcer {
	t.Helper()
	a, err := announce.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if begun, err := a.Begin(&net.UnixAddr{Net: "unix", Name: "/a"}, "unix"); !begun || err != nil {
		t.Fatalf("Begin: %v, %v", begun, err)
	}
	return a
}

func TestComeAndGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, s := &registry{has: map[string]instance.Instance{}}, &server{services: []string{"A"}}
		a := begin(t, s.config(r))
		if i := r.get("A"); i.Address != "unix:///a" || i.ID != i.Address || i.Started.IsZero() {
			t.Errorf("published is %+v", i)
		}
		s.set("A", "B")
		a.Changed("B")
		s.set("B")
		a.Changed("A")
		a.Changed("B") // nothing is new
		synctest.Wait()
		a.Withdraw()
		a.Withdraw()
		a.Changed("B")
		if got := r.said(); got != "+A +B -A -B" {
			t.Errorf("the registry was told %q", got)
		}
	})
}

// Nothing waits longer for a registry than Timeout.
func TestRegistryHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, s := &registry{has: map[string]instance.Instance{}, hangs: make(chan struct{})}, &server{services: []string{"A"}}
		a := begin(t, s.config(r))
		began := time.Now()
		time.AfterFunc(time.Hour, func() { close(r.hangs) })
		a.Withdraw()
		if d := time.Since(began); d != announce.Timeout {
			t.Errorf("Withdraw took %v, want %v", d, announce.Timeout)
		}
		time.Sleep(2 * time.Hour)
	})
}

// After an error nothing is published, and another listener will do.
func TestRefused(t *testing.T) {
	r, s := &registry{has: map[string]instance.Instance{}}, &server{services: []string{"A"}}
	a, err := announce.New(s.config(r))
	if err != nil {
		t.Fatal(err)
	}
	full := errors.New("full")
	r.refuse(full)
	if begun, err := a.Begin(&net.UnixAddr{Net: "unix", Name: "/a"}, "unix"); begun || !errors.Is(err, full) {
		t.Errorf("Begin: %v, %v", begun, err)
	}
	r.refuse(nil)
	if begun, err := a.Begin(&net.UnixAddr{Net: "unix", Name: "/b"}, "unix"); !begun || err != nil || r.get("A").Address != "unix:///b" {
		t.Errorf("Begin with another listener: %v, %v, %+v", begun, err, r.get("A"))
	}
	if begun, err := a.Begin(&net.UnixAddr{Net: "unix", Name: "/c"}, "unix"); begun || err != nil {
		t.Errorf("Begin with a third listener: %v, %v", begun, err)
	}
	a.Withdraw()
}

func TestChange(t *testing.T) {
	r, s := &registry{has: map[string]instance.Instance{}}, &server{services: []string{"A", "B"}}
	a := begin(t, s.config(r))
	weigh := func(n int) func(*instance.Instance) { return func(i *instance.Instance) { i.Weight = n } }
	if err := a.Change("A", weigh(7)); err != nil || r.get("A").Weight != 7 || r.get("B").Weight == 7 {
		t.Errorf("a change of A: %v, %+v, %+v", err, r.get("A"), r.get("B"))
	}
	if err := a.Change("C", weigh(7)); !errors.Is(err, announce.ErrNoService) {
		t.Errorf("a change of what there is not: %v", err)
	}
	if _, wrong := errors.AsType[*announce.ChangeError](a.Change("A", func(i *instance.Instance) { i.ID = "other" })); !wrong {
		t.Error("the ID can be changed")
	}
	full := errors.New("full")
	r.refuse(full)
	if err := a.Change("", weigh(9)); !errors.Is(err, full) {
		t.Errorf("a change that the registry refuses: %v", err)
	}
	r.refuse(nil)
	if err := a.Change("", func(*instance.Instance) {}); err != nil || r.get("A").Weight != 7 {
		t.Errorf("after a refused change: %v, %+v", err, r.get("A"))
	}
	a.Withdraw()
}

// Load is told when it has changed a good deal.
func TestLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, s := &registry{has: map[string]instance.Instance{}}, &server{services: []string{"A"}}
		a := begin(t, s.config(r))
		ctx, stop := context.WithCancel(t.Context())
		over := make(chan struct{})
		go func() {
			defer close(over)
			a.Report(ctx, 10*time.Second)
		}()
		s.mu.Lock()
		s.work = announce.Work{Calls: 1000, Timed: 10, Sum: 50 * time.Millisecond}
		s.mu.Unlock()
		time.Sleep(11 * time.Second)
		if l := r.get("A").Load; l == nil || l.Rate != 100 || l.Latency != 5*time.Millisecond {
			t.Errorf("the load is %+v", l)
		}
		time.Sleep(time.Minute)
		if got := r.said(); got != "+A =A =A" {
			t.Errorf("the registry was told %q, want two reports of a load that has changed twice", got)
		}
		stop()
		<-over
		a.Withdraw()
	})
}

// A registry that refuses reports of the load is in the log once a minute.
func TestLoadRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, s := &registry{has: map[string]instance.Instance{}}, &server{services: []string{"A"}}
		cfg := s.config(r)
		var logged atomic.Int32
		cfg.Log = slog.New(counter{n: &logged})
		a := begin(t, cfg)
		r.refuse(errors.New("full"))
		ctx, stop := context.WithCancel(t.Context())
		over := make(chan struct{})
		go func() { // it ends with ctx
			defer close(over)
			a.Report(ctx, 10*time.Second)
		}()
		for i := range 30 { // for five minutes
			s.mu.Lock()
			s.work.Calls += uint64(1000 * (i % 2))
			s.mu.Unlock()
			time.Sleep(10 * time.Second)
		}
		if n := logged.Load(); n != 5 {
			t.Errorf("%d records in five minutes, want 5", n)
		}
		stop()
		<-over
		r.refuse(nil)
		a.Withdraw()
	})
}

// A registry that has refused a report of the load is told it again, though the load stays as it is; then it is not told again.
func TestLoadAfterRefusal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, s := &registry{has: map[string]instance.Instance{}}, &server{services: []string{"A"}}
		a := begin(t, s.config(r))
		ctx, stop := context.WithCancel(t.Context())
		over := make(chan struct{})
		go func() { // it ends with ctx
			defer close(over)
			a.Report(ctx, 10*time.Second)
		}()
		pass := func(reports int) {
			for range reports {
				s.mu.Lock()
				s.work.Calls += 1000
				s.mu.Unlock()
				time.Sleep(10 * time.Second)
			}
		}
		time.Sleep(time.Second)
		r.refuse(errors.New("full"))
		pass(3)
		r.refuse(nil)
		pass(3)
		if load := r.get("A").Load; load == nil || load.Rate != 100 {
			t.Errorf("the load that is published is %+v, want a rate of 100", load)
		}
		if said := r.said(); said != "+A =A" {
			t.Errorf("the registry was told %s, want one report", said)
		}
		stop()
		<-over
		a.Withdraw()
	})
}

// counter counts records of a log.
type counter struct {
	slog.Handler
	n *atomic.Int32
}

func (c counter) Handle(context.Context, slog.Record) error {
	c.n.Add(1)
	return nil
}
func (counter) Enabled(context.Context, slog.Level) bool { return true }

// A service that comes while the server serves, and that the registry refuses for a reason that may pass, is tried again with growing pauses
// until it is taken, and is in the log once a minute, however often its methods change meanwhile.
func TestRefusedIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, s := &registry{has: map[string]instance.Instance{}}, &server{services: []string{"A"}}
		cfg := s.config(r)
		var logged, asked atomic.Int32
		cfg.Log = slog.New(counter{n: &logged})
		cfg.Register = func(i instance.Instance) (announce.Registration, error) {
			asked.Add(1)
			return r.Register(i)
		}
		a := begin(t, cfg)
		r.refuse(coded(wire.Unavailable))
		s.set("A", "B")
		before := asked.Load()
		for range 100 { // a method each
			a.Changed("B")
		}
		if n := asked.Load() - before; n != 1 {
			t.Errorf("the registry was asked %d times at once", n)
		}
		time.Sleep(5 * time.Minute)
		if n := asked.Load() - before; n < 12 || n > 25 {
			t.Errorf("the registry was asked %d times in five minutes, want about 16", n)
		}
		if n := logged.Load(); n < 4 || n > 6 {
			t.Errorf("%d records in five minutes, want 5", n)
		}
		r.refuse(nil)
		time.Sleep(time.Minute)
		if r.get("B").Address == "" {
			t.Error("the service is not published though the registry takes it")
		}
		logged.Store(0)
		r.refuse(coded(wire.Unavailable))
		s.set("A", "B", "C", "D")
		a.Changed("C")
		a.Changed("D")
		s.set("A", "B", "D")
		a.Changed("C") // before it was published
		r.refuse(nil)
		time.Sleep(time.Second)
		a.Withdraw()
		r.refuse(errors.New("nothing is asked any more"))
		time.Sleep(time.Hour)
		if got := r.said(); !strings.HasPrefix(got, "+A +B +D -") || strings.Contains(got, "C") {
			t.Errorf("the registry was told %q", got)
		}
	})
}

// An update that the registry refuses is made again as well.
func TestRefusedUpdateIsMadeAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, s := &registry{has: map[string]instance.Instance{}}, &server{services: []string{"A"}}
		cfg := s.config(r)
		var idempotent atomic.Pointer[string]
		cfg.Idempotent = func(string) []string {
			if m := idempotent.Load(); m != nil {
				return []string{*m}
			}
			return nil
		}
		a := begin(t, cfg)
		r.refuse(errors.New("full"))
		method := "Get"
		idempotent.Store(&method)
		a.Changed("A")
		r.refuse(nil)
		time.Sleep(time.Minute)
		if got := r.said(); got != "+A =A" {
			t.Errorf("the registry was told %q", got)
		}
		a.Withdraw()
	})
}

// A service that the registry is going to refuse again is not tried before it changes.
func TestRefusedForGood(t *testing.T) {
	for _, code := range []wire.Code{wire.InvalidArgument, wire.FailedPrecondition, wire.PermissionDenied, wire.Unimplemented} {
		synctest.Test(t, func(t *testing.T) {
			r, s := &registry{has: map[string]instance.Instance{}}, &server{services: []string{"A"}}
			cfg := s.config(r)
			var logged atomic.Int32
			cfg.Log = slog.New(counter{n: &logged})
			a := begin(t, cfg)
			r.refuse(coded(code))
			s.set("A", "B")
			a.Changed("B")
			a.Changed("B")
			r.refuse(nil)
			time.Sleep(time.Hour)
			if got := r.said(); got != "+A" || logged.Load() != 1 {
				t.Errorf("%v: the registry was told %q, and %d records were logged", code, got, logged.Load())
			}
			a.Changed("B") // as when another method is registered
			if got := r.said(); got != "+A +B" {
				t.Errorf("%v: after a change the registry was told %q", code, got)
			}
			a.Withdraw()
		})
	}
}

func TestWrong(t *testing.T) {
	s, r := &server{}, &registry{}
	for want, change := range map[string]func(*announce.Config){
		"Instance.Service is":           func(c *announce.Config) { c.Every.Service = "A" },
		`Instances["A"].Service is "B"`: func(c *announce.Config) { c.Own = map[string]instance.Instance{"A": {Service: "B"}} },
		"Instance: ":                    func(c *announce.Config) { c.Every.Zone = "a\n" },
	} {
		cfg := s.config(r)
		change(&cfg)
		if _, err := announce.New(cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("New: %v, want %q", err, want)
		}
	}
}
