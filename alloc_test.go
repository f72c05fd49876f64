//go:build !race

package weft_test

import (
	"context"
	"runtime"
	"testing"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/codec/raw"
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

// BenchmarkDial is what a client costs that connects for one call, with the server's side.
func BenchmarkDial(b *testing.B) {
	srv := weft.NewServer(nil)
	must(b, srv.Register(Arith{}))
	addr := serve(b, srv, "tcp://127.0.0.1:0")
	b.ReportAllocs()
	for b.Loop() {
		c, err := weft.Dial(b.Context(), addr, nil)
		must(b, err)
		must(b, c.Call(b.Context(), "Arith.Mul", &Args{7, 8}, &Product{}))
		must(b, c.Close())
	}
}
