package weft_test

import (
	"context"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/codec/raw"
	"github.com/weftrpc/weft/internal/polltest"
)

// What a server holds for all its connections is bounded, and what one of them is refused for
// the sake of others may be tried again.
func TestMaxMemory(t *testing.T) {
	release := make(chan struct{})
	w := start(t, &weft.ServerConfig{MaxMemory: 1 << 20}, func(s *weft.Server) error {
		return weft.HandleRaw(s, "Raw.Hold", func(_ context.Context, req, buf []byte) ([]byte, error) {
			if len(req) > 1 {
				<-release
			}
			return buf, nil
		})
	})
	ctx := t.Context()
	large := make([]byte, 600<<10)
	done := make(chan error, 2)
	var reply []byte
	first := w.dial(&weft.ClientConfig{Codec: raw.New()})
	go func() { done <- first.Call(ctx, "Raw.Hold", &large, &reply) }() // this goroutine ends with the call
	polltest.True(t, time.Minute, "the first call runs", func() bool { return w.srv.Stats().InFlight == 1 })
	second := w.dial(&weft.ClientConfig{Codec: raw.New()})
	e := wantError(t, second.Call(ctx, "Raw.Hold", &large, nil), weft.ResourceExhausted, weft.Refused, "MaxMemory")
	if e.Reason != weft.ReasonTooManyBytes {
		t.Errorf("the reason is %q", e.Reason)
	}
	small := []byte("x")
	must(t, second.Call(ctx, "Raw.Hold", &small, nil))
	close(release)
	must(t, <-done)
	must(t, second.Call(ctx, "Raw.Hold", &large, nil))
}
