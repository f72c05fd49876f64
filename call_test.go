package weft_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/transport"
	"github.com/weftrpc/weft/transport/mem"
	"github.com/weftrpc/weft/transport/tcp"
	"github.com/weftrpc/weft/transport/unix"
)

func TestCallOverEveryTransport(t *testing.T) {
	network := mem.New()
	all := []transport.Transport{network, tcp.New(nil), unix.New(nil)}
	for _, addr := range []string{"mem://server", "tcp://127.0.0.1:0", "127.0.0.1:0", "unix://" + filepath.Join(t.TempDir(), "s")} {
		t.Run(addr, func(t *testing.T) {
			srv := weft.NewServer(&weft.ServerConfig{Transports: all})
			must(t, srv.Register(Arith{}))
			if !strings.Contains(addr, "://") {
				addr = strings.TrimPrefix(serve(t, srv, "tcp://"+addr), "tcp://")
			} else {
				addr = serve(t, srv, addr)
			}
			c := dial(t, addr, &weft.ClientConfig{Transports: all})
			multiply(t, c)
			var wg sync.WaitGroup
			for range 20 {
				wg.Go(func() {
					for range 10 {
						multiply(t, c)
					}
				})
			}
			wg.Wait()
		})
	}
}

func TestCallForms(t *testing.T) {
	ctx := t.Context()
	w := start(t, nil, nil)
	c := w.dial(nil)

	var p Product
	must(t, c.Call(ctx, "Arith.Mul", &Args{7, 8}, &p))
	must(t, c.Call(ctx, "Arith.Mul", Args{7, 8}, &p)) // values do as well
	if p.C != 56 {
		t.Errorf("Call: %v", p)
	}
	must(t, c.Call(ctx, "Arith.Mul", &Args{7, 8}, nil)) // the reply is thrown away
	must(t, c.Peer().Call(ctx, "Arith.Div", &Args{7, 8}, &p))
	if p.C != 0 {
		t.Errorf("what a reply held before shows in the result: %v", p)
	}
	if p, err := weft.Invoke[Product](ctx, c, "Arith.Div", &Args{1, 0}); p != nil || err == nil {
		t.Errorf("Invoke: %v, %v", p, err)
	}
	wantError(t, c.Call(ctx, "Arith.Mul", &Args{7, 8}, p), weft.InvalidArgument, weft.NotSent, "want a pointer or nil")
	wantError(t, c.Call(ctx, "Arith.Mul", nil, &p), weft.InvalidArgument, weft.NotSent, "the arguments are nil")
	wantError(t, c.Call(ctx, "Arith.Mul", (*Args)(nil), &p), weft.InvalidArgument, weft.NotSent, "a nil *weft_test.Args")
	wantError(t, c.Call(ctx, "Arith.Mul", func() {}, &p), weft.InvalidArgument, weft.NotSent, "cannot carry a request of type func()")
	multiply(t, c)
}

// A method name that cannot travel fails its call, and only that.
func TestCallBadMethodName(t *testing.T) {
	w := start(t, nil, nil)
	c := w.dial(nil)
	peer := c.Peer()
	for _, name := range []string{"", "Arith Mul", "Arith.Mul\n", "\x00", "Arith.\xff", strings.Repeat("x", 256)} {
		err := c.Call(t.Context(), name, &Args{}, nil)
		if e := wantError(t, err, weft.InvalidArgument, weft.NotSent, "method name"); e.Method != name {
			t.Errorf("method %q, want %q", e.Method, name)
		}
		_, err = weft.OpenStream[Args, Product](t.Context(), c, name)
		wantError(t, err, weft.InvalidArgument, weft.NotSent, "method name")
	}
	multiply(t, c)
	if c.Peer() != peer {
		t.Error("the connection was lost")
	}
}

func TestGo(t *testing.T) {
	ctx := t.Context()
	w := start(t, nil, nil)
	c := w.dial(nil)

	call := <-c.Go(ctx, "Arith.Mul", &Args{7, 8}, new(Product), nil).Done
	if call.Error != nil || call.Method != "Arith.Mul" || *call.Args.(*Args) != (Args{7, 8}) || call.Reply.(*Product).C != 56 {
		t.Errorf("%+v", call)
	}
	call = <-c.Go(ctx, "Arith.Div", &Args{7, 0}, new(Product), nil).Done
	wantError(t, call.Error, weft.InvalidArgument, weft.Executed, "division by zero")
	call = <-c.Go(ctx, "Arith.Mul", func() {}, new(Product), nil).Done
	wantError(t, call.Error, weft.InvalidArgument, weft.NotSent, "encode")
	call = <-c.Go(ctx, "Arith.Mul", &Args{}, nil, nil, weft.WithTimeout(0)).Done
	wantError(t, call.Error, weft.InvalidArgument, weft.NotSent, "timeout of zero")
	ended, cancel := context.WithCancel(ctx)
	cancel()
	call = <-c.Go(ended, "Arith.Mul", &Args{}, nil, nil).Done
	wantError(t, call.Error, weft.Canceled, weft.NotSent)

	// Many calls share a channel with room for them.
	const many = 1000
	done := make(chan *weft.Call, many)
	for i := range many {
		if got := c.Go(ctx, "Arith.Mul", &Args{i, 2}, new(Product), done); got.Done != done {
			t.Fatal("Done is not the channel that was given")
		}
	}
	for range many {
		call := <-done
		must(t, call.Error)
		if a, p := call.Args.(*Args), call.Reply.(*Product); p.C != 2*a.A {
			t.Errorf("%d × 2 = %d", a.A, p.C)
		}
	}
	// A call for which the channel has no room is not sent to it, as in net/rpc, and blocks nothing.
	full := make(chan *weft.Call, 1)
	full <- nil
	c.Go(ctx, "Arith.Mul", &Args{}, new(Product), full)
	multiply(t, c)
}

// Go takes every way that Call takes: options, interceptors, no connection yet.
func TestGoTheOtherWays(t *testing.T) {
	ctx := t.Context()
	w := start(t, nil, nil)
	var seen atomic.Int32
	for name, cfg := range map[string]*weft.ClientConfig{
		"lazy": {Lazy: true},
		"intercepted": {Interceptors: []weft.UnaryInterceptor{
			func(ctx context.Context, info *weft.CallInfo, req any, next weft.UnaryFunc) (any, error) {
				seen.Add(1)
				return next(ctx, info, req)
			}}},
	} {
		t.Run(name, func(t *testing.T) {
			var meta weft.Metadata
			call := <-w.dial(cfg).Go(ctx, "Arith.Mul", &Args{7, 8}, new(Product), nil, weft.WithReplyMetadata(&meta)).Done
			if call.Error != nil || call.Reply.(*Product).C != 56 {
				t.Errorf("%+v", call)
			}
		})
	}
	if seen.Load() != 1 {
		t.Errorf("the interceptor ran %d times", seen.Load())
	}
}

// ledger counts what its methods do.
type ledger struct{ booked, running atomic.Int32 }

func (l *ledger) Book(ctx context.Context, a *Args) (*Product, error) {
	l.running.Add(1)
	defer l.running.Add(-1)
	select {
	case <-time.After(time.Duration(a.A) * time.Millisecond):
		l.booked.Add(1)
		return &Product{a.B}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// 1000 callers of a method that takes 10 ms all run at once, on one connection.
func TestManyAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l ledger
		w := start(t, nil, func(s *weft.Server) error { return s.RegisterName("Ledger", &l) })
		c := w.dial(&weft.ClientConfig{MaxConns: 1})
		began := time.Now()
		var wg sync.WaitGroup
		for i := range 1000 {
			wg.Go(func() {
				p, err := weft.Invoke[Product](t.Context(), c, "Ledger.Book", &Args{10, i})
				if err != nil || p.C != i {
					t.Error(p, err)
				}
			})
		}
		wg.Wait()
		// Calls that came in one read may wait for one another until the monitor sees it.
		if d := time.Since(began); d > 50*time.Millisecond {
			t.Errorf("took %v", d)
		}
	})
}

// One caller's cancel never touches another's call.
func TestCancelIsForOneCall(t *testing.T) {
	var l ledger
	w := start(t, nil, func(s *weft.Server) error { return s.RegisterName("Ledger", &l) })
	c := w.dial(&weft.ClientConfig{MaxConns: 1})
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() { // gives up: before, while, and after its call is sent
			ctx, cancel := context.WithCancel(t.Context())
			switch i % 3 {
			case 0:
				cancel()
			case 1:
				go cancel() // this goroutine ends at once
			default:
				time.AfterFunc(time.Millisecond, cancel)
			}
			defer cancel()
			err := c.Call(ctx, "Ledger.Book", &Args{A: 60_000}, nil)
			if !errors.Is(err, context.Canceled) {
				t.Errorf("cancelled call: %v", err)
			}
		})
		wg.Go(func() {
			for n := range 10 {
				p, err := weft.Invoke[Product](t.Context(), c, "Ledger.Book", &Args{1, n})
				if err != nil || p.C != n {
					t.Errorf("innocent call: %v, %v", p, err)
				}
			}
		})
	}
	wg.Wait()
}

// A reply that cannot be decoded fails its call; calls beside it go on.
func TestUndecodableReplyIsForOneCall(t *testing.T) {
	ctx := t.Context()
	var l ledger
	w := start(t, nil, func(s *weft.Server) error { return s.RegisterName("Ledger", &l) })
	c := w.dial(&weft.ClientConfig{MaxConns: 1})
	done := make(chan *weft.Call, 100)
	for i := range 100 {
		c.Go(ctx, "Ledger.Book", &Args{5, i}, new(Product), done)
		var text string
		err := c.Call(ctx, "Ledger.Book", &Args{}, &text)
		wantError(t, err, weft.Internal, weft.Executed, "decode the reply with codec msgpack")
	}
	for range 100 {
		must(t, (<-done).Error)
	}
}

// No context is too odd: a shared one, one with values, one that is over.
func TestContexts(t *testing.T) {
	w := start(t, nil, nil)
	c := w.dial(nil)
	over, cancel := context.WithCancelCause(t.Context())
	cancel(fmt.Errorf("a reason"))
	err := c.Call(over, "Arith.Mul", &Args{}, nil)
	wantError(t, err, weft.Canceled, weft.NotSent, "before the call was sent")
	if !errors.Is(err, context.Canceled) {
		t.Error("errors.Is does not find context.Canceled")
	}
	late, cancelLate := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer cancelLate()
	err = c.Call(late, "Arith.Mul", &Args{}, nil)
	wantError(t, err, weft.DeadlineExceeded, weft.NotSent)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Error("errors.Is does not find context.DeadlineExceeded")
	}
}

// What is wrong with a call by itself is found before anything is sent.
func TestWrongCalls(t *testing.T) {
	c := start(t, nil, nil).dial(nil)
	wantError(t, c.Call(t.Context(), "Arith.Mul", &Args{}, (*Product)(nil)), weft.InvalidArgument, weft.NotSent, "the reply is a nil *weft_test.Product")
	wantError(t, c.Call(t.Context(), "Arith.Mul", &Args{}, nil, nil), weft.InvalidArgument, weft.NotSent, "call option 0 is nil")
	_, err := weft.Subscribe[Product, Args](t.Context(), c, "Stream.Mul", nil)
	wantError(t, err, weft.InvalidArgument, weft.NotSent, "the arguments are a nil *weft_test.Args")
	_, err = weft.Dial(t.Context(), "", nil)
	wantError(t, err, weft.InvalidArgument, 0, "the address is empty")
	srv := weft.NewServer(nil)
	_, err = srv.Listen(t.Context(), "")
	wantError(t, err, weft.InvalidArgument, 0, "the address is empty")
	must(t, srv.Close())
	defer func() {
		if p := recover(); p == nil {
			t.Error("Go took a channel without room")
		}
	}()
	c.Go(t.Context(), "Arith.Mul", &Args{}, nil, make(chan *weft.Call))
}
