package weft_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrpc/weft"
)

// probe is a service that tells what happened to its calls.
type probe struct {
	left  chan time.Duration // what was left of a call's deadline; below zero: it had none
	ended chan error         // why a call's context ended
}

func newProbe() *probe {
	return &probe{left: make(chan time.Duration, 10), ended: make(chan error, 10)}
}

func (p *probe) register(s *weft.Server) error {
	return errors.Join(
		weft.Handle(s, "Probe.Left", func(ctx context.Context, _ *Args) (*Product, error) {
			p.tell(ctx)
			return &Product{}, nil
		}),
		weft.Handle(s, "Probe.Hang", func(ctx context.Context, _ *Args) (*Product, error) {
			<-ctx.Done()
			p.ended <- ctx.Err()
			return nil, ctx.Err()
		}),
		weft.HandleStream(s, "Probe.HangStream", func(ctx context.Context, _ *weft.Stream[Args, Product]) error {
			p.tell(ctx)
			<-ctx.Done()
			p.ended <- ctx.Err()
			return ctx.Err()
		}),
		weft.HandleStream(s, "Probe.RecvStream", func(ctx context.Context, st *weft.Stream[Args, Product]) error {
			_, err := st.Recv()
			p.ended <- err
			return err
		}))
}

func (p *probe) tell(ctx context.Context) {
	if d, ok := ctx.Deadline(); ok {
		p.left <- time.Until(d)
	} else {
		p.left <- -1
	}
}

// The longest timeouts that there are leave a call all the time that it takes.
func TestLongestTimeouts(t *testing.T) {
	const longest = time.Duration(math.MaxInt64)
	limits := weft.Limits{
		WriteTimeout: longest, PingInterval: longest, PingIdle: longest, PingTimeout: longest, HandshakeTimeout: longest,
	}
	p := newProbe()
	w := start(t, &weft.ServerConfig{Timeout: longest, Limits: limits}, func(s *weft.Server) error {
		return errors.Join(p.register(s), s.Register(Arith{}, weft.MethodTimeout(longest)))
	})
	c := w.dial(&weft.ClientConfig{Timeout: longest, Limits: limits})
	var m weft.Metadata
	for _, opts := range [][]weft.CallOption{nil, {weft.WithReplyMetadata(&m)}, {weft.WithTimeout(longest)}} {
		must(t, c.Call(t.Context(), "Probe.Left", &Args{}, nil, opts...))
		if left := <-p.left; left < 24*time.Hour {
			t.Errorf("a call with the options %v has %v", opts, left)
		}
		multiply(t, c, opts...)
	}
	must(t, c.Ping(t.Context()))
	s, err := weft.OpenStream[Args, Product](t.Context(), w.dial(&weft.ClientConfig{Lazy: true, Timeout: longest}), "Probe.HangStream")
	must(t, err)
	must(t, s.Close())
}

// The deadline of a call is the earliest of those that it has, and the handler sees it.
func TestDeadline(t *testing.T) {
	const none = -1
	for _, tt := range []struct {
		name       string
		configured time.Duration // the client's
		context    time.Duration // 0: none
		option     time.Duration // 0: none
		want       time.Duration
	}{
		{"default", 0, 0, 0, weft.DefaultTimeout},
		{"configured", time.Second, 0, 0, time.Second},
		{"none configured", -1, 0, 0, none},
		{"context, shorter than configured", time.Minute, time.Second, 0, time.Second},
		{"context, longer than configured", time.Second, time.Minute, 0, time.Minute},
		{"option", 0, 0, 3 * time.Second, 3 * time.Second},
		{"option, longer than configured", time.Second, 0, 3 * time.Second, 3 * time.Second},
		{"option, shorter than the context", 0, time.Minute, 3 * time.Second, 3 * time.Second},
		{"option, longer than the context", 0, time.Second, 3 * time.Second, time.Second},
		{"option, as long as configured", 3 * time.Second, time.Minute, 3 * time.Second, 3 * time.Second},
		{"option of none", 0, 0, -1, none},
		{"option of none, context", 0, time.Second, -1, time.Second},
		{"two hours", 0, 2 * time.Hour, 0, 2 * time.Hour}, // travels in milliseconds
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newProbe()
				w := start(t, nil, p.register)
				for _, lazy := range []bool{false, true} {
					c := w.dial(&weft.ClientConfig{Timeout: tt.configured, Lazy: lazy})
					ctx := t.Context()
					if tt.context != 0 {
						var cancel context.CancelFunc
						ctx, cancel = context.WithTimeout(ctx, tt.context)
						defer cancel()
					}
					var opts []weft.CallOption
					if tt.option != 0 {
						opts = append(opts, weft.WithTimeout(tt.option))
					}
					must(t, c.Call(ctx, "Probe.Left", &Args{}, nil, opts...))
					if got := <-p.left; got != tt.want {
						t.Errorf("lazy %v: the handler had %v left, want %v", lazy, got, tt.want)
					}
				}
			})
		})
	}
}

func TestTimeoutEndsCall(t *testing.T) {
	for name, call := range map[string]func(ctx context.Context, c *weft.Client) error{
		"Call": func(ctx context.Context, c *weft.Client) error { return c.Call(ctx, "Probe.Hang", &Args{}, nil) },
		"Go": func(ctx context.Context, c *weft.Client) error {
			return (<-c.Go(ctx, "Probe.Hang", &Args{}, nil, nil).Done).Error
		},
		"WithTimeout": func(_ context.Context, c *weft.Client) error {
			return c.Call(context.Background(), "Probe.Hang", &Args{}, nil, weft.WithTimeout(time.Second))
		},
		"peer": func(ctx context.Context, c *weft.Client) error {
			return c.Peer().Call(ctx, "Probe.Hang", &Args{}, nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newProbe()
				c := start(t, nil, p.register).dial(nil)
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				began := time.Now()
				err := call(ctx, c)
				if d := time.Since(began); d != time.Second {
					t.Errorf("took %v, want 1s", d)
				}
				wantLate(t, err)
				if e, ok := errors.AsType[*weft.Error](err); !ok || e.Method != "Probe.Hang" || e.Peer == "" {
					t.Errorf("%+v", e)
				}
				if err := <-p.ended; !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("the handler's context ended with %v", err)
				}
			})
		})
	}
}

// wantLate checks that a call ended because its time was over. Its outcome is open:
// the handler's time is over at the same moment, and its answer may be in time.
func wantLate(t *testing.T, err error) {
	t.Helper()
	if !errors.Is(err, weft.DeadlineExceeded) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v, want DeadlineExceeded", err)
	}
}

// The default timeout ends a call that nothing else would end.
func TestDefaultTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, nil, newProbe().register).dial(nil)
		began := time.Now()
		err := c.Call(t.Context(), "Probe.Hang", &Args{}, nil)
		wantLate(t, err)
		if d := time.Since(began); d != weft.DefaultTimeout {
			t.Errorf("took %v", d)
		}
	})
}

// Cancelling, and losing the connection, reach the handler's context and the
// goroutines that wait on its stream.
func TestCancelReachesHandler(t *testing.T) {
	ends := map[string]func(cancel context.CancelFunc, c *weft.Client){
		"cancel":     func(cancel context.CancelFunc, _ *weft.Client) { cancel() },
		"disconnect": func(_ context.CancelFunc, c *weft.Client) { c.Close() },
	}
	calls := map[string]func(ctx context.Context, c *weft.Client) error{
		"unary": func(ctx context.Context, c *weft.Client) error {
			return c.Call(ctx, "Probe.Hang", &Args{}, nil, weft.WithTimeout(-1))
		},
		"stream": func(ctx context.Context, c *weft.Client) error {
			return drainStream(ctx, c, "Probe.HangStream")
		},
		"stream in Recv": func(ctx context.Context, c *weft.Client) error {
			return drainStream(ctx, c, "Probe.RecvStream")
		},
	}
	for how, end := range ends {
		for what, call := range calls {
			t.Run(how+" "+what, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					p := newProbe()
					c := start(t, nil, p.register).dial(nil)
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					ended := make(chan error, 1)
					go func() { ended <- call(ctx, c) }() // this goroutine ends with the call
					synctest.Wait()
					end(cancel, c)
					err := <-ended
					wantError(t, err, weft.Canceled, weft.OutcomeUnknown)
					if how == "cancel" && !errors.Is(err, context.Canceled) {
						t.Errorf("errors.Is does not find context.Canceled in %v", err)
					}
					if err := <-p.ended; err == nil || what == "unary" && !errors.Is(err, context.Canceled) {
						t.Errorf("the handler saw %v", err)
					}
				})
			})
		}
	}
}

// drainStream opens a stream and receives from it to its end.
func drainStream(ctx context.Context, c weft.StreamCaller, method string) error {
	s, err := weft.OpenStream[Args, Product](ctx, c, method)
	if err != nil {
		return err
	}
	for {
		if _, err := s.Recv(); err != nil {
			return err
		}
	}
}

// A stream has the deadline of its context or option, and none otherwise.
func TestStreamDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProbe()
		c := start(t, nil, p.register).dial(nil)
		ctx, cancel := context.WithCancel(t.Context())
		_, err := weft.OpenStream[Args, Product](ctx, c, "Probe.HangStream")
		must(t, err)
		if left := <-p.left; left != -1 {
			t.Errorf("%v left, want no deadline", left)
		}
		cancel()
		<-p.ended

		for name, open := range map[string]func() (*weft.Stream[Product, Args], error){
			"context": func() (*weft.Stream[Product, Args], error) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				t.Cleanup(cancel)
				return weft.OpenStream[Args, Product](ctx, c, "Probe.HangStream")
			},
			"option": func() (*weft.Stream[Product, Args], error) {
				return weft.OpenStream[Args, Product](t.Context(), c, "Probe.HangStream", weft.WithTimeout(time.Second))
			},
			"option, as long as the default": func() (*weft.Stream[Product, Args], error) {
				return weft.OpenStream[Args, Product](t.Context(), c, "Probe.HangStream", weft.WithTimeout(weft.DefaultTimeout))
			},
		} {
			s, err := open()
			must(t, err)
			if left := <-p.left; left <= 0 {
				t.Errorf("%s: the handler has no deadline", name)
			}
			_, err = s.Recv()
			wantLate(t, err)
			<-p.ended
		}
	})
}

// What a handler calls has no more time than the handler itself.
func TestNestedCallInheritsDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProbe()
		back := start(t, nil, p.register)
		inner := back.dial(nil)
		front := start(t, nil, func(s *weft.Server) error {
			return weft.Handle(s, "Front.Relay", func(ctx context.Context, a *Args) (*Product, error) {
				time.Sleep(time.Second)
				if err := inner.Call(ctx, "Probe.Left", a, nil); err != nil {
					return nil, err
				}
				return &Product{}, inner.Call(ctx, "Probe.Hang", a, nil, weft.WithTimeout(time.Hour))
			})
		})
		err := front.dial(nil).Call(t.Context(), "Front.Relay", &Args{}, nil, weft.WithTimeout(3*time.Second))
		wantLate(t, err)
		if left := <-p.left; left != 2*time.Second {
			t.Errorf("the nested call had %v left, want 2s", left)
		}
		if err := <-p.ended; !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the nested handler's context ended with %v", err)
		}
	})
}

// Work whose time is over before it begins is refused, not run.
func TestExpiredCallIsNotRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l ledger
		w := start(t, nil, func(s *weft.Server) error { return s.RegisterName("Ledger", &l) })
		c := w.dial(nil)
		in := w.last.Load().Out()
		in.Stall()
		err := c.Call(t.Context(), "Ledger.Book", &Args{}, nil, weft.WithTimeout(time.Second))
		wantError(t, err, weft.DeadlineExceeded, weft.OutcomeUnknown)
		synctest.Wait() // the cancellation is written by another goroutine
		in.Resume()     // the call and its cancellation arrive together
		synctest.Wait()
		time.Sleep(time.Second)
		if n := l.booked.Load(); n != 0 {
			t.Errorf("the handler of a call that was over ran %d times", n)
		}
	})
}

// A handler's context that is kept too long has ended, and is never another call's.
func TestContextAfterHandler(t *testing.T) {
	var kept []context.Context
	w := start(t, nil, func(s *weft.Server) error {
		return weft.Handle(s, "Keep.Context", func(ctx context.Context, _ *Args) (*Product, error) {
			kept = append(kept, ctx)
			if ctx.Err() != nil {
				t.Errorf("the context ended early: %v", ctx.Err())
			}
			return &Product{}, nil
		})
	})
	c := w.dial(nil)
	for i := range 100 {
		ctx := weft.WithMetadata(t.Context(), "call", fmt.Sprint(i))
		must(t, c.Call(ctx, "Keep.Context", &Args{}, nil))
	}
	for i, ctx := range kept {
		ended := make(chan struct{})
		context.AfterFunc(ctx, func() { close(ended) })
		<-ended
		<-ctx.Done()
		if !errors.Is(ctx.Err(), context.Canceled) {
			t.Errorf("call %d: %v", i, ctx.Err())
		}
		if got := weft.MetadataFrom(ctx).Get("call"); got != fmt.Sprint(i) {
			t.Errorf("the context of call %d is that of call %s", i, got)
		}
		if err := c.Call(ctx, "Keep.Context", &Args{}, nil); !errors.Is(err, weft.Canceled) {
			t.Errorf("a call with it: %v", err)
		}
		must(t, weft.SetReplyMetadata(ctx, "too", "late"))
		wantText(t, fmt.Sprint(ctx), "Keep.Context")
	}
}
