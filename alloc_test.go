//go:build !race

package weft_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/codec/raw"
	"github.com/weftrpc/weft/internal/cputime"
	"github.com/weftrpc/weft/internal/due"
)

// A call with codec raw allocates nothing, neither here nor there. The race
// detector allocates on its own account, so this file is left out with it.
func TestRawCallAllocatesNothing(t *testing.T) {
	const calls = 5000
	w := start(t, nil, echo)
	c := w.dial(&weft.ClientConfig{Codec: raw.New()})
	ctx := context.Background()
	body, reply := []byte("a body of some bytes"), []byte(nil)
	call := func(times int) {
		for range times {
			if err := c.Call(ctx, "Raw.Echo", &body, &reply); err != nil {
				t.Fatal(err)
			}
		}
	}
	call(2000) // pools fill, and the method becomes known as fast
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	call(calls)
	runtime.ReadMemStats(&after)
	if n := float64(after.Mallocs-before.Mallocs) / calls; n >= 0.1 {
		t.Errorf("%.2f allocations per call, want less than 0.1", n)
	}
}

// A call whose messages are used again allocates nothing either.
func TestReuseAllocatesNothing(t *testing.T) {
	const calls = 5000
	for name, sample := range map[string]any{"numbered": &note{Title: "title", Lines: []string{"a", "b"}}, "plain": &Args{7, 8}} {
		w := start(t, nil, func(s *weft.Server) error {
			if err := weft.HandleReuse(s, "Plain.Copy", func(_ context.Context, req, res *Args) error { *res = *req; return nil }); err != nil {
				return err
			}
			return weft.HandleReuse(s, "Numbered.Copy", func(_ context.Context, req, res *note) error { *res = *req; return nil })
		})
		c := w.dial(nil)
		ctx := context.Background()
		var notes weft.Reuse[note]
		var args weft.Reuse[Args]
		call := func(times int) {
			for range times {
				var err error
				if name == "plain" {
					_, err = args.Invoke(ctx, c, "Plain.Copy", sample)
				} else {
					_, err = notes.Invoke(ctx, c, "Numbered.Copy", sample)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
		}
		call(2000)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		call(calls)
		runtime.ReadMemStats(&after)
		if n := float64(after.Mallocs-before.Mallocs) / calls; n >= 0.1 {
			t.Errorf("%s: %.2f allocations per call, want less than 0.1", name, n)
		}
	}
}

// What is configured around calls allocates no more than it needs.
func TestWhatIsAroundCallsAllocatesLittle(t *testing.T) {
	const calls = 5000
	pass := func(ctx context.Context, info *weft.CallInfo, req any, next weft.UnaryFunc) (any, error) {
		return next(ctx, info, req)
	}
	bearer := func(context.Context, string) (weft.Credential, error) {
		return weft.Credential{Scheme: "Bearer", Token: "token"}, nil
	}
	var bare float64
	for _, one := range []struct {
		name   string
		server *weft.ServerConfig
		client *weft.ClientConfig
		most   float64 // beyond those of a call without
		what   string
	}{
		{name: "nothing"},
		{"an interceptor on the server", &weft.ServerConfig{Interceptors: []weft.UnaryInterceptor{pass}}, nil, 0.5, "a sixteenth of what interceptors may keep"},
		{"an interceptor on the client", nil, &weft.ClientConfig{Interceptors: []weft.UnaryInterceptor{pass}}, 2.5, "the call, and what next gets of it"},
		{"a credential for each call", nil, &weft.ClientConfig{Credential: bearer}, 6.5, "the call, a context, the credential, and the metadata on both sides"},
	} {
		c := start(t, one.server, nil).dial(one.client)
		call := func(times int) {
			for range times {
				if err := c.Call(context.Background(), "Arith.Mul", &Args{7, 8}, nil); err != nil {
					t.Fatal(err)
				}
			}
		}
		call(2000)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		call(calls)
		runtime.ReadMemStats(&after)
		each := float64(after.Mallocs-before.Mallocs) / calls
		if one.client == nil && one.server == nil {
			bare = each
		} else if each-bare > one.most {
			t.Errorf("%s: %.2f allocations more per call, want %.1f at most: %s", one.name, each-bare, one.most, one.what)
		}
		t.Logf("%s: %.2f allocations per call", one.name, each)
	}
}

// A call by a foreign wire allocates nothing but a context for the configured timeout, without a timer and a channel.
func TestForeignCallAllocatesLittle(t *testing.T) {
	var alarm due.Alarm
	answer := make(chan struct{}, 1)
	c := dialFake(t, fakeWire{call: func(ctx context.Context, _ *weft.WireCall) error {
		answer <- struct{}{}
		if _, ok := due.Receive(ctx, &alarm, answer); !ok {
			return ctx.Err()
		}
		return nil
	}})
	args, reply := &Args{7, 8}, new(Product)
	endless, cancel := context.WithCancel(t.Context())
	defer cancel()
	limited, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	for _, one := range []struct {
		name string
		ctx  context.Context
		most float64
	}{
		{"the configured timeout", endless, 1},
		{"a deadline of its own", limited, 0},
	} {
		one.ctx.Done()
		call := func() {
			if err := c.Call(one.ctx, "Test.Call", args, reply); err != nil {
				t.Fatal(err)
			}
		}
		call()
		if n := testing.AllocsPerRun(1000, call); n > one.most {
			t.Errorf("%s: %v allocations per call, want %v at most", one.name, n, one.most)
		}
	}
}

// A client that calls methods by names which others make up does not remember them all,
// nor does the server.
func TestMethodNamesAreForgotten(t *testing.T) {
	c := start(t, nil, echo).dial(nil)
	call := func(n int) int64 {
		for i := range n {
			wantError(t, c.Call(t.Context(), fmt.Sprintf("Nobody.Method%d_%d", n, i), &Args{}, nil), weft.Unimplemented, weft.Refused)
		}
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := call(6000)
	if grown := call(12000) - before; grown > 1<<20 {
		t.Errorf("12,000 more names hold %d bytes", grown)
	}
}

// BenchmarkDial is what a client costs that connects for one call. cpu-µs/op is the
// processor time of both sides.
func BenchmarkDial(b *testing.B) {
	srv := weft.NewServer(nil)
	must(b, srv.Register(Arith{}))
	addr := serve(b, srv, "tcp://127.0.0.1:0")
	b.ReportAllocs()
	before := cputime.Used()
	for b.Loop() {
		c, err := weft.Dial(b.Context(), addr, nil)
		must(b, err)
		must(b, c.Call(b.Context(), "Arith.Mul", &Args{7, 8}, &Product{}))
		must(b, c.Close())
	}
	b.ReportMetric(float64(cputime.Used()-before)/1e3/float64(b.N), "cpu-µs/op")
}

// BenchmarkLarge is what a reply of 8 MiB costs, one call after the other. cpu-µs/op
// is the processor time of both sides.
func BenchmarkLarge(b *testing.B) {
	const size = 8 << 20
	limits := weft.Limits{MaxMessage: size}
	srv := weft.NewServer(&weft.ServerConfig{Limits: limits})
	large := make([]byte, size)
	must(b, weft.HandleRaw(srv, "Raw.Large", func(context.Context, []byte, []byte) ([]byte, error) { return large, nil }))
	c, err := weft.Dial(b.Context(), serve(b, srv, "tcp://127.0.0.1:0"), &weft.ClientConfig{Codec: raw.New(), Limits: limits})
	must(b, err)
	defer c.Close()
	var args, reply []byte
	b.SetBytes(size)
	b.ReportAllocs()
	before := cputime.Used()
	for b.Loop() {
		must(b, c.Call(b.Context(), "Raw.Large", &args, &reply))
		if len(reply) != size {
			b.Fatalf("a reply of %d bytes", len(reply))
		}
	}
	b.ReportMetric(float64(cputime.Used()-before)/1e3/float64(b.N), "cpu-µs/op")
}
