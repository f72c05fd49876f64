package fault_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/plugin/fault"
	"github.com/weftrpc/weft/plugin/internal/plugintest"
)

func injector(t testing.TB, rules ...fault.Rule) *fault.Injector {
	t.Helper()
	f, err := fault.New(rules...)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func injected(err error, code weft.Code) bool {
	e, ok := errors.AsType[*weft.Error](err)
	return ok && e.Code == code && e.Reason == fault.Reason
}

func TestServerAndClient(t *testing.T) {
	server, client := injector(t), injector(t)
	w := plugintest.Serve(t, &weft.ServerConfig{Plugins: []weft.Plugin{server.Plugin()}})
	c := w.Dial(t, &weft.ClientConfig{Plugins: []weft.Plugin{client.Plugin()}})
	call := func() error { return c.Call(t.Context(), "Arith.Mul", &plugintest.Args{}, nil) }
	for side, f := range map[string]*fault.Injector{"server": server, "client": client} {
		if err := call(); err != nil {
			t.Errorf("%s: without rules: %v", side, err)
		}
		rule := fault.Rule{Methods: []string{"Arith.Mul", "Arith.Count"}, Percent: 100, Code: weft.Unavailable}
		if err := f.Set(rule); err != nil {
			t.Fatal(err)
		}
		if err := call(); !injected(err, weft.Unavailable) {
			t.Errorf("%s: %v", side, err)
		}
		if _, err := plugintest.Count(t.Context(), c, 3); !injected(err, weft.Unavailable) {
			t.Errorf("%s: a stream: %v", side, err)
		}
		if err := c.Call(t.Context(), "Arith.Fail", &plugintest.Args{A: 5}, nil); !errors.Is(err, weft.NotFound) {
			t.Errorf("%s: another method: %v", side, err)
		}
		if side == "server" {
			if err := w.DialDoor(t).Call("Arith.Mul", &plugintest.Args{}, &plugintest.Result{}); err == nil || !strings.Contains(err.Error(), "injected") {
				t.Errorf("through the door: %v", err)
			}
		}
		if err := f.Set(fault.Rule{Percent: 100, Delay: 30 * time.Millisecond}); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if err := call(); err != nil || time.Since(began) < 30*time.Millisecond {
			t.Errorf("%s: a delay: %v after %v", side, err, time.Since(began))
		}
		if err := f.Set(fault.Rule{Percent: 100, Delay: time.Hour}); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
		if err := c.Call(ctx, "Arith.Mul", &plugintest.Args{}, nil); !errors.Is(err, weft.DeadlineExceeded) {
			t.Errorf("%s: a long delay: %v", side, err)
		}
		cancel()
		if err := f.Set(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestPercentAndWhen(t *testing.T) {
	f := injector(t, fault.Rule{Percent: 20, Code: weft.Internal, When: func(ctx context.Context, _ *weft.CallInfo) bool {
		return weft.MetadataFrom(ctx).Get("try") != ""
	}})
	c := plugintest.Serve(t, &weft.ServerConfig{Plugins: []weft.Plugin{f.Plugin()}}).Dial(t, nil)
	failed := func(ctx context.Context) (n int) {
		for range 1000 {
			if err := c.Call(ctx, "Arith.Mul", &plugintest.Args{}, nil); err != nil {
				n++
			}
		}
		return n
	}
	if n := failed(t.Context()); n != 0 {
		t.Errorf("%d calls failed that the rule is not for", n)
	}
	if n := failed(weft.WithMetadata(t.Context(), "try", "1")); n < 120 || n > 300 {
		t.Errorf("%d of 1000 calls failed, want about 200", n)
	}
}

func TestWrongRules(t *testing.T) {
	f := injector(t)
	for _, r := range []fault.Rule{
		{Percent: 1}, {Code: 5}, {Percent: 101, Code: 5}, {Percent: -1, Code: 5}, {Percent: 1, Delay: -1}, {Percent: 1, Code: 99}, {Methods: []string{"x"}, Percent: 1, Code: 5},
	} {
		if err := f.Set(r); !errors.Is(err, weft.InvalidArgument) {
			t.Errorf("%+v: %v", r, err)
		}
	}
}

func Example() {
	f, err := fault.New()
	if err != nil {
		fmt.Println(err)
		return
	}
	srv := weft.NewServer(&weft.ServerConfig{Plugins: []weft.Plugin{f.Plugin()}})
	defer srv.Close()
	fmt.Println(f.Set(fault.Rule{Methods: []string{"Orders.*"}, Percent: 500, Code: weft.Unavailable}))
	// Output: InvalidArgument: fault: rule 0: Percent is 500, want more than 0, to 100; to end faults leave the rule out
}
