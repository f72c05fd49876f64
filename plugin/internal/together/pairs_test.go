package together_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	client "github.com/prometheus/client_golang/prometheus"

	"github.com/weftrpc/weft"
	weftdoor "github.com/weftrpc/weft/door/http"
	"github.com/weftrpc/weft/internal/polltest"
	"github.com/weftrpc/weft/plugin/debug"
	"github.com/weftrpc/weft/plugin/internal/plugintest"
	"github.com/weftrpc/weft/plugin/prometheus"
	"github.com/weftrpc/weft/plugin/protovalidate/shop"
)

// Every plugin alone, every pair of them, in both orders, and all together, let through what each lets
// through alone, and refuse what each refuses: unary calls that go well and that fail, streams, one-way
// calls, calls over HTTP, by several callers at a time, while the statistics are read.
func TestPairs(t *testing.T) {
	srv := plugintest.Serve(t, nil)
	all := plugins(target{srv.Dial(t, nil)})
	names := slices.Sorted(maps.Keys(all))
	back := slices.Clone(names)
	slices.Reverse(back)
	lists := [][]string{names, back}
	for _, a := range names {
		lists = append(lists, []string{a})
		for _, b := range names {
			if a != b {
				lists = append(lists, []string{a, b})
			}
		}
	}
	for _, list := range lists {
		if t.Failed() {
			return // one is enough to look at
		}
		t.Run(strings.Join(list, " "), func(t *testing.T) {
			var chosen []*one
			for _, name := range list {
				chosen = append(chosen, all[name](t))
			}
			together(t, chosen)
		})
	}
}

// world is a server and a client with some plugins.
type world struct {
	*plugintest.World
	client *weft.Client
	header string
	http   http.Client
}

func together(t *testing.T, chosen []*one) {
	server, dial := weft.ServerConfig{Doors: []weft.Door{weftdoor.Door(nil)}}, weft.ClientConfig{}
	w := &world{http: http.Client{Transport: &http.Transport{}, Timeout: time.Minute}}
	t.Cleanup(w.http.CloseIdleConnections)
	for _, p := range chosen {
		if p.server != nil {
			p.server(&server)
		}
		if p.client != nil {
			p.client(&dial)
		}
		if p.header != nil {
			w.header = p.header()
		}
		server.Plugins = append(server.Plugins, p.plugin)
		if p.plugin.Client != nil {
			dial.Plugins = append(dial.Plugins, p.plugin)
		}
	}
	w.World = plugintest.Serve(t, &server)
	for _, name := range []string{"Denied", "Faulty", "Quota", "Rate", "Long", "Other"} {
		must(t, weft.Handle(w.Server, "Arith."+name, func(_ context.Context, a *plugintest.Args) (*plugintest.Result, error) {
			return &plugintest.Result{C: a.A}, nil
		}))
	}
	must(t, weft.Handle(w.Server, "Arith.Buy", func(context.Context, *shop.Order) (*shop.Receipt, error) { return &shop.Receipt{}, nil }))
	must(t, weft.Handle(w.Server, "Arith.Held", func(ctx context.Context, _ *plugintest.Args) (*plugintest.Result, error) {
		<-ctx.Done() // when the caller cancels it
		return nil, ctx.Err()
	}))
	w.client = w.Dial(t, &dial)

	registry, collector, pages := client.NewRegistry(), prometheus.New(nil), debug.New(nil)
	collector.Server("", w.Server)
	collector.Client("", w.client)
	must(t, registry.Register(collector))
	pages.Server("", w.Server)
	var callers sync.WaitGroup
	for g := range 3 {
		callers.Go(func() {
			for i := range 3 {
				if err := w.calls(t.Context(), g*10+i); err != nil {
					t.Error(err)
				}
				if _, err := registry.Gather(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for _, p := range chosen {
		if p.refuse != nil {
			if err := p.refuse(t.Context(), w); err != nil { // while the callers call
				t.Errorf("%s: %v", p.plugin.Name, err)
			}
		}
	}
	callers.Wait()
	for _, p := range chosen {
		if p.seen != nil {
			polltest.Until(t, time.Minute, p.plugin.Name+" has seen the calls", p.seen)
		}
	}
}

// calls makes one call of each kind.
func (w *world) calls(ctx context.Context, a int) error {
	for range 2 { // the second may come from a cache
		r, err := weft.Invoke[plugintest.Result](ctx, w.client, "Arith.Mul", &plugintest.Args{A: a, B: 2})
		if err != nil || r.C != 2*a {
			return fmt.Errorf("a call: %+v, %w", r, err)
		}
	}
	if err := w.client.Call(ctx, "Arith.Fail", &plugintest.Args{A: int(weft.Aborted)}, nil); !errors.Is(err, weft.Aborted) {
		return fmt.Errorf("a call that fails: %w", err)
	}
	if got, err := plugintest.Count(ctx, w.client, 4); got != 4 || err != nil {
		return fmt.Errorf("a stream: %d, %w", got, err)
	}
	if err := w.client.Notify(ctx, "Arith.Mul", &plugintest.Args{A: a}); err != nil {
		return fmt.Errorf("a one-way call: %w", err)
	}
	return w.byHTTP(ctx, a)
}

// byHTTP makes a call through the door.
func (w *world) byHTTP(ctx context.Context, a int) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+w.Addr+"/Arith/Mul", strings.NewReader(fmt.Sprintf(`{"A":%d,"B":3}`, a)))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	if w.header != "" {
		req.Header.Set("Authorization", w.header)
	}
	resp, err := w.http.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	var r plugintest.Result
	if err := json.NewDecoder(resp.Body).Decode(&r); err != nil || resp.StatusCode != http.StatusOK || r.C != 3*a {
		return fmt.Errorf("over HTTP: %s, %+v, %w", resp.Status, r, err)
	}
	return nil
}
