package concurrency_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/health"
	"github.com/weftrpc/weft/internal/polltest"
	"github.com/weftrpc/weft/plugin/concurrency"
	"github.com/weftrpc/weft/plugin/internal/plugintest"
)

func limiter(t *testing.T, limits ...concurrency.Limit) *concurrency.Limiter {
	t.Helper()
	l, err := concurrency.New(&concurrency.Config{Limits: limits})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// byCredential takes the token of a caller as its name.
func byCredential(_ context.Context, cred weft.Credential, _ *weft.CallInfo) (any, error) {
	return cred.Token, nil
}

// hold makes calls of Arith.Sleep that run until the function that it returns is called.
func hold(t *testing.T, l *concurrency.Limiter, by concurrency.By, c *weft.Client, n int) (release func()) {
	t.Helper()
	before := l.InFlight(by)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() { _ = c.Call(ctx, "Arith.Sleep", &plugintest.Args{A: 600_000}, nil, weft.WithTimeout(time.Hour)) })
	}
	polltest.True(t, time.Minute, fmt.Sprintf("%d calls are in flight", n), func() bool { return l.InFlight(by) == before+n })
	return func() { cancel(); wg.Wait() }
}

func none(t *testing.T, l *concurrency.Limiter, by concurrency.By) {
	t.Helper()
	polltest.Until(t, time.Minute, "no call is in flight", func() error {
		if n := l.InFlight(by); n != 0 {
			return fmt.Errorf("%d are", n)
		}
		return nil
	})
}

// Each principal has its calls: one that has them all in flight is refused, over weft's own wire and
// for streams, and others are not; a call that ends makes room.
func TestPrincipals(t *testing.T) {
	l := limiter(t, concurrency.Limit{By: concurrency.Principal, Calls: 2, Methods: []string{"Arith.*"}})
	w := plugintest.Serve(t, &weft.ServerConfig{Authenticate: byCredential, Plugins: []weft.Plugin{l.Plugin()}})
	ada := w.Dial(t, &weft.ClientConfig{Credential: weft.StaticCredential("", "ada")})
	bob := w.Dial(t, &weft.ClientConfig{Credential: weft.StaticCredential("", "bob")})
	release := hold(t, l, concurrency.Principal, ada, 2)
	e := plugintest.IsError(t, ada.Call(t.Context(), "Arith.Mul", &plugintest.Args{}, nil), weft.ResourceExhausted, weft.Refused)
	if e.Reason != concurrency.Reason {
		t.Error(e)
	}
	if _, err := plugintest.Count(t.Context(), ada, 1); !errors.Is(err, weft.ResourceExhausted) {
		t.Errorf("a stream: %v", err)
	}
	if err := bob.Call(t.Context(), "Arith.Mul", &plugintest.Args{}, nil); err != nil {
		t.Error(err)
	}
	release()
	none(t, l, concurrency.Principal)
	if err := ada.Call(t.Context(), "Arith.Mul", &plugintest.Args{}, nil); err != nil {
		t.Error(err)
	}
	if n, err := plugintest.Count(t.Context(), ada, 3); n != 3 || err != nil {
		t.Error(n, err)
	}
	none(t, l, concurrency.Principal)
}

// A limit by address is one for weft's own wire and for a door.
func TestDoor(t *testing.T) {
	l := limiter(t, concurrency.Limit{By: concurrency.Address, Calls: 1})
	w := plugintest.Serve(t, &weft.ServerConfig{Plugins: []weft.Plugin{l.Plugin()}})
	door := w.DialDoor(t)
	release := hold(t, l, concurrency.Address, w.Dial(t, nil), 1)
	if err := door.Call("Arith.Mul", &plugintest.Args{}, &plugintest.Result{}); err == nil {
		t.Error("a call through the door is beyond the limit")
	}
	release()
	none(t, l, concurrency.Address)
	if err := door.Call("Arith.Mul", &plugintest.Args{}, &plugintest.Result{}); err != nil {
		t.Error(err)
	}
	none(t, l, concurrency.Address)
}

// refuser refuses calls after the limiter has counted them.
type refuser struct{}

func (refuser) BeforeReadRequestBody(context.Context, *weft.CallInfo) error {
	return weft.Errorf(weft.PermissionDenied, "never")
}

// Calls that end before they begin are not counted any more: those that another plugin has refused,
// those whose request cannot be decoded, those that panic.
func TestEndings(t *testing.T) {
	for what, c := range map[string]struct {
		plugin weft.Plugin
		call   func(c *weft.Client) error
		code   weft.Code
	}{
		"refused by a hook": {weft.Plugin{Name: "x", Hooks: []any{refuser{}}}, nil, weft.PermissionDenied},
		"refused by an interceptor": {weft.Plugin{Name: "x", Server: func(context.Context, *weft.CallInfo, any, weft.UnaryFunc) (any, error) {
			return nil, weft.Errorf(weft.Aborted, "never")
		}}, nil, weft.Aborted},
		"a panic": {weft.Plugin{Name: "x", Server: func(context.Context, *weft.CallInfo, any, weft.UnaryFunc) (any, error) {
			panic("on purpose")
		}}, nil, weft.Internal},
		"not decoded": {weft.Plugin{Name: "x", Server: func(ctx context.Context, info *weft.CallInfo, req any, next weft.UnaryFunc) (any, error) {
			return next(ctx, info, req)
		}}, func(c *weft.Client) error { return c.Call(t.Context(), "Arith.Mul", new("not an Args"), nil) }, weft.InvalidArgument},
	} {
		for _, first := range []bool{true, false} {
			l := limiter(t, concurrency.Limit{By: concurrency.Server, Calls: 3}, concurrency.Limit{By: concurrency.Method, Calls: 2})
			plugins := []weft.Plugin{l.Plugin(), c.plugin}
			if !first {
				plugins = []weft.Plugin{c.plugin, l.Plugin()}
			}
			client := plugintest.Serve(t, &weft.ServerConfig{Plugins: plugins}).Dial(t, nil)
			call := c.call
			if call == nil {
				call = func(client *weft.Client) error {
					return client.Call(t.Context(), "Arith.Mul", &plugintest.Args{}, nil)
				}
			}
			for range 200 {
				if err := call(client); !errors.Is(err, c.code) {
					t.Fatalf("%s: %v", what, err)
				}
			}
			none(t, l, concurrency.Server)
			none(t, l, concurrency.Method)
		}
	}
}

// More keys than there is room for share one limit.
func TestKeys(t *testing.T) {
	l, err := concurrency.New(&concurrency.Config{MaxKeys: 1, Limits: []concurrency.Limit{{By: concurrency.Method, Calls: 1}}})
	if err != nil {
		t.Fatal(err)
	}
	c := plugintest.Serve(t, &weft.ServerConfig{Plugins: []weft.Plugin{l.Plugin()}}).Dial(t, nil)
	if err := c.Call(t.Context(), "Arith.Mul", &plugintest.Args{}, nil); err != nil {
		t.Fatal(err)
	}
	none(t, l, concurrency.Method)
	release := hold(t, l, concurrency.Method, c, 1) // in place of Arith.Mul
	defer release()
	if err := c.Call(t.Context(), "Arith.Mul", &plugintest.Args{}, nil); err != nil { // by the shared limit
		t.Error(err)
	}
}

// Calls of the services that weft registers are not counted, unless OwnServices is set.
func TestOwnServices(t *testing.T) {
	for _, own := range []bool{false, true} {
		l, err := concurrency.New(&concurrency.Config{OwnServices: own, Limits: []concurrency.Limit{{By: concurrency.Server, Calls: 1}}})
		if err != nil {
			t.Fatal(err)
		}
		w := plugintest.Serve(t, &weft.ServerConfig{Plugins: []weft.Plugin{l.Plugin()}})
		if _, err := health.New(w.Server, nil); err != nil {
			t.Fatal(err)
		}
		c := w.Dial(t, nil)
		release := hold(t, l, concurrency.Server, c, 1)
		if err := c.Call(t.Context(), health.Service+".Check", &health.Query{}, nil); errors.Is(err, weft.ResourceExhausted) != own {
			t.Errorf("with OwnServices %v: %v", own, err)
		}
		release()
	}
}

func TestWrongConfig(t *testing.T) {
	for _, cfg := range []*concurrency.Config{nil, {}, {Limits: []concurrency.Limit{{By: "planet", Calls: 1}}}, {Limits: []concurrency.Limit{{By: concurrency.Server}}},
		{Limits: []concurrency.Limit{{By: concurrency.Server, Calls: 1, Methods: []string{"x"}}}}, {Limits: []concurrency.Limit{{By: concurrency.Server, Calls: 1}}, MaxKeys: -1}} {
		if _, err := concurrency.New(cfg); err == nil {
			t.Errorf("%+v is accepted", cfg)
		}
	}
}
