package weft_test

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
	"github.com/weftrpc/weft/internal/polltest"
)

// heldMethod is a method whose calls wait until the test lets them go.
type heldMethod struct {
	begun   chan struct{}
	release chan struct{}
}

func newHeld() *heldMethod {
	return &heldMethod{begun: make(chan struct{}, 64), release: make(chan struct{})}
}

func (h *heldMethod) register(opts ...weft.MethodOption) func(*weft.Server) error {
	return func(s *weft.Server) error {
		return errors.Join(s.Register(Arith{}), weft.Handle(s, "Held.Call", func(ctx context.Context, _ *Args) (*Product, error) {
			h.begun <- struct{}{}
			select {
			case <-h.release:
			case <-ctx.Done():
			}
			return &Product{int(weft.PriorityFrom(ctx))}, nil
		}, opts...))
	}
}

// begin begins n calls and waits until their handlers run.
func (h *heldMethod) begin(t *testing.T, c weft.Caller, ctx context.Context, n int) (end func()) {
	t.Helper()
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			if err := c.Call(ctx, "Held.Call", &Args{}, nil); err != nil {
				t.Errorf("a call that was taken failed: %v", err)
			}
		})
	}
	for range n {
		<-h.begun
	}
	return func() {
		close(h.release)
		wg.Wait()
	}
}

// A refusal says all that its caller needs, costs no authentication, and is counted.
func TestMethodLimit(t *testing.T) {
	h := newHeld()
	var authenticated atomic.Int32
	w := start(t, &weft.ServerConfig{Authenticate: func(context.Context, weft.Credential, *weft.CallInfo) (any, error) {
		authenticated.Add(1)
		return nil, nil
	}}, h.register(weft.MethodLimit(2)))
	a, b := w.dial(nil), w.dial(nil)
	end := h.begin(t, a, t.Context(), 2)
	before := authenticated.Load()
	e := wantError(t, b.Call(t.Context(), "Held.Call", "what cannot be decoded", nil), weft.ResourceExhausted, weft.Refused, "MethodLimit")
	if wait, ok := e.RetryAfter(); e.Reason != weft.ReasonOverloadMethod || !ok || wait <= 0 {
		t.Errorf("reason %q, again after %v", e.Reason, wait)
	}
	if authenticated.Load() != before {
		t.Error("a call was authenticated before it was refused")
	}
	multiply(t, b) // other methods are not concerned
	s := w.srv.Stats()
	if s.Refused[weft.ReasonOverloadMethod] != 1 || len(s.Overload.Methods) != 1 || s.Overload.Methods[0].InFlight != 2 || s.Overload.Methods[0].Limit != 2 {
		t.Errorf("refused %v, overload %+v", s.Refused, s.Overload)
	}
	end()
	polltest.True(t, 10*time.Second, "no call is in flight", func() bool { return w.srv.Stats().Overload.InFlight == 0 })
	must(t, b.Call(t.Context(), "Held.Call", &Args{}, nil))
}

func TestMethodLimitIsChecked(t *testing.T) {
	s := weft.NewServer(nil)
	wantError(t, s.Register(Arith{}, weft.MethodLimit(0)), weft.InvalidArgument, weft.OutcomeUnknown, "limit of a method is 0")
	s = weft.NewServer(&weft.ServerConfig{Overload: weft.Overload{MaxInFlight: -1}})
	wantError(t, s.Register(Arith{}), weft.InvalidArgument, weft.OutcomeUnknown, "MaxInFlight is -1")
}

// The number of calls in flight is that of all connections, and leaves room by priority.
func TestMaxInFlight(t *testing.T) {
	h := newHeld()
	w := start(t, &weft.ServerConfig{Overload: weft.Overload{MaxInFlight: 9}}, h.register())
	a, b := w.dial(nil), w.dial(nil)
	ctx := t.Context()
	sheddable, critical := weft.WithPriority(ctx, weft.PrioritySheddable), weft.WithPriority(ctx, weft.PriorityCritical)
	refused := func(ctx context.Context) {
		t.Helper()
		if e := wantError(t, a.Call(ctx, "Held.Call", &Args{}, nil), weft.ResourceExhausted, weft.Refused, "MaxInFlight"); e.Reason != weft.ReasonOverloadWait {
			t.Errorf("reason %q", e.Reason)
		}
	}
	var wg sync.WaitGroup
	begin := func(c weft.Caller, ctx context.Context, n int) {
		for range n {
			wg.Go(func() {
				if err := c.Call(ctx, "Held.Call", &Args{}, nil); err != nil {
					t.Errorf("a call that was taken failed: %v", err)
				}
			})
		}
		for range n {
			<-h.begun
		}
	}
	begin(a, ctx, 3)
	begin(b, ctx, 3)
	refused(sheddable)
	begin(b, ctx, 3)
	refused(ctx)
	begin(a, critical, 8)
	refused(critical)
	close(h.release)
	wg.Wait()
}

// Neither a method without a limit nor a server without protection refuses calls.
func TestUnlimited(t *testing.T) {
	for _, c := range []struct {
		overload weft.Overload
		opts     []weft.MethodOption
	}{
		{weft.Overload{MaxInFlight: 1}, []weft.MethodOption{weft.MethodLimit(weft.Unlimited)}},
		{weft.Overload{MaxInFlight: 1, Off: true}, []weft.MethodOption{weft.MethodLimit(1)}},
	} {
		h := newHeld()
		w := start(t, &weft.ServerConfig{Overload: c.overload}, h.register(c.opts...))
		end := h.begin(t, w.dial(nil), t.Context(), 20)
		if s := w.srv.Stats().Overload; s.On == c.overload.Off || s.InFlight != 0 {
			t.Errorf("%+v", s)
		}
		end()
	}
}

// A stream counts while it is opened, not while it lasts.
func TestStreamsCountWhileTheyOpen(t *testing.T) {
	w := start(t, &weft.ServerConfig{Overload: weft.Overload{MaxInFlight: 1}}, func(s *weft.Server) error {
		return errors.Join(s.Register(Arith{}), weft.HandleStream(s, "Stream.Echo", func(_ context.Context, s *weft.Stream[Args, Args]) error {
			for {
				m, err := s.Recv()
				if err != nil {
					return err
				}
				if err := s.Send(m); err != nil {
					return err
				}
			}
		}))
	})
	c := w.dial(nil)
	for range 5 {
		s, err := weft.OpenStream[Args, Args](t.Context(), c, "Stream.Echo")
		must(t, err)
		must(t, s.Send(&Args{1, 2}))
		_, err = s.Recv()
		must(t, err)
	}
	multiply(t, c)
	if s := w.srv.Stats().Overload; s.InFlight != 0 {
		t.Errorf("%d calls are in flight while streams are open", s.InFlight)
	}
}

// A call's priority reaches the handler, and the calls that the handler makes; one that its caller has no
// right to does not.
func TestPriority(t *testing.T) {
	report := func(s *weft.Server) error {
		return weft.Handle(s, "Priority.Get", func(ctx context.Context, _ *Args) (*Product, error) {
			return &Product{int(weft.PriorityFrom(ctx))}, nil
		})
	}
	back := start(t, nil, report)
	next := back.dial(nil)
	front := func(cfg *weft.ServerConfig) *weft.Client {
		return start(t, cfg, func(s *weft.Server) error {
			return errors.Join(report(s), weft.Handle(s, "Priority.Pass", func(ctx context.Context, a *Args) (*Product, error) {
				ctx = weft.WithMetadata(ctx, "some", "thing")
				if a.A > 0 {
					ctx = weft.WithPriority(ctx, weft.Priority(a.B))
				}
				return weft.Invoke[Product](ctx, next, "Priority.Get", &Args{})
			}))
		}).dial(nil)
	}
	get := func(c *weft.Client, ctx context.Context, method string, args *Args, want weft.Priority) {
		t.Helper()
		p, err := weft.Invoke[Product](ctx, c, method, args)
		must(t, err)
		if weft.Priority(p.C) != want {
			t.Errorf("%s with %v: priority %v, want %v", method, weft.PriorityFrom(ctx), weft.Priority(p.C), want)
		}
	}
	ctx := t.Context()
	all := []weft.Priority{weft.PriorityDefault, weft.PriorityCritical, weft.PrioritySheddable}
	c := front(nil)
	for range 40 { // first on workers, then on the reader
		for _, p := range all {
			with := weft.WithPriority(weft.WithPriority(ctx, weft.PrioritySheddable), p)
			get(c, with, "Priority.Get", &Args{}, p)
			get(c, with, "Priority.Pass", &Args{}, p)
			get(c, with, "Priority.Pass", &Args{1, int(weft.PrioritySheddable)}, weft.PrioritySheddable)
		}
		get(c, ctx, "Priority.Pass", &Args{}, weft.PriorityDefault)
	}
	denied := front(&weft.ServerConfig{Overload: weft.Overload{MayBeCritical: func(*weft.Peer) bool { return false }}})
	unknown := front(&weft.ServerConfig{Authenticate: func(context.Context, weft.Credential, *weft.CallInfo) (any, error) { return nil, nil }})
	known := front(&weft.ServerConfig{AuthenticateConn: func(context.Context, weft.Credential, *weft.Peer) (any, error) { return "known", nil }})
	for _, p := range all {
		with, lowered := weft.WithPriority(ctx, p), p
		if p == weft.PriorityCritical {
			lowered = weft.PriorityDefault
		}
		get(denied, with, "Priority.Pass", &Args{}, lowered)
		get(unknown, with, "Priority.Pass", &Args{}, lowered)
		get(known, with, "Priority.Pass", &Args{}, p)
	}
	if p := weft.PriorityFrom(weft.WithPriority(ctx, weft.PriorityCritical)); p != weft.PriorityCritical {
		t.Errorf("a context has priority %v", p)
	}
}

// doorInbound is a call of the fake door.
type doorInbound struct {
	weft.Inbound
	failed chan *weft.Error
}

func (d doorInbound) Decode(any) error                    { return nil }
func (d doorInbound) Reply(any, weft.Metadata) error      { d.failed <- nil; return nil }
func (d doorInbound) Fail(e *weft.Error, _ weft.Metadata) { d.failed <- e }

// Calls that come through a door are counted with those of weft's own wire, and refused like them.
func TestOverloadOfDoors(t *testing.T) {
	h := newHeld()
	ended := make(chan *weft.Error, 8)
	cfg := doors(fakeDoor{
		match: func(b []byte) (bool, bool) { return b[0] == 'F', false },
		serve: func(c *weft.DoorConn) error {
			if _, err := c.Admit(weft.Credential{}, nil); err != nil {
				return err
			}
			for _, p := range []weft.Priority{weft.PrioritySheddable, weft.PriorityDefault} {
				if x := c.Begin(weft.Head{Method: "Held.Call", Codec: "json", Priority: p}, doorInbound{failed: ended}); x != nil {
					x.Run()
				}
			}
			return nil
		},
	})
	cfg.Overload = weft.Overload{MaxInFlight: 3}
	w := start(t, cfg, h.register())
	end := h.begin(t, w.dial(nil), t.Context(), 2)
	w.connect("F")
	if e := <-ended; e == nil || e.Reason != weft.ReasonOverloadWait || e.Outcome != weft.Refused {
		t.Errorf("the sheddable call ended with %v", e)
	}
	<-h.begun
	end()
	if e := <-ended; e != nil {
		t.Errorf("the other one ended with %v", e)
	}
	polltest.True(t, 10*time.Second, "no call is in flight", func() bool { return w.srv.Stats().Overload.InFlight == 0 })
}

// A method that waits for one of ten slots, at four times what these allow: nearly as many
// calls are answered in time as without overload, and afterwards all are.
func TestOverloadedPool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slots := make(chan struct{}, 10)
		w := start(t, nil, func(s *weft.Server) error {
			return weft.Handle(s, "Pool.Use", func(context.Context, *Args) (*Product, error) {
				slots <- struct{}{}
				time.Sleep(10 * time.Millisecond)
				<-slots
				return &Product{}, nil
			})
		})
		c := w.dial(nil)
		var wg sync.WaitGroup
		// drive makes calls at a rate, and counts those that were answered in time and refused.
		drive := func(rate int, for_ time.Duration) (good, refused int) {
			var g, r atomic.Int64
			for range int(for_.Seconds() * float64(rate)) {
				time.Sleep(time.Second / time.Duration(rate))
				wg.Go(func() {
					err := c.Call(t.Context(), "Pool.Use", &Args{}, nil, weft.WithTimeout(200*time.Millisecond))
					if e, ok := errors.AsType[*weft.Error](err); err == nil {
						g.Add(1)
					} else if ok && e.Outcome == weft.Refused && e.Code == weft.ResourceExhausted {
						r.Add(1)
					}
				})
			}
			wg.Wait()
			return int(g.Load()), int(r.Load())
		}
		if good, refused := drive(500, 2*time.Second); good != 1000 {
			t.Errorf("at half of the capacity %d of 1000 calls were answered, %d refused", good, refused)
		}
		drive(4000, time.Second)
		if good, _ := drive(4000, 3*time.Second); good < 2700 {
			t.Errorf("under overload %d calls were answered in time in 3 s, want nearly 3000", good)
		}
		s := w.srv.Stats().Overload
		if len(s.Decisions) == 0 || len(s.Methods) != 1 {
			t.Errorf("%+v", s)
		}
		drive(500, 3*time.Second)
		if good, refused := drive(500, time.Second); good != 500 {
			t.Errorf("three seconds after the overload %d of 500 calls were answered, %d refused", good, refused)
		}
		time.Sleep(time.Minute) // handlers end whose callers have given up
	})
}

// Five thousand callers of a method that sleeps are not refused.
func TestManySleepersAreTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, nil, func(s *weft.Server) error {
			return weft.Handle(s, "Sleep.Some", func(context.Context, *Args) (*Product, error) {
				time.Sleep(10 * time.Millisecond)
				return &Product{}, nil
			})
		})
		c := w.dial(nil)
		var wg sync.WaitGroup
		for range 5000 {
			wg.Go(func() {
				for range 5 {
					if err := c.Call(t.Context(), "Sleep.Some", &Args{}, nil); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		wg.Wait()
	})
}

// Handlers that panic, hang up or end their goroutine are counted out.
func TestOverloadCountsEveryEnd(t *testing.T) {
	w := start(t, nil, func(s *weft.Server) error {
		return weft.Handle(s, "Odd.End", func(ctx context.Context, a *Args) (*Product, error) {
			switch a.A % 3 {
			case 0:
				panic("on purpose")
			case 1:
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return nil, errors.New("an error")
		})
	})
	for range 3 {
		c := w.dial(&weft.ClientConfig{Timeout: 50 * time.Millisecond})
		var wg sync.WaitGroup
		for i := range 60 {
			wg.Go(func() { c.Call(t.Context(), "Odd.End", &Args{A: i}, nil) })
		}
		wg.Wait()
		if conn := w.last.Load(); conn != nil {
			conn.Close()
		}
	}
	polltest.Until(t, 10*time.Second, "no call is in flight", func() error {
		if s := w.srv.Stats().Overload; s.InFlight != 0 || len(s.Methods) != 0 {
			return fmt.Errorf("%+v", s)
		}
		return nil
	})
}
