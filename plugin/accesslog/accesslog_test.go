package accesslog_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/internal/polltest"
	"github.com/weftrpc/weft/plugin/accesslog"
	"github.com/weftrpc/weft/plugin/internal/plugintest"
)

// journal keeps records as they are written in JSON.
type journal struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.b.Write(p)
}

func (j *journal) logger() *slog.Logger { return slog.New(slog.NewJSONHandler(j, nil)) }

// wait waits for n records and returns them.
func (j *journal) wait(t *testing.T, n int) []map[string]any {
	t.Helper()
	var all []map[string]any
	polltest.Until(t, 30*time.Second, fmt.Sprintf("%d records", n), func() error {
		j.mu.Lock()
		defer j.mu.Unlock()
		all = nil
		for line := range strings.Lines(j.b.String()) {
			var r map[string]any
			if err := json.Unmarshal([]byte(line), &r); err != nil {
				return err
			}
			all = append(all, r)
		}
		if len(all) != n {
			return fmt.Errorf("%d: %s", len(all), j.b.String())
		}
		return nil
	})
	return all
}

func has(t *testing.T, r map[string]any, want map[string]any) {
	t.Helper()
	for key, v := range want {
		if got := r[key]; fmt.Sprint(got) != fmt.Sprint(v) {
			t.Errorf("%s is %v, want %v: %v", key, got, v, r)
		}
	}
}

func plugin(t testing.TB, cfg accesslog.Config) []weft.Plugin {
	t.Helper()
	p, err := accesslog.New(&cfg)
	if err != nil {
		t.Fatal(err)
	}
	return []weft.Plugin{p}
}

func TestRecords(t *testing.T) {
	var served, called journal
	redact := func(attribute, value string) string {
		if attribute == "tenant" {
			return strings.Repeat("x", len(value))
		}
		return value
	}
	w := plugintest.Serve(t, &weft.ServerConfig{
		Plugins:      plugin(t, accesslog.Config{Logger: served.logger(), Metadata: []string{"tenant", "long", "wide"}, Redact: redact}),
		Authenticate: func(_ context.Context, cred weft.Credential, _ *weft.CallInfo) (any, error) { return "ada", nil },
	})
	c := w.Dial(t, &weft.ClientConfig{Plugins: plugin(t, accesslog.Config{Logger: called.logger()}), Credential: weft.StaticCredential("Bearer", "secret-token")})
	const id = "0af7651916cd43dd8448eb211c80319c"
	ctx := weft.WithMetadata(t.Context(), "traceparent", "00-"+id+"-b7ad6b7169203331-01", "tenant", "blue", "long", strings.Repeat("ä", 1000), "wide", "a"+strings.Repeat("€", 1000))
	if err := c.Call(ctx, "Arith.Mul", &plugintest.Args{A: 424242}, nil, weft.WithAttempt(2)); err != nil {
		t.Fatal(err)
	}
	has(t, served.wait(t, 1)[0], map[string]any{"level": "INFO", "msg": "call", "call": "answered", "wire": "weft", "method": "Arith.Mul", "code": "OK",
		"principal": "ada", "trace_id": id, "attempt": 2, "metadata": map[string]any{"tenant": "xxxx", "long": strings.Repeat("ä", 128) + "…", "wide": "a" + strings.Repeat("€", 85) + "…"}})
	has(t, called.wait(t, 1)[0], map[string]any{"call": "made", "code": "OK", "trace_id": id, "attempt": 2, "principal": nil})
	plugintest.IsError(t, c.Call(t.Context(), "Arith.Fail", &plugintest.Args{A: 5}, nil), weft.NotFound, weft.Executed)
	has(t, served.wait(t, 2)[1], map[string]any{"level": "WARN", "code": "NotFound", "error": "failed as asked"})
	has(t, called.wait(t, 2)[1], map[string]any{"level": "WARN", "code": "NotFound", "outcome": "Executed", "error": "failed as asked"})
	if n, err := plugintest.Count(t.Context(), c, 3); n != 3 || err != nil {
		t.Fatal(n, err)
	}
	has(t, served.wait(t, 3)[2], map[string]any{"method": "Arith.Count", "code": "OK", "sent": 3, "received": 1})
	has(t, called.wait(t, 3)[2], map[string]any{"method": "Arith.Count", "code": "OK", "sent": 1, "received": 3})
	if err := w.DialDoor(t).Call("Arith.Mul", &plugintest.Args{}, &plugintest.Result{}); err != nil {
		t.Fatal(err)
	}
	has(t, served.wait(t, 4)[3], map[string]any{"wire": "netrpc", "code": "OK", "trace_id": nil})
	for _, text := range []string{served.b.String(), called.b.String()} {
		for _, secret := range []string{"secret-token", "424242", "blue"} {
			if strings.Contains(text, secret) {
				t.Errorf("%q is in the log: %s", secret, text)
			}
		}
	}
}

// Failures and slow calls are written, whatever the share of the others; the log of other methods is
// left out.
func TestSampling(t *testing.T) {
	for _, tt := range []struct {
		slow time.Duration
		want []string // the methods
	}{{time.Hour, []string{"Arith.Fail"}}, {0, []string{"Arith.Fail"}}, {time.Nanosecond, []string{"Arith.Mul", "Arith.Fail"}}} {
		var served, called journal
		cfg := accesslog.Config{OneIn: -1, Slow: tt.slow, Methods: []string{"Arith.Mul", "Arith.Fail"}}
		cfg.Logger = served.logger()
		w := plugintest.Serve(t, &weft.ServerConfig{Plugins: plugin(t, cfg)})
		cfg.Logger = called.logger()
		c := w.Dial(t, &weft.ClientConfig{Plugins: plugin(t, cfg)})
		_ = c.Call(t.Context(), "Arith.Sleep", &plugintest.Args{}, nil)
		_ = c.Call(t.Context(), "Arith.Mul", &plugintest.Args{}, nil)
		_ = c.Call(t.Context(), "Arith.Fail", &plugintest.Args{A: 5}, nil)
		for _, j := range []*journal{&served, &called} {
			for i, r := range j.wait(t, len(tt.want)) {
				has(t, r, map[string]any{"method": tt.want[i], "level": "WARN"})
				if slow := r["slow"] == true; slow != (tt.slow == time.Nanosecond) {
					t.Errorf("with Slow %v: %v", tt.slow, r)
				}
			}
		}
	}
}

func TestOneIn(t *testing.T) {
	var j journal
	w := plugintest.Serve(t, &weft.ServerConfig{Plugins: plugin(t, accesslog.Config{Logger: j.logger(), OneIn: 10, PerSecond: -1})})
	c := w.Dial(t, nil)
	for range 2000 {
		if err := c.Call(t.Context(), "Arith.Mul", &plugintest.Args{}, nil); err != nil {
			t.Fatal(err)
		}
	}
	if n := strings.Count(j.b.String(), "\n"); n < 100 || n > 350 {
		t.Errorf("of 2000 calls %d were written, want about 200", n)
	}
}

// What is above the limit is dropped, and the next record says how many.
func TestPerSecond(t *testing.T) {
	var j journal
	w := plugintest.Serve(t, &weft.ServerConfig{Plugins: plugin(t, accesslog.Config{Logger: j.logger(), PerSecond: 1})})
	c := w.Dial(t, nil)
	polltest.True(t, time.Minute, "a record says how many were dropped", func() bool {
		for range 10 {
			if err := c.Call(t.Context(), "Arith.Mul", &plugintest.Args{}, nil); err != nil {
				t.Fatal(err)
			}
		}
		j.mu.Lock()
		defer j.mu.Unlock()
		return strings.Contains(j.b.String(), `"dropped":`)
	})
}

// Calls that go well leave room for those that fail and those that are slow.
func TestRoomForFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var j journal
		p := plugin(t, accesslog.Config{Logger: j.logger(), PerSecond: 20, Slow: time.Second})[0]
		call := func(err error) {
			_, _ = p.Server(t.Context(), &weft.CallInfo{Method: "Arith.Mul"}, nil, func(context.Context, *weft.CallInfo, any) (any, error) { return nil, err })
		}
		for range 100 {
			call(nil)
		}
		for range 100 {
			call(errors.New("failed as asked"))
		}
		levels := make(map[any]int)
		for _, r := range j.wait(t, 20) {
			levels[r["level"]]++
		}
		if levels["INFO"] != 18 || levels["WARN"] != 2 {
			t.Errorf("%v, want 18 that went well and 2 that failed", levels)
		}
	})
}

// A stream that is abandoned is written when its context ends.
func TestStreamAbandoned(t *testing.T) {
	var j journal
	w := plugintest.Serve(t, nil)
	c := w.Dial(t, &weft.ClientConfig{Plugins: plugin(t, accesslog.Config{Logger: j.logger()})})
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := weft.Subscribe[plugintest.Result](ctx, c, "Arith.Count", &plugintest.Args{A: 1 << 30}); err != nil {
		t.Fatal(err)
	}
	cancel()
	has(t, j.wait(t, 1)[0], map[string]any{"code": "Canceled"})
	c.Close()
	_, _ = plugintest.Count(t.Context(), c, 1)
	has(t, j.wait(t, 2)[1], map[string]any{"outcome": "NotSent"})
}

// A call without a principal has no name, and does not fail for that.
func TestWithoutPrincipal(t *testing.T) {
	var j journal
	w := plugintest.Serve(t, &weft.ServerConfig{Plugins: plugin(t, accesslog.Config{Logger: j.logger(), Principal: func(p any) string { return p.(string) }})})
	if err := w.Dial(t, nil).Call(t.Context(), "Arith.Mul", &plugintest.Args{}, nil); err != nil {
		t.Fatal(err)
	}
	has(t, j.wait(t, 1)[0], map[string]any{"method": "Arith.Mul", "principal": nil})
}

func TestWrongConfig(t *testing.T) {
	for _, cfg := range []accesslog.Config{{Metadata: []string{"Authorization"}}, {Methods: []string{"nonsense"}}} {
		if _, err := accesslog.New(&cfg); err == nil {
			t.Errorf("%+v is accepted", cfg)
		}
	}
	if _, err := accesslog.New(nil); err != nil {
		t.Error(err)
	}
}

// What a caller sends as a trace is written only if it is one.
func TestForeignTrace(t *testing.T) {
	var served journal
	w := plugintest.Serve(t, &weft.ServerConfig{Plugins: plugin(t, accesslog.Config{Logger: served.logger()})})
	ctx := weft.WithMetadata(t.Context(), "traceparent", "00-"+strings.Repeat("<", 32)+"-b7ad6b7169203331-01")
	if err := w.Dial(t, nil).Call(ctx, "Arith.Mul", &plugintest.Args{}, nil); err != nil {
		t.Fatal(err)
	}
	has(t, served.wait(t, 1)[0], map[string]any{"method": "Arith.Mul", "trace_id": nil})
}
