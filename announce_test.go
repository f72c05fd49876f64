package weft_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrpc/weft"
)

// board is a registry that remembers what it was told.
type board struct {
	mu     sync.Mutex
	has    map[string]weft.Instance
	log    []string
	refuse error
	held   chan struct{} // closed: withdrawing does not wait; nil: the same
}

func (b *board) Register(i weft.Instance) (weft.Registration, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.refuse != nil {
		return nil, b.refuse
	}
	if err := i.Check(); err != nil {
		return nil, err
	}
	if b.has == nil {
		b.has = make(map[string]weft.Instance)
	}
	b.has[i.Service] = i
	b.log = append(b.log, "+"+i.Service)
	return &notice{b, i.Service}, nil
}

func (b *board) get(service string) (weft.Instance, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	i, ok := b.has[service]
	return i, ok
}

func (b *board) said() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return strings.Join(b.log, " ")
}

// notice is one registration on a board.
type notice struct {
	b       *board
	service string
}

func (n *notice) Update(i weft.Instance) error {
	n.b.mu.Lock()
	defer n.b.mu.Unlock()
	n.b.has[n.service] = i
	n.b.log = append(n.b.log, "="+n.service)
	return nil
}

func (n *notice) Close(ctx context.Context) error {
	if n.b.held != nil {
		select {
		case <-n.b.held:
		case <-ctx.Done():
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
			b := &board{}
			w := start(t, &weft.ServerConfig{Registry: b, Instance: weft.Instance{Zone: "a", Weight: 7}}, nil)
			synctest.Wait()
			i, ok := b.get("Arith")
			if !ok || i.Address != address || i.ID != address || i.Zone != "a" || i.Weight != 7 {
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
			b := &board{held: make(chan struct{})}
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
			b := &board{held: make(chan struct{})}
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
			b := &board{}
			w := start(t, &weft.ServerConfig{Registry: b, ReportLoad: 10 * time.Second}, nil)
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

	t.Run("refused", func(t *testing.T) {
		b := &board{refuse: errors.New("no room")}
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
	b := &board{}
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
