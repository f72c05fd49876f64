package ratelimit_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/plugin/internal/plugintest"
	"github.com/weftrpc/weft/plugin/ratelimit"
)

const never = 1e-6 // calls a second: no second burst within a test

func serve(t *testing.T, cfg ratelimit.Config) *plugintest.World {
	t.Helper()
	l, err := ratelimit.New(&cfg)
	if err != nil {
		t.Fatal(err)
	}
	return plugintest.Serve(t, &weft.ServerConfig{
		Plugins:      []weft.Plugin{l.Plugin()},
		Authenticate: func(_ context.Context, cred weft.Credential, _ *weft.CallInfo) (any, error) { return cred.Token, nil },
	})
}

// taken makes calls until one is refused, and returns how many were not.
func taken(t *testing.T, c *weft.Client, method, as string) int {
	t.Helper()
	for n := range 100 {
		err := c.Call(t.Context(), method, &plugintest.Args{A: 5}, nil, weft.WithCredential(weft.Credential{Token: as}))
		if !errors.Is(err, weft.ResourceExhausted) {
			continue
		}
		e := plugintest.IsError(t, err, weft.ResourceExhausted, weft.Refused)
		if wait, ok := e.RetryAfter(); !ok || wait <= 0 || e.Reason != ratelimit.Reason {
			t.Errorf("%v says to wait %v", e, wait)
		}
		return n
	}
	t.Fatal("no call is refused")
	return 0
}

func TestLimits(t *testing.T) {
	for _, tt := range []struct {
		by   ratelimit.By
		want string // calls of: Mul as ada, Mul as bob, Fail as ada
	}{
		{ratelimit.Server, "3 0 0"}, {ratelimit.Service, "3 0 0"}, {ratelimit.Address, "3 0 0"},
		{ratelimit.Method, "3 0 3"}, {ratelimit.Principal, "3 3 0"},
	} {
		w := serve(t, ratelimit.Config{Limits: []ratelimit.Limit{{By: tt.by, Rate: never, Burst: 3}}})
		c := w.Dial(t, nil)
		if got := fmt.Sprint(taken(t, c, "Arith.Mul", "ada"), taken(t, c, "Arith.Mul", "bob"), taken(t, c, "Arith.Fail", "ada")); got != tt.want {
			t.Errorf("by %s: %s, want %s", tt.by, got, tt.want)
		}
		if n := w.Server.Stats().Refused[ratelimit.Reason]; n != 3 {
			t.Errorf("%d refusals were counted", n)
		}
	}
}

// A limit holds for its methods, for streams and for every wire.
func TestMethods(t *testing.T) {
	w := serve(t, ratelimit.Config{Limits: []ratelimit.Limit{{By: ratelimit.Server, Rate: never, Burst: 2, Methods: []string{"Arith.Count", "Arith.Mul"}}}})
	c, door := w.Dial(t, nil), w.DialDoor(t)
	if _, err := plugintest.Count(t.Context(), c, 1); err != nil {
		t.Fatal(err)
	}
	if err := door.Call("Arith.Mul", &plugintest.Args{}, &plugintest.Result{}); err != nil {
		t.Fatal(err)
	}
	if _, err := plugintest.Count(t.Context(), c, 1); !errors.Is(err, weft.ResourceExhausted) {
		t.Errorf("%v", err)
	}
	if err := door.Call("Arith.Mul", &plugintest.Args{}, &plugintest.Result{}); err == nil || !strings.Contains(err.Error(), "ResourceExhausted (Refused)") {
		t.Errorf("%v", err)
	}
	if err := c.Call(t.Context(), "Arith.Fail", &plugintest.Args{A: 5}, nil); !errors.Is(err, weft.NotFound) {
		t.Errorf("%v", err)
	}
}

// Calls of the services that weft registers are not counted, unless a limit names them or OwnServices
// is set. A refusal says when to try again.
func TestOwnServices(t *testing.T) {
	for _, tt := range []struct {
		own     bool
		methods []string
		refused bool
	}{{false, nil, false}, {false, []string{"grpc.health.v1.Health.Check"}, true}, {true, nil, true}} {
		l, err := ratelimit.New(&ratelimit.Config{OwnServices: tt.own, Limits: []ratelimit.Limit{{By: ratelimit.Server, Rate: 0.5, Burst: 1, Methods: tt.methods}}})
		if err != nil {
			t.Fatal(err)
		}
		hook := l.Plugin().Hooks[0].(weft.BeforeReadRequestBodyHook)
		info := &weft.CallInfo{Method: "grpc.health.v1.Health.Check"}
		_ = hook.BeforeReadRequestBody(t.Context(), info)
		err = hook.BeforeReadRequestBody(t.Context(), info)
		if (err != nil) != tt.refused || err != nil && !strings.Contains(err.Error(), "more calls than the server takes by server: 0.5 a second; try again in ") {
			t.Errorf("%+v: %v", tt, err)
		}
	}
}

func TestWrongConfig(t *testing.T) {
	for _, cfg := range []*ratelimit.Config{
		nil, {}, {Limits: []ratelimit.Limit{{By: "x", Rate: 1}}}, {Limits: []ratelimit.Limit{{By: ratelimit.Server}}},
		{Limits: []ratelimit.Limit{{By: ratelimit.Server, Rate: 1, Burst: -1}}}, {Limits: []ratelimit.Limit{{By: ratelimit.Server, Rate: 1, Methods: []string{"x"}}}},
		{Limits: []ratelimit.Limit{{By: ratelimit.Server, Rate: 1}}, MaxKeys: -1},
	} {
		if _, err := ratelimit.New(cfg); !errors.Is(err, weft.InvalidArgument) {
			t.Errorf("%+v: %v", cfg, err)
		}
	}
}

func Example() {
	l, err := ratelimit.New(&ratelimit.Config{Limits: []ratelimit.Limit{
		{By: ratelimit.Server, Rate: 10_000},
		{By: ratelimit.Principal, Rate: 100, Burst: 200, Methods: []string{"Orders.*"}},
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	srv := weft.NewServer(&weft.ServerConfig{Plugins: []weft.Plugin{l.Plugin()}})
	defer srv.Close()
	fmt.Println(srv.Phase())
	// Output: starting
}
