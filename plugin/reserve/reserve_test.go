package reserve_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/plugin/internal/plugintest"
	"github.com/weftrpc/weft/plugin/reserve"
)

func plugin(t *testing.T, cfg reserve.Config) weft.Plugin {
	t.Helper()
	r, err := reserve.New(&cfg)
	if err != nil {
		t.Fatal(err)
	}
	return r.Plugin()
}

// The handler ends before its caller gives up, so that the caller gets the handler's error; a call
// that needs more time than it has is refused.
func TestServer(t *testing.T) {
	p := plugin(t, reserve.Config{Percent: 10, AtMost: time.Hour, AtLeast: time.Minute, Needs: map[string]time.Duration{"Arith.Mul": 10 * time.Minute}})
	w := plugintest.Serve(t, &weft.ServerConfig{Plugins: []weft.Plugin{p}})
	left := make(chan time.Duration, 1)
	if err := weft.Handle(w.Server, "Time.Left", func(ctx context.Context, _ *string) (*string, error) {
		until, _ := ctx.Deadline()
		left <- time.Until(until)
		return new(string), nil
	}); err != nil {
		t.Fatal(err)
	}
	c := w.Dial(t, nil)
	if err := c.Call(t.Context(), "Time.Left", new(string), nil, weft.WithTimeout(2*time.Hour)); err != nil {
		t.Fatal(err)
	}
	if d := <-left; d > 108*time.Minute || d < 60*time.Minute {
		t.Errorf("of 2 hours the handler has %v", d)
	}
	e := plugintest.IsError(t, c.Call(t.Context(), "Arith.Mul", &plugintest.Args{}, nil, weft.WithTimeout(11*time.Minute)), weft.DeadlineExceeded, weft.Refused)
	if after, ok := e.RetryAfter(); e.Reason != reserve.Reason || !ok || after >= 0 {
		t.Error(e)
	}
	if err := c.Call(t.Context(), "Arith.Mul", &plugintest.Args{}, nil, weft.WithTimeout(30*time.Minute)); err != nil {
		t.Error(err)
	}
	plugintest.IsError(t, c.Call(t.Context(), "Arith.Sleep", &plugintest.Args{}, nil, weft.WithTimeout(50*time.Second)), weft.DeadlineExceeded, weft.Refused)
	if n, err := plugintest.Count(t.Context(), c, 3); n != 3 || err != nil { // it has no deadline
		t.Error(n, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Second)
	defer cancel()
	if _, err := plugintest.Count(ctx, c, 3); !errors.Is(err, weft.DeadlineExceeded) || ctx.Err() != nil {
		t.Error(err)
	}
	if err := w.DialDoor(t).Call("Arith.Sleep", &plugintest.Args{}, &plugintest.Result{}); err == nil { // 10 s by default
		t.Error("through the door a call with too little time is not refused")
	}
}

// A handler that takes too long fails while its caller still waits.
func TestLate(t *testing.T) {
	p := plugin(t, reserve.Config{AtLeast: time.Hour - 100*time.Millisecond, AtMost: time.Hour})
	c := plugintest.Serve(t, &weft.ServerConfig{Plugins: []weft.Plugin{p}}).Dial(t, nil)
	plugintest.IsError(t, c.Call(t.Context(), "Arith.Sleep", &plugintest.Args{A: 600_000}, nil, weft.WithTimeout(time.Hour)), weft.DeadlineExceeded, weft.Executed)
}

// The time that a method needs is learned from the calls that went well, and learned anew.
func TestLearn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := plugin(t, reserve.Config{Learn: true})
		hook := p.Hooks[0].(weft.BeforeReadRequestBodyHook)
		info := &weft.CallInfo{Method: "Arith.Mul"}
		tried := func(timeout time.Duration) bool {
			ctx, cancel := context.WithTimeout(t.Context(), timeout)
			defer cancel()
			return hook.BeforeReadRequestBody(ctx, info) == nil
		}
		run := func(took time.Duration) {
			_, _ = p.Server(t.Context(), info, nil, func(context.Context, *weft.CallInfo, any) (any, error) {
				time.Sleep(took)
				return 1, nil
			})
		}
		if !tried(time.Millisecond) {
			t.Error("refused before anything is known")
		}
		for i := range 1000 { // half of them take 100 ms, the others more
			run(100*time.Millisecond + time.Duration(i%2)*time.Second)
		}
		if !tried(150 * time.Millisecond) {
			t.Error("a call with time enough is refused")
		}
		let := 0
		for range 320 {
			if tried(50 * time.Millisecond) {
				let++
			}
		}
		if let != 10 {
			t.Errorf("%d of 320 calls with too little time were tried", let)
		}
		for range 500 {
			run(10 * time.Millisecond)
		}
		if !tried(50 * time.Millisecond) {
			t.Error("the method has become faster, which was not noticed")
		}
	})
}

func TestWrongConfig(t *testing.T) {
	for _, cfg := range []*reserve.Config{nil, {}, {Percent: 91}, {AtLeast: -1}, {AtLeast: 2, AtMost: 1}, {Percent: 1, Methods: []string{"x"}},
		{Needs: map[string]time.Duration{"A.B": 0}}} {
		if _, err := reserve.New(cfg); err == nil {
			t.Errorf("%+v is accepted", cfg)
		}
	}
}
