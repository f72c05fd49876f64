//go:build !race

package weft_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/codec/raw"
	"github.com/weftrpc/weft/internal/cputime"
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

// A call with an interceptor on the server allocates for itself no more than one without, and one on the client what a call with options does.
func TestInterceptorAllocatesLittle(t *testing.T) {
	const calls = 5000
	pass := func(ctx context.Context, info *weft.CallInfo, req any, next weft.UnaryFunc) (any, error) {
		return next(ctx, info, req)
	}
	each := make(map[string]float64)
	for name, p := range map[string]weft.Plugin{"": {}, "server": {Server: pass}, "client": {Client: pass}} {
		on, at := &weft.ServerConfig{}, &weft.ClientConfig{}
		if p.Name = name; name != "" {
			on.Plugins, at.Plugins = []weft.Plugin{p}, []weft.Plugin{p}
		}
		c := start(t, on, nil).dial(at)
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
		each[name] = float64(after.Mallocs-before.Mallocs) / calls
	}
	if more := each["server"] - each[""]; more >= 0.5 {
		t.Errorf("%.2f allocations more per call with one on the server, want about a sixteenth", more)
	}
	if more := each["client"] - each[""]; more >= 2.5 {
		t.Errorf("%.2f allocations more per call with one on the client, want 2: the call, and what next gets of it", more)
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
