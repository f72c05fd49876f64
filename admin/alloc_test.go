//go:build !race

package admin_test

import (
	"context"
	"runtime"
	"testing"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/admin"
)

// A server with weft.Admin makes no more allocations for a call than one without, before a tap was
// open and after it. The race detector allocates on its own account, so this file is left out with
// it.
func TestNoTapNoAllocation(t *testing.T) {
	const calls = 3000
	ctx := context.Background()
	perCall := func(c *weft.Client) float64 {
		var reply Product
		args := &Args{A: 7, B: 8}
		call := func() {
			if err := c.Call(ctx, "Arith.Mul", args, &reply); err != nil {
				t.Fatal(err)
			}
		}
		for range calls { // pools fill, and the method becomes known as fast
			call()
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range calls {
			call()
		}
		runtime.ReadMemStats(&after)
		return float64(after.Mallocs-before.Mallocs) / calls
	}
	bare := weft.NewServer(&weft.ServerConfig{Logger: quiet()})
	defer bare.Close()
	if err := weft.Handle(bare, "Arith.Mul", func(_ context.Context, a *Args) (*Product, error) { return &Product{a.A * a.B}, nil }); err != nil {
		t.Fatal(err)
	}
	l, err := bare.Listen(ctx, "tcp://127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	// It ends with the server.
	go bare.Serve(l)
	r := start(t, nil, nil)
	without := perCall(r.dial("tcp://"+l.Addr().String(), nil))
	c := r.dial("", nil)
	// What a busy machine and the garbage collector add is not there every time.
	same := func(when string) {
		t.Helper()
		with := 0.0
		for range 100 {
			if with = perCall(c); with <= without+0.1 {
				return
			}
		}
		t.Errorf("%s: %.2f allocations a call with weft.Admin, %.2f without", when, with, without)
	}
	same("before a tap")
	tap, err := r.admin("").Tap(ctx, &admin.TapRequest{Methods: []string{"Arith.Fail"}})
	if err != nil {
		t.Fatal(err)
	}
	if tapped := perCall(c); tapped <= without {
		t.Errorf("%.2f allocations a call while a tap is open, %.2f without: what is measured?", tapped, without)
	}
	tap.Close()
	same("after a tap")
}
