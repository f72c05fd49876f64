//go:build !race

package grpc

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"testing"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/codec/raw"
)

// TestCallAllocatesLittle makes calls one at a time with the configured timeout, and counts what they allocate on both sides. The race
// detector allocates on its own account, so this file is left out with it.
func TestCallAllocatesLittle(t *testing.T) {
	const calls = 5000
	srv := weft.NewServer(&weft.ServerConfig{Doors: []weft.Door{Door(nil)}, Logger: slog.New(slog.DiscardHandler)})
	defer srv.Close()
	if err := weft.HandleRaw(srv, "Raw.Echo", func(_ context.Context, req, buf []byte) ([]byte, error) { return append(buf, req...), nil }); err != nil {
		t.Fatal(err)
	}
	l, err := srv.Listen(t.Context(), "tcp://127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go srv.Serve(l) // it ends with the server
	c, err := weft.Dial(t.Context(), "grpc://"+l.Addr().String(), &weft.ClientConfig{
		Wires: []weft.Wire{Wire(nil)}, Codec: raw.New(), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	body, reply := []byte("a body of some bytes"), []byte(nil)
	for name, the := range map[string]struct {
		call func() error
		most float64
	}{
		"unary": {func() error { return c.Call(context.Background(), "Raw.Echo", &body, &reply) }, 6.5},
		// The call behind it waits for the answer of the one-way call, whose memory is used again: how many are in flight would depend on chance.
		"one-way and unary": {func() error {
			return errors.Join(c.Notify(context.Background(), "Raw.Echo", &body), c.Call(context.Background(), "Raw.Echo", &body, &reply))
		}, 13.7},
	} {
		t.Run(name, func(t *testing.T) {
			call := func(times int) {
				for range times {
					if err := the.call(); err != nil {
						t.Fatal(err)
					}
				}
			}
			call(2000) // pools fill, and the method becomes known as fast
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			call(calls)
			runtime.ReadMemStats(&after)
			if n := float64(after.Mallocs-before.Mallocs) / calls; n > the.most {
				t.Errorf("%.2f allocations per call, want %.1f at most", n, the.most)
			} else {
				t.Logf("%.2f allocations per call", n)
			}
		})
	}
}
