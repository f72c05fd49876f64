package cluster_test

import (
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/cluster"
	"github.com/weftrpc/weft/cluster/balance"
	"github.com/weftrpc/weft/cluster/breaker"
	"github.com/weftrpc/weft/cluster/retry"
	"github.com/weftrpc/weft/cluster/route"
)

// logTo has a client write its log to a buffer, without the times.
func logTo(b *lockedBuffer) *slog.Logger {
	return slog.New(slog.NewTextHandler(b, &slog.HandlerOptions{Level: slog.LevelInfo, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
}

// wantLines wants each of the lines once among what was logged.
func wantLines(t *testing.T, logged *lockedBuffer, lines ...string) {
	t.Helper()
	text := logged.String()
	for _, line := range lines {
		if n := strings.Count(text, line); n != 1 {
			t.Errorf("%d times: %s", n, line)
		}
	}
	if t.Failed() {
		t.Logf("logged:\n%s", text)
	}
}

// Rules that come into force are told of with the number that they have in their history, and those that cannot be used with the registry's
// revision, since they may have no number that can be read.
func TestLogOfRules(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var logged lockedBuffer
		f := newFleet(t, "a")
		c := f.client(func(cfg *cluster.Config) { cfg.Logger = logTo(&logged) })
		who(t, t.Context(), c)
		f.rules(`{"version":7,"methods":{"Who":{"timeout":"1s"}}}`)
		f.rules(`{"version":8,"methods":{"Who":{"timeout":"2s"}}}`)
		f.rules(`no rules`)
		time.Sleep(time.Minute)
		wantLines(t, &logged, `level=INFO msg="rules in force" service=Who version=7 was=0 registry_revision=2`,
			`level=INFO msg="rules in force" service=Who version=8 was=7 registry_revision=3`,
			`level=ERROR msg="the rules cannot be used; the last good ones stay" service=Who registry_revision=4`)
	})
}

// A client that shuts down has lost no server: they stay.
func TestLogOfShutdown(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var logged lockedBuffer
		f := newFleet(t, "a", "b")
		c := f.client(func(cfg *cluster.Config) { cfg.Logger = logTo(&logged) })
		shares(t, c, 10)
		must(t, c.Shutdown(t.Context()))
		if text := logged.String(); strings.Contains(text, "server lost") {
			t.Errorf("logged:\n%s", text)
		}
	})
}

// A breaker is told of when it opens, with the reason, and when it closes. So are calls that fail after all attempts.
func TestLogOfFailures(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var logged lockedBuffer
		f := newFleet(t, "a", "b")
		c := f.client(func(cfg *cluster.Config) {
			cfg.Logger, cfg.Balancer = logTo(&logged), balance.RoundRobin()
			cfg.Breaker = breaker.Config{Consecutive: 5, Calls: 1000}
			cfg.Retry = retry.Policy{Attempts: 2}
		})
		who(t, t.Context(), c)
		f.servers["a"].fail.Store(&weft.Error{Code: weft.Internal, Message: "broken"})
		ctx := t.Context()
		for range 20 {
			_ = c.Call(ctx, "Who.Who", &Args{}, &Reply{})
		}
		time.Sleep(2 * time.Second)
		wantLines(t, &logged, `level=WARN msg="breaker opened" addr=mem://a method=Who.Who why="5 calls in a row failed"`)
		f.servers["a"].fail.Store(nil)
		for range 40 {
			time.Sleep(time.Second)
			_ = c.Call(ctx, "Who.Who", &Args{}, &Reply{})
		}
		wantLines(t, &logged, `level=INFO msg="breaker closed" addr=mem://a method=Who.Who`)
		if strings.Contains(logged.String(), "retries") {
			t.Errorf("calls that may not run twice were not made again, and:\n%s", logged.String())
		}

		for _, n := range f.servers {
			n.fail.Store(&weft.Error{Code: weft.Unavailable, Message: "not today"})
		}
		for range 3 {
			_ = c.Call(cluster.WithIdempotent(ctx), "Who.Who", &Args{}, &Reply{})
		}
		time.Sleep(2 * time.Second)
		wantLines(t, &logged, `level=WARN msg="retries exhausted" method=Who.Who attempts=2 code=Unavailable reason="" addr=mem://`)
	})
}

// A handler's own answer to a further attempt exhausts no retries.
func TestAnswerIsNoExhaustion(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var logged lockedBuffer
		f := newFleet(t, "a", "b")
		c := f.client(func(cfg *cluster.Config) {
			cfg.Logger, cfg.Balancer = logTo(&logged), balance.RoundRobin()
		})
		shares(t, c, 2)
		f.servers["a"].fail.Store(&weft.Error{Code: weft.Unavailable, Message: "not today"})
		f.servers["b"].fail.Store(&weft.Error{Code: weft.NotFound, Message: "no such thing"})
		for range 4 {
			err := c.Call(cluster.WithIdempotent(t.Context()), "Who.Who", &Args{}, &Reply{})
			wantError(t, err, weft.NotFound, weft.Executed)
			time.Sleep(time.Second) // the budget pays a few retries a second
		}
		time.Sleep(2 * time.Second)
		if text := logged.String(); strings.Contains(text, "retries exhausted") {
			t.Errorf("logged:\n%s", text)
		}
	})
}

// Calls that the budget pays no further attempt for are told of, once in a second.
func TestLogOfBudget(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var logged lockedBuffer
		f := newFleet(t, "a")
		c := f.client(func(cfg *cluster.Config) {
			cfg.Logger = logTo(&logged)
			cfg.Breaker = breaker.Config{Consecutive: 1 << 20, Calls: 1 << 20}
		})
		who(t, t.Context(), c)
		f.servers["a"].fail.Store(&weft.Error{Code: weft.Unavailable, Message: "not today"})
		for range 100 {
			_ = c.Call(cluster.WithIdempotent(t.Context()), "Who.Who", &Args{}, &Reply{})
		}
		time.Sleep(2 * time.Second)
		text := logged.String()
		if !strings.Contains(text, `level=WARN msg="retry budget exhausted" method=Who.Who code=Unavailable reason="" addr=mem://a`) || strings.Count(text, "retry budget exhausted") > 40 {
			t.Errorf("logged:\n%s", text)
		}
	})
}

// Many hedges are told of, with their share.
func TestLogOfHedges(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var logged lockedBuffer
		f := newFleet(t, "a", "b")
		c := f.client(func(cfg *cluster.Config) {
			cfg.Logger, cfg.FailMode, cfg.Balancer = logTo(&logged), cluster.Failbackup, balance.RoundRobin()
			cfg.Budget = retry.BudgetConfig{Ratio: 1}
		})
		ctx := cluster.WithIdempotent(t.Context())
		for range 200 {
			who(t, ctx, c)
		}
		time.Sleep(time.Minute + time.Second)
		f.servers["a"].slow(300 * time.Millisecond)
		for range 60 {
			who(t, ctx, c)
			time.Sleep(time.Second)
		}
		time.Sleep(2 * time.Minute)
		text := logged.String()
		if n := strings.Count(text, `level=WARN msg="many calls are hedged" method=Who.Who calls=`); n != 1 {
			t.Errorf("%d lines of hedges, with %+v:\n%s", n, c.Stats().Methods, text)
		}
	})
}

// The methods that a client counts are bounded: their names may come from its own callers.
func TestManyMethods(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t, "a")
		must(t, f.servers["a"].srv.Alias("Late.Who", "Who.Who"))
		c := f.client(func(cfg *cluster.Config) { cfg.Methods = map[string]route.Method{"Late.Who": {MaxInFlight: 1}} })
		who(t, t.Context(), c)
		const most, more = 4096, 50
		for i := range most - 1 + more {
			err := c.Call(t.Context(), fmt.Sprint("Who.None", i), &Args{}, &Reply{})
			if weft.CodeOf(err) != weft.Unimplemented {
				t.Fatal(err)
			}
		}
		all := c.Stats().Methods
		if len(all) != most+1 || all[0].Method != "" || all[0].Calls != more || all[0].Codes[weft.Unimplemented] != more {
			t.Errorf("%d methods are counted, and the calls of the others are %+v", len(all), all[0])
		}
		if got := who(t, t.Context(), c); got != "a" {
			t.Error(got)
		}
		// Those beyond have one limit together.
		f.servers["a"].slow(time.Second)
		waiting := c.Go(t.Context(), "Late.Who", &Args{}, &Reply{}, nil)
		synctest.Wait()
		must(t, c.Call(t.Context(), "Who.Other", &Args{}, &Reply{})) // the client remembers the last method
		err := c.Call(t.Context(), "Late.Who", &Args{}, &Reply{})
		wantError(t, err, weft.ResourceExhausted, weft.NotSent, "in flight")
		if err := (<-waiting.Done).Error; err != nil {
			t.Error(err)
		}
	})
}

// A server that hangs is ejected, and let back when it works: both are told of, with the reason. So is one that goes and comes.
func TestLogOfServers(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var logged lockedBuffer
		f := newFleet(t, "a", "b", "c")
		for _, n := range f.servers {
			n.slow(100 * time.Millisecond)
		}
		c := f.client(func(cfg *cluster.Config) { cfg.Logger = logTo(&logged) })
		var made atomic.Int64
		load(t, c, 8, 0, &made, func(error) {}, func() {
			time.Sleep(2 * time.Second)
			f.servers["a"].slow(time.Hour)
			time.Sleep(4 * time.Second)
			text := logged.String()
			if !strings.Contains(text, `level=WARN msg="server ejected" addr=mem://a was=healthy why=`) || strings.Contains(text, `why=""`) {
				t.Errorf("logged:\n%s", text)
			}
			f.servers["a"].slow(100 * time.Millisecond)
			time.Sleep(30 * time.Second)
		})
		if text := logged.String(); !strings.Contains(text, `level=INFO msg="server healthy" addr=mem://a was=`) {
			t.Errorf("logged:\n%s", text)
		}
		must(t, f.servers["b"].srv.Shutdown(t.Context()))
		time.Sleep(time.Minute)
		wantLines(t, &logged, `level=INFO msg="server gone" addr=mem://b`)
		f.add("d", weft.Instance{})
		time.Sleep(time.Second)
		wantLines(t, &logged, `level=INFO msg="server found" addr=mem://a`, `level=INFO msg="server found" addr=mem://d`)
	})
}
