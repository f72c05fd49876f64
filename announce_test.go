package weft_test

import (
	"context"
	"errors"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/transport"
	"github.com/weftrpc/weft/transport/mem"
	"github.com/weftrpc/weft/transport/tcp"
)

// recorder is a registry that remembers what it was told.
type recorder struct {
	mu             sync.Mutex
	has            map[string]weft.Instance
	log            []string
	refuse         map[string]error
	held           chan struct{} // closed: withdrawing does not wait; nil: the same
	ignoresContext bool          // withdrawing does not look at its context
}

func (b *recorder) Register(i weft.Instance) (weft.Registration, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.refuse[i.Service]; err != nil {
		return nil, err
	}
	if err := i.Check(); err != nil {
		return nil, err
	}
	if b.has == nil {
		b.has = make(map[string]weft.Instance)
	}
	if _, taken := b.has[i.Service]; taken {
		return nil, errors.New("registered already")
	}
	b.has[i.Service] = i
	b.log = append(b.log, "+"+i.Service)
	return &recorded{b, i.Service}, nil
}

func (b *recorder) get(service string) (weft.Instance, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	i, ok := b.has[service]
	return i, ok
}

func (b *recorder) said() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return strings.Join(b.log, " ")
}

// recorded is one registration with a recorder.
type recorded struct {
	b       *recorder
	service string
}

func (n *recorded) Update(i weft.Instance) error {
	n.b.mu.Lock()
	defer n.b.mu.Unlock()
	n.b.has[n.service] = i
	n.b.log = append(n.b.log, "="+n.service)
	return nil
}

func (n *recorded) Close(ctx context.Context) error {
	over := ctx.Done()
	if n.b.ignoresContext {
		over = nil
	}
	if n.b.held != nil {
		select {
		case <-n.b.held:
		case <-over:
			return ctx.Err()
		}
	}
	n.b.mu.Lock()
	defer n.b.mu.Unlock()
	delete(n.b.has, n.service)
	n.b.log = append(n.b.log, "-"+n.service)
	return nil
}

func TestAnnounce(t *testing.T) {
	t.Run("what is served", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := &recorder{}
			w := start(t, &weft.ServerConfig{Registry: b, Instance: weft.Instance{Zone: "a", Weight: 7}}, nil)
			synctest.Wait()
			i, ok := b.get("Arith")
			if !ok || i.Address != address || i.ID != address || i.Zone != "a" || i.Weight != 7 || !i.Started.Equal(time.Now()) {
				t.Fatalf("registered is %+v (%v), want the service at %s", i, ok, address)
			}
			must(t, w.srv.RegisterName("Later", Arith{}))
			must(t, w.srv.Alias("Calc.Times", "Arith.Mul"))
			must(t, w.srv.Unregister("Arith"))
			synctest.Wait()
			time.Sleep(time.Second)
			// The alias goes with its method.
			if got, want := b.said(), "+Arith +Later +Calc -Arith -Calc"; got != want && got != "+Arith +Later +Calc -Calc -Arith" {
				t.Errorf("the registry was told %q, want %q", got, want)
			}
		})
	})

	t.Run("withdrawn before anything else", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := &recorder{held: make(chan struct{})}
			w := start(t, &weft.ServerConfig{Registry: b}, nil)
			c := w.dial(nil)
			if _, err := weft.Invoke[Product](t.Context(), c, "Arith.Mul", &Args{6, 7}); err != nil {
				t.Fatal(err)
			}
			over := make(chan error, 1)
			go func() { over <- w.srv.Shutdown(t.Context()) }()
			synctest.Wait()
			if _, err := weft.Invoke[Product](t.Context(), c, "Arith.Mul", &Args{6, 7}); err != nil {
				t.Errorf("a call while the server is being withdrawn: %v", err)
			}
			close(b.held)
			if err := <-over; err != nil {
				t.Errorf("Shutdown: %v", err)
			}
			if got := b.said(); got != "+Arith -Arith" {
				t.Errorf("the registry was told %q", got)
			}
		})
	})

	t.Run("a registry that does not answer", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := &recorder{held: make(chan struct{})}
			w := start(t, &weft.ServerConfig{Registry: b}, nil)
			synctest.Wait()
			began := time.Now()
			if err := w.srv.Shutdown(t.Context()); err != nil {
				t.Errorf("Shutdown: %v", err)
			}
			if d := time.Since(began); d > 3*time.Second {
				t.Errorf("Shutdown took %v, want about two seconds", d)
			}
		})
	})

	t.Run("the load", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := &recorder{}
			w := start(t, &weft.ServerConfig{Registry: b, LoadReportInterval: 10 * time.Second}, nil)
			c := w.dial(nil)
			for range 200 {
				if _, err := weft.Invoke[Product](t.Context(), c, "Arith.Mul", &Args{6, 7}); err != nil {
					t.Fatal(err)
				}
			}
			time.Sleep(11 * time.Second)
			i, _ := b.get("Arith")
			if i.Load == nil || i.Load.Rate < 19 || i.Load.Rate > 21 {
				t.Fatalf("the load is %+v, want 20 calls a second", i.Load)
			}
			time.Sleep(10 * time.Second)
			time.Sleep(time.Minute)
			if got := strings.Count(b.said(), "="); got != 2 {
				t.Errorf("%d reports of a load that has changed twice: %s", got, b.said())
			}
		})
	})

	t.Run("the load without calls that operate the server", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := &recorder{}
			watch := func(ctx context.Context, _ *Args, out *weft.Sender[Product]) error {
				if err := out.Send(&Product{}); err != nil {
					return err
				}
				<-ctx.Done()
				return ctx.Err()
			}
			w := start(t, &weft.ServerConfig{Registry: b, LoadReportInterval: 10 * time.Second}, func(s *weft.Server) error {
				return errors.Join(weft.HandleServerStream(s, "weft.Admin.Watch", watch), weft.HandleServerStream(s, "Shop.Watch", watch))
			})
			c := w.dial(nil)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			for n := range 40 {
				s, err := weft.Subscribe[Product](ctx, c, []string{"weft.Admin.Watch", "Shop.Watch"}[n%2], &Args{})
				if err != nil {
					t.Fatal(err)
				}
				if _, err := s.Recv(); err != nil {
					t.Fatal(err)
				}
			}
			time.Sleep(25 * time.Second)
			if i, _ := b.get("Shop"); i.Load == nil || i.Load.InFlight != 20 || i.Load.Rate != 0 {
				t.Errorf("while streams run the load is %+v, want 20 calls in flight", i.Load)
			}
			cancel()
			time.Sleep(10 * time.Second)
			if i, _ := b.get("Shop"); i.Load == nil || i.Load.InFlight != 0 || i.Load.Rate != 2 {
				t.Errorf("when the streams have ended the load is %+v, want 20 calls in 10 s", i.Load)
			}
		})
	})

	t.Run("refused", func(t *testing.T) {
		b := &recorder{refuse: map[string]error{"Arith": errors.New("no room")}}
		srv := weft.NewServer(&weft.ServerConfig{Registry: b})
		must(t, srv.Register(Arith{}))
		err := srv.ListenAndServe(t.Context(), "tcp://127.0.0.1:0")
		if err == nil || !strings.Contains(err.Error(), "register service Arith: no room") {
			t.Errorf("ListenAndServe returns %v, want what the registry said", err)
		}
	})

	t.Run("a service of its own", func(t *testing.T) {
		srv := weft.NewServer(&weft.ServerConfig{Instance: weft.Instance{Service: "X"}})
		if err := srv.Register(Arith{}); err == nil || !strings.Contains(err.Error(), "Instance.Service") {
			t.Errorf("a configuration with Instance.Service gives %v", err)
		}
	})
}

// A server that listens on every address is found at one that others can reach.
func TestAnnounceEverywhere(t *testing.T) {
	b := &recorder{}
	ctx, cancel := context.WithCancel(t.Context())
	srv := weft.NewServer(&weft.ServerConfig{Registry: b})
	must(t, srv.Register(Arith{}))
	over := make(chan error, 1)
	go func() { over <- srv.ListenAndServe(ctx, "tcp://:0", "tcp://127.0.0.1:0") }()
	var found weft.Instance
	for ok := false; !ok; time.Sleep(time.Millisecond) {
		found, ok = b.get("Arith")
	}
	rest, _ := strings.CutPrefix(found.Address, "tcp://")
	host, _, err := net.SplitHostPort(rest)
	if err != nil || net.ParseIP(host) == nil || net.ParseIP(host).IsUnspecified() {
		t.Errorf("the address is %q, want one with an address of this machine", found.Address)
	}
	c, err := weft.Dial(t.Context(), found.Address, nil)
	if err != nil {
		t.Errorf("dial %s: %v", found.Address, err)
	} else {
		c.Close()
	}
	cancel()
	if err := <-over; err != nil {
		t.Errorf("ListenAndServe: %v", err)
	}
	if got := b.said(); got != "+Arith -Arith" {
		t.Errorf("the registry was told %q, want one registration and its end", got)
	}
}

// Of several listeners the first is the one that clients are told of.
func TestAnnounceFirstListener(t *testing.T) {
	for range 20 {
		synctest.Test(t, func(t *testing.T) {
			b := &recorder{}
			srv := weft.NewServer(&weft.ServerConfig{Registry: b, Transports: transports(mem.New())})
			must(t, srv.Register(Arith{}))
			ctx, cancel := context.WithCancel(t.Context())
			over := make(chan error, 1)
			go func() { over <- srv.ListenAndServe(ctx, "mem://first", "mem://second", "mem://third") }()
			synctest.Wait()
			if i, ok := b.get("Arith"); !ok || i.Address != "mem://first" {
				t.Errorf("registered is %q (%v), want the first listener", i.Address, ok)
			}
			cancel()
			must(t, <-over)
		})
	}
}

// A service that is removed and registered again is in the registry when the
// server has it, in whatever time the registry takes to withdraw it.
func TestAnnounceAgain(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*weft.Server) error // while the service is being withdrawn
		want   string
	}{
		{"registered again", func(s *weft.Server) error { return s.Register(Arith{}) }, "+Arith -Arith +Arith"},
		{"and removed again", func(s *weft.Server) error {
			return errors.Join(s.Register(Arith{}), s.Unregister("Arith"))
		}, "+Arith -Arith"},
		{"and removed, and registered", func(s *weft.Server) error {
			return errors.Join(s.Register(Arith{}), s.Unregister("Arith"), s.Register(Arith{}))
		}, "+Arith -Arith +Arith"},
		{"and shut down", func(s *weft.Server) error {
			return errors.Join(s.Register(Arith{}), s.Shutdown(context.Background()))
		}, "+Arith -Arith"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := &recorder{held: make(chan struct{})}
				w := start(t, &weft.ServerConfig{Registry: b}, nil)
				synctest.Wait()
				must(t, w.srv.Unregister("Arith"))
				time.AfterFunc(time.Second, func() { close(b.held) })
				must(t, tt.change(w.srv))
				time.Sleep(5 * time.Second)
				if got := b.said(); got != tt.want {
					t.Errorf("the registry was told %q, want %q", got, tt.want)
				}
			})
		})
	}
}

// What is published names the idempotent methods of a service, as they are now.
func TestAnnounceIdempotent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &recorder{}
		w := start(t, &weft.ServerConfig{
			Registry: b, Instances: map[string]weft.Instance{"Other": {Idempotent: []string{"Set"}}},
		}, func(s *weft.Server) error {
			return errors.Join(
				s.Register(Arith{}, weft.For("Mul", weft.Idempotent())),
				weft.Handle(s, "Other.Get", Arith{}.Mul, weft.Idempotent()),
				weft.Handle(s, "Other.Put", Arith{}.Mul),
			)
		})
		is := func(service string, want ...string) {
			t.Helper()
			synctest.Wait()
			if i := b.published(t, service); !slices.Equal(i.Idempotent, want) {
				t.Errorf("the idempotent methods of %s are %q, want %q", service, i.Idempotent, want)
			}
		}
		is("Arith", "Mul")
		is("Other", "Get", "Set")
		must(t, weft.Handle(w.srv, "Other.Find", Arith{}.Mul, weft.Idempotent()))
		is("Other", "Find", "Get", "Set")
		must(t, w.srv.Alias("Other.Times", "Arith.Mul"))
		is("Other", "Find", "Get", "Set", "Times")
		said := b.said()
		must(t, weft.Handle(w.srv, "Other.Delete", Arith{}.Mul))
		is("Other", "Find", "Get", "Set", "Times")
		if got := b.said(); got != said {
			t.Errorf("nothing has changed, and the registry was told %q", got)
		}
		must(t, w.srv.Unregister("Arith")) // and its alias
		is("Other", "Find", "Get", "Set")
	})
}

// Some registries do not look at the context of a withdrawal.
func TestRegistryIgnoresContext(t *testing.T) {
	for _, tt := range []struct {
		name string
		end  func(*weft.Server) error
	}{
		{"Shutdown", func(s *weft.Server) error { return s.Shutdown(context.Background()) }},
		{"Close", (*weft.Server).Close},
		{"Shutdown of a server whose service leaves", func(s *weft.Server) error {
			return errors.Join(s.Unregister("Arith"), s.Shutdown(context.Background()))
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := &recorder{held: make(chan struct{}), ignoresContext: true}
				w := start(t, &weft.ServerConfig{Registry: b}, nil)
				synctest.Wait()
				time.AfterFunc(time.Minute, func() { close(b.held) })
				began := time.Now()
				must(t, tt.end(w.srv))
				if d := time.Since(began); d != 2*time.Second {
					t.Errorf("it took %v, want two seconds", d)
				}
				time.Sleep(time.Minute) // until the registry lets go
			})
		})
	}
}

// A registry that does not answer leaves most of a shutdown's time to the drain.
func TestSlowRegistryLeavesTimeToDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &recorder{held: make(chan struct{})}
		w := start(t, &weft.ServerConfig{Registry: b}, func(s *weft.Server) error {
			return weft.Handle(s, "Slow.Call", func(context.Context, *Args) (*Product, error) {
				time.Sleep(150 * time.Millisecond)
				return &Product{}, nil
			})
		})
		c := w.dial(nil)
		calling, cancel := context.WithCancel(t.Context())
		last := make(chan time.Time, 1)
		began := time.Now()
		go func() {
			var at time.Time
			for {
				if _, err := weft.Invoke[Product](calling, c, "Slow.Call", &Args{}); err != nil {
					last <- at
					return
				}
				at = time.Now()
			}
		}()
		ctx, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		if err := w.srv.Shutdown(ctx); err != nil {
			t.Errorf("Shutdown: %v", err)
		}
		if d := time.Since(began); d > 2*time.Second {
			t.Errorf("Shutdown took %v, want two seconds at most", d)
		}
		cancel()
		if d := (<-last).Sub(began); d < 250*time.Millisecond || d > 500*time.Millisecond {
			t.Errorf("the last call ended after %v, want soon after a quarter of a second", d)
		}
	})
}

// A server of which the registry takes only a part is not published at all, and
// can be with another listener.
func TestAnnounceHalfway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &recorder{refuse: map[string]error{"Other": errors.New("no room")}}
		network := mem.New()
		srv := weft.NewServer(&weft.ServerConfig{Registry: b, Transports: transports(network)})
		must(t, srv.Register(Arith{}))
		must(t, srv.RegisterName("Other", Arith{}))
		err := srv.ListenAndServe(t.Context(), "mem://first", "mem://second")
		if err == nil || !strings.Contains(err.Error(), "register service Other: no room") {
			t.Fatalf("ListenAndServe returns %v, want what the registry said", err)
		}
		if got := b.said(); got != "+Arith -Arith" {
			t.Errorf("the registry was told %q, want one registration and its end", got)
		}
		must(t, srv.RegisterName("Third", Arith{})) // the server serves nothing now
		b.mu.Lock()
		b.refuse = nil
		b.mu.Unlock()
		serve(t, srv, "mem://second") // which the failed attempt has given back
		synctest.Wait()
		for _, service := range []string{"Arith", "Other", "Third"} {
			if i, ok := b.get(service); !ok || i.Address != "mem://second" || i.ID != i.Address {
				t.Errorf("service %s is registered as %+v (%v), want the second listener", service, i, ok)
			}
		}
	})
}

// layered is a transport that puts something on top of another, as TLS does: its
// listeners have the addresses of the other.
type layered struct{ transport.Transport }

func (l layered) Scheme() string { return l.Transport.Scheme() + "+x" }

// The registry gets addresses that the clients' transports know.
func TestAnnounceScheme(t *testing.T) {
	for _, tt := range []struct {
		name, listen string
		bare         bool // the listener is not the server's own
		want         string
	}{
		{"a layer on TCP", "tcp+x://127.0.0.1:0", false, "tcp+x://127.0.0.1:"},
		{"a layer on TCP, everywhere", "tcp+x://:0", false, "tcp+x://"},
		{"TCP", "tcp://127.0.0.1:0", false, "tcp://127.0.0.1:"},
		{"without a scheme", "127.0.0.1:0", false, "tcp://127.0.0.1:"},
		{"another network", "mem+x://server", false, "mem+x://server"},
		{"a listener from elsewhere", "mem+x://server", true, "mem://server"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := &recorder{}
			network := mem.New()
			srv := weft.NewServer(&weft.ServerConfig{Registry: b,
				Transports: transports(tcp.New(nil), layered{tcp.New(nil)}, layered{network})})
			must(t, srv.Register(Arith{}))
			var l net.Listener
			var err error
			if tt.bare {
				l, err = network.Listen(t.Context(), "server")
			} else {
				l, err = srv.Listen(t.Context(), tt.listen)
			}
			must(t, err)
			over := make(chan error, 1)
			go func() { over <- srv.Serve(l) }()
			var found weft.Instance
			for ok := false; !ok; time.Sleep(time.Millisecond) {
				found, ok = b.get("Arith")
			}
			if !strings.HasPrefix(found.Address, tt.want) || strings.Contains(found.Address, "[::]") {
				t.Errorf("the address is %q, want %s…", found.Address, tt.want)
			}
			srv.Close()
			if err := <-over; !errors.Is(err, weft.ErrServerClosed) {
				t.Errorf("Serve: %v", err)
			}
		})
	}
}

func TestAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, nil, func(s *weft.Server) error {
			return weft.Handle(s, "Attempt.Number", func(ctx context.Context, _ *Args) (*Product, error) {
				if n := weft.MetadataFrom(ctx).Len(); n > 1 {
					return nil, weft.Errorf(weft.Internal, "the handler sees %d pairs", n)
				}
				return &Product{weft.AttemptFrom(ctx)}, nil
			})
		})
		c := w.dial(nil)
		for _, tt := range []struct {
			name string
			opts []weft.CallOption
			want int
		}{
			{"a first attempt", nil, 0},
			{"said to be", []weft.CallOption{weft.WithAttempt(0)}, 0},
			{"a third", []weft.CallOption{weft.WithAttempt(2)}, 2},
		} {
			ctx := weft.WithMetadata(t.Context(), "a", "b")
			p, err := weft.Invoke[Product](ctx, c, "Attempt.Number", &Args{}, tt.opts...)
			if err != nil || p.C != tt.want {
				t.Errorf("%s: the handler saw %v, %v, want %d", tt.name, p, err, tt.want)
			}
		}
		if _, err := weft.Invoke[Product](t.Context(), c, "Attempt.Number", &Args{}, weft.WithAttempt(-1)); weft.CodeOf(err) != weft.InvalidArgument {
			t.Errorf("attempt -1 gives %v", err)
		}
	})
	if n := weft.AttemptFrom(t.Context()); n != 0 {
		t.Errorf("without a handler the attempt is %d", n)
	}
}

func TestRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, nil, func(s *weft.Server) error {
			return weft.Handle(s, "Busy.Now", func(_ context.Context, a *Args) (*Product, error) {
				return nil, weft.Errorf(weft.ResourceExhausted, "busy").WithRetryAfter(time.Duration(a.A))
			})
		})
		c := w.dial(nil)
		for d, want := range map[time.Duration]time.Duration{
			-time.Second: -1, 0: 0, time.Microsecond: time.Millisecond, 1500 * time.Millisecond: 1500 * time.Millisecond,
		} {
			_, err := weft.Invoke[Product](t.Context(), c, "Busy.Now", &Args{A: int(d)})
			var e *weft.Error
			if !errors.As(err, &e) {
				t.Fatal(err)
			}
			if got, ok := e.RetryAfter(); !ok || got != want {
				t.Errorf("the push-back %v arrives as %v, %v, want %v", d, got, ok, want)
			}
		}
	})
	if _, ok := weft.Errorf(weft.Internal, "x").RetryAfter(); ok {
		t.Error("an error without a push-back has one")
	}
}

func TestInstanceEqualAndClone(t *testing.T) {
	full := weft.Instance{
		Service: "Arith", ID: "a", Address: "tcp://h:1", Weight: 3, Group: "g", Version: "1", Zone: "z",
		Position: &weft.Position{Latitude: 1, Longitude: 2}, Tags: map[string]string{"k": "v"}, State: weft.Draining,
		Load: &weft.Load{InFlight: 1},
	}
	c := full.Clone()
	if !full.Equal(&c) || full.Check() != nil {
		t.Fatalf("the clone %+v differs, or the instance is wrong: %v", c, full.Check())
	}
	for name, change := range map[string]func(*weft.Instance){
		"position": func(i *weft.Instance) { i.Position.Latitude = 9 },
		"tags":     func(i *weft.Instance) { i.Tags["k"] = "w" },
		"load":     func(i *weft.Instance) { i.Load.InFlight = 9 },
		"state":    func(i *weft.Instance) { i.State = weft.Off },
	} {
		c := full.Clone()
		change(&c)
		if full.Equal(&c) {
			t.Errorf("a change of the %s of a clone changes the original, or is not noticed", name)
		}
	}
}

// An attempt whose number has no room in the metadata is made without it.
func TestAttemptWithoutRoom(t *testing.T) {
	c := start(t, nil, nil).dial(nil)
	var full []string
	for i := range 64 {
		full = append(full, "key-"+strconv.Itoa(i), "")
	}
	p, err := weft.Invoke[Product](weft.WithMetadata(t.Context(), full...), c, "Arith.Mul", &Args{7, 8}, weft.WithAttempt(2))
	must(t, err)
	if p.C != 56 {
		t.Errorf("7 times 8 is %d", p.C)
	}
}
