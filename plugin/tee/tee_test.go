package tee_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/internal/polltest"
	"github.com/weftrpc/weft/plugin/internal/plugintest"
	"github.com/weftrpc/weft/plugin/tee"
)

// shadow is a server that gets copies, and answers some of them differently.
type shadow struct {
	*plugintest.World
	mu    sync.Mutex
	calls []string
	hold  chan struct{} // while it is open, calls wait; nil: they do not
}

func newShadow(t *testing.T, hold chan struct{}) *shadow {
	s := &shadow{hold: hold}
	s.World = plugintest.Serve(t, &weft.ServerConfig{Interceptors: []weft.UnaryInterceptor{
		func(ctx context.Context, info *weft.CallInfo, req any, next weft.UnaryFunc) (any, error) {
			s.mu.Lock()
			s.calls = append(s.calls, fmt.Sprintf("%s %s %s", info.Method, weft.MetadataFrom(ctx).Get(tee.Mark), weft.MetadataFrom(ctx).Get("tenant")))
			s.mu.Unlock()
			if s.hold != nil {
				select {
				case <-s.hold:
				case <-ctx.Done():
				}
			}
			reply, err := next(ctx, info, req)
			if a, ok := req.(*plugintest.Args); ok && a.A == 13 {
				return &plugintest.Result{C: -1}, nil
			}
			return reply, err
		}}})
	return s
}

func (s *shadow) seen() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.calls...)
}

func open(t *testing.T, cfg *tee.Config) *tee.Tee {
	t.Helper()
	x, err := tee.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(x.Close)
	return x
}

// total waits for n copies and returns their figures together.
func total(t *testing.T, x *tee.Tee, n uint64) (all tee.MethodStats) {
	t.Helper()
	polltest.Until(t, time.Minute, fmt.Sprintf("%d copies", n), func() error {
		all = tee.MethodStats{}
		for _, m := range x.Stats().Methods {
			all.Copies += m.Copies
			all.Equal += m.Equal
			all.Different += m.Different
			all.Unreached += m.Unreached
		}
		if all.Copies != n {
			return fmt.Errorf("%+v", all)
		}
		return nil
	})
	return all
}

// Idempotent calls over weft's own wire and a door are copied, and nothing else; answers are compared.
func TestServer(t *testing.T) {
	s := newShadow(t, nil)
	x := open(t, &tee.Config{Target: s.Dial(t, nil), Percent: 100, Metadata: []string{"tenant"}, Values: true})
	w := plugintest.Serve(t, &weft.ServerConfig{Plugins: []weft.Plugin{x.Plugin()}})
	c := w.Dial(t, nil)
	if err := c.Call(t.Context(), "Arith.Mul", &plugintest.Args{}, nil); err != nil {
		t.Fatal(err)
	}
	x.Server(w.Server) // until then no method is known to be idempotent
	ctx := weft.WithMetadata(t.Context(), "tenant", "blue", "secret", "x")
	for _, a := range []int{2, 3, 13} {
		if r, err := weft.Invoke[plugintest.Result](ctx, c, "Arith.Mul", &plugintest.Args{A: a, B: 2}); err != nil || r.C != 2*a {
			t.Fatal(r, err)
		}
	}
	_ = c.Call(ctx, "Arith.Fail", &plugintest.Args{A: 5}, nil)
	_ = c.Notify(ctx, "Arith.Mul", &plugintest.Args{})
	_, _ = plugintest.Count(ctx, c, 3)
	if err := c.Call(weft.WithMetadata(ctx, tee.Mark, "1"), "Arith.Mul", &plugintest.Args{}, nil); err != nil {
		t.Fatal(err)
	}
	if err := w.DialDoor(t).Call("Arith.Mul", &plugintest.Args{A: 4}, &plugintest.Result{}); err != nil {
		t.Fatal(err)
	}
	if got := total(t, x, 4); got.Equal != 3 || got.Different != 1 || got.Unreached != 0 {
		t.Errorf("%+v", got)
	}
	m := x.Mismatches()
	if len(m) != 1 || m[0].Method != "Arith.Mul" || fmt.Sprint(m[0].Differences) != "[{C 26 -1}]" {
		t.Errorf("%+v", m)
	}
	if got := x.Stats().Methods[0].Agreement(); got != 0.75 {
		t.Errorf("agreement %v", got)
	}
	blue := 0
	for _, call := range s.seen() {
		switch call {
		case "Arith.Mul 1 blue":
			blue++
		case "Arith.Mul 1 ": // through the door
		default:
			t.Errorf("the copy %q", call)
		}
	}
	if blue != 3 {
		t.Error(s.seen())
	}
}

// On a client the methods are named. Codes are compared too; what is ignored is not.
func TestClient(t *testing.T) {
	s := newShadow(t, nil)
	x := open(t, &tee.Config{Target: s.Dial(t, nil), Percent: 100, Methods: []string{"Arith.Mul", "Arith.Fail"}, Ignore: []string{"C"}, Oneway: true})
	c := plugintest.Serve(t, nil).Dial(t, &weft.ClientConfig{Plugins: []weft.Plugin{x.Plugin()}})
	var r plugintest.Result
	if err := c.Call(t.Context(), "Arith.Mul", &plugintest.Args{A: 13, B: 2}, &r); err != nil || r.C != 26 {
		t.Fatal(r, err)
	}
	plugintest.IsError(t, c.Call(t.Context(), "Arith.Fail", &plugintest.Args{A: 5}, nil), weft.NotFound, weft.Executed)
	plugintest.IsError(t, c.Call(t.Context(), "Arith.Fail", &plugintest.Args{A: 13}, nil), weft.Internal, weft.Executed)
	if err := c.Notify(t.Context(), "Arith.Mul", &plugintest.Args{}); err != nil {
		t.Fatal(err)
	}
	if got := total(t, x, 4); got.Equal != 2 || got.Different != 1 || got.Unreached != 0 {
		t.Errorf("%+v, %+v", got, x.Mismatches())
	}
	if m := x.Mismatches(); len(m) != 1 || m[0].Code != weft.Internal || m[0].CopyCode != 0 {
		t.Errorf("%+v", m)
	}
	if err := x.SetPercent(0); err != nil {
		t.Fatal(err)
	}
	if err := c.Call(t.Context(), "Arith.Mul", &plugintest.Args{}, nil); err != nil {
		t.Fatal(err)
	}
	if x.SetPercent(101) == nil {
		t.Error("101 percent are accepted")
	}
	total(t, x, 4)
}

// A target that hangs, or is not there, costs the original nothing: what does not fit is dropped.
func TestTargetHangs(t *testing.T) {
	s := newShadow(t, make(chan struct{}))
	x := open(t, &tee.Config{Target: s.Dial(t, nil), Percent: 100, Methods: []string{"*"}, Queue: 3, Workers: 1, Timeout: time.Hour})
	c := plugintest.Serve(t, &weft.ServerConfig{Plugins: []weft.Plugin{x.Plugin()}}).Dial(t, nil)
	for range 20 {
		if err := c.Call(t.Context(), "Arith.Mul", &plugintest.Args{}, nil); err != nil {
			t.Fatal(err)
		}
	}
	if n := x.Stats().Dropped; n < 16 {
		t.Errorf("%d copies were dropped", n)
	}
	x.Close() // while one hangs
	if err := c.Call(t.Context(), "Arith.Mul", &plugintest.Args{}, nil); err != nil {
		t.Fatal(err)
	}

	gone := s.Dial(t, nil)
	gone.Close()
	x = open(t, &tee.Config{Target: gone, Percent: 100, Methods: []string{"*"}, MaxBytes: 1 << 10})
	c = plugintest.Serve(t, &weft.ServerConfig{Plugins: []weft.Plugin{x.Plugin()}}).Dial(t, nil)
	if err := c.Call(t.Context(), "Arith.Mul", &plugintest.Args{}, nil); err != nil {
		t.Fatal(err)
	}
	if got := total(t, x, 1); got.Unreached != 1 {
		t.Errorf("%+v", got)
	}
}

// fragile panics when a value that it does not know is written as JSON.
type fragile struct{ N int }

func (f fragile) MarshalJSON() ([]byte, error) {
	if f.N == 3 {
		panic("as asked")
	}
	return []byte("1"), nil
}

// An answer with which the type of the reply panics is one that differs.
func TestPanic(t *testing.T) {
	answer := func(n int) func(context.Context, *string) (*fragile, error) {
		return func(context.Context, *string) (*fragile, error) { return &fragile{n}, nil }
	}
	next, now := plugintest.Serve(t, nil), plugintest.Serve(t, nil)
	x := open(t, &tee.Config{Target: next.Dial(t, nil), Percent: 100, Methods: []string{"*"}})
	if err := errors.Join(weft.Handle(next.Server, "Fragile.Get", answer(3)), weft.Handle(now.Server, "Fragile.Get", answer(1))); err != nil {
		t.Fatal(err)
	}
	c := now.Dial(t, &weft.ClientConfig{Plugins: []weft.Plugin{x.Plugin()}})
	for n := range uint64(3) {
		if r, err := weft.Invoke[fragile](t.Context(), c, "Fragile.Get", new("")); err != nil || r.N != 1 {
			t.Fatal(r, err)
		}
		polltest.True(t, time.Minute, "the copy is made", func() bool {
			s := x.Stats()
			return len(s.Methods) > 0 && s.Methods[0].Different == n+1
		})
	}
	x.Close()
	if err := x.SetPercent(100); err != nil {
		t.Fatal(err)
	}
	before := x.Stats()
	if _, err := weft.Invoke[fragile](t.Context(), c, "Fragile.Get", new("")); err != nil {
		t.Fatal(err)
	}
	if after := x.Stats(); after.Dropped != before.Dropped || after.Unreadable != before.Unreadable {
		t.Errorf("a Tee that is closed has counted a call: %+v", after)
	}
}

func TestWrongConfig(t *testing.T) {
	c := plugintest.Serve(t, nil).Dial(t, nil)
	for _, cfg := range []*tee.Config{nil, {Percent: 1}, {Target: c}, {Target: c, Percent: 101}, {Target: c, Percent: 1, Methods: []string{"x"}},
		{Target: c, Percent: 1, Ignore: []string{"."}}, {Target: c, Percent: 1, Queue: -1}, {Target: c, Percent: 1, Metadata: []string{"Authorization"}}} {
		if x, err := tee.New(cfg); err == nil {
			x.Close()
			t.Errorf("%+v is accepted", cfg)
		}
	}
}

// A copy waits with a method and metadata of its own: the caller's may be in memory that is used again when its call has ended.
func TestMemoryUsedAgain(t *testing.T) {
	hold := make(chan struct{})
	s := newShadow(t, hold)
	x := open(t, &tee.Config{Target: s.Dial(t, nil), Percent: 100, Methods: []string{"Arith.Mul", "Arith.Fail"}, Metadata: []string{"tenant"}, Workers: 1})
	c := plugintest.Serve(t, nil).Dial(t, &weft.ClientConfig{Plugins: []weft.Plugin{x.Plugin()}})
	memory := []byte("Arith.Mulblue")
	method, tenant := unsafe.String(&memory[0], 9), unsafe.String(&memory[9], 4)
	for range 3 { // the worker has one at most
		copy(memory, "Arith.Mulblue")
		if err := c.Call(weft.WithMetadata(t.Context(), "tenant", tenant), method, &plugintest.Args{A: 1, B: 2}, nil); err != nil {
			t.Fatal(err)
		}
		copy(memory, "Arith.Xyzpink")
	}
	close(hold)
	if got := total(t, x, 3); got.Equal != 3 || len(x.Stats().Methods) != 1 {
		t.Errorf("%+v", x.Stats())
	}
	for _, call := range s.seen() {
		if call != "Arith.Mul 1 blue" {
			t.Errorf("the copy %q", call)
		}
	}
}
