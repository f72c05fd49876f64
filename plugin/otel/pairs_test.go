package otel_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/plugin/accesslog"
	"github.com/weftrpc/weft/plugin/acl"
	"github.com/weftrpc/weft/plugin/cache"
	"github.com/weftrpc/weft/plugin/fault"
	"github.com/weftrpc/weft/plugin/internal/plugintest"
	"github.com/weftrpc/weft/plugin/ratelimit"
	"github.com/weftrpc/weft/plugin/validate"
)

// every makes one of each plugin, so that all of them let calls through.
func every(t *testing.T) []weft.Plugin {
	t.Helper()
	access, err := accesslog.New(&accesslog.Config{Logger: slog.New(slog.DiscardHandler)})
	must(t, err)
	rules, err := acl.New(acl.Rules{Allow: []acl.Rule{{Methods: []string{"Arith.*"}}}, Deny: []acl.Rule{{Methods: []string{"Arith.Never"}}}})
	must(t, err)
	limit, err := ratelimit.New(&ratelimit.Config{Limits: []ratelimit.Limit{{By: ratelimit.Address, Rate: 1e6}}})
	must(t, err)
	kept, err := cache.New(&cache.Config{Methods: map[string]time.Duration{"Arith.Mul": time.Minute}})
	must(t, err)
	faults, err := fault.New(fault.Rule{Percent: 50, Delay: time.Microsecond})
	must(t, err)
	return []weft.Plugin{record(t, nil).Plugin(), access, rules.Plugin(), limit.Plugin(), validate.Plugin(), kept.Plugin(), faults.Plugin()}
}

// onClient are the plugins that have something for a client.
func onClient(plugins ...weft.Plugin) []weft.Plugin {
	return slices.DeleteFunc(plugins, func(p weft.Plugin) bool { return p.Client == nil })
}

// Every pair of plugins, in both orders, and all together, take the same calls as none: unary
// calls that go well and that fail, streams, calls through the door, by several callers.
func TestPairs(t *testing.T) {
	n := len(every(t))
	lists := [][]int{{}}
	all := []int{}
	for i := range n {
		all = append(all, i)
		for j := range n {
			if i != j {
				lists = append(lists, []int{i, j})
			}
		}
	}
	back := slices.Clone(all)
	slices.Reverse(back)
	for _, list := range append(lists, all, back) {
		plugins := every(t)
		var chosen []weft.Plugin
		name := "none"
		for _, i := range list {
			chosen = append(chosen, plugins[i])
			name += " " + plugins[i].Name
		}
		t.Run(name, func(t *testing.T) { together(t, chosen) })
	}
}

func together(t *testing.T, plugins []weft.Plugin) {
	w := plugintest.Serve(t, &weft.ServerConfig{Plugins: plugins})
	c := w.Dial(t, &weft.ClientConfig{Plugins: onClient(slices.Clone(plugins)...)})
	door := w.DialDoor(t)
	var wg sync.WaitGroup
	for g := range 3 {
		wg.Go(func() {
			for i := range 5 {
				if err := calls(t.Context(), c, g*i); err != nil {
					t.Error(err)
				}
				var r plugintest.Result
				if err := door.Call("Arith.Mul", &plugintest.Args{A: g, B: i}, &r); err != nil || r.C != g*i {
					t.Errorf("through the door: %+v, %v", r, err)
				}
			}
		})
	}
	wg.Wait()
}

// calls makes one call of each kind.
func calls(ctx context.Context, c *weft.Client, a int) error {
	r, err := weft.Invoke[plugintest.Result](ctx, c, "Arith.Mul", &plugintest.Args{A: a, B: 2})
	if err != nil || r.C != 2*a {
		return fmt.Errorf("%+v, %w", r, err)
	}
	if err := c.Call(ctx, "Arith.Fail", &plugintest.Args{A: int(weft.Aborted)}, nil); !errors.Is(err, weft.Aborted) {
		return fmt.Errorf("a call that fails: %w", err)
	}
	if got, err := plugintest.Count(ctx, c, 4); got != 4 || err != nil {
		return fmt.Errorf("a stream: %d, %w", got, err)
	}
	return c.Notify(ctx, "Arith.Mul", &plugintest.Args{A: a})
}
