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
	const most, size = 32 << 20, 600 << 10 // a message in its buffer takes less than an eighth of what there is
	w := start(t, &weft.ServerConfig{MaxMemory: most}, func(s *weft.Server) error {
		return weft.HandleRaw(s, "Raw.Hold", func(_ context.Context, req, buf []byte) ([]byte, error) {
			if len(req) > 1 {
				<-release
			}
			return buf, nil
		})
	})
	ctx := t.Context()
	large := make([]byte, size)
	done, running := make(chan error, 100), 0
	// fill makes calls until one is refused: there may be room for one more when what the last one took beside its message was given back.
	fill := func(c *weft.Client) *weft.Error {
		for ; len(done) == 0; running++ {
			go func() { done <- c.Call(ctx, "Raw.Hold", &large, nil) }() // it ends with the call
			polltest.True(t, time.Minute, "the call runs, or is refused", func() bool { return len(done) > 0 || w.srv.Stats().InFlight == running+1 })
		}
		running--
		return wantError(t, <-done, weft.ResourceExhausted, weft.Refused, "MaxMemory")
	}
	fill(w.dial(&weft.ClientConfig{Codec: raw.New(), Timeout: -1}))
	if running < 8 || running > most/size {
		t.Errorf("%d calls of %d bytes run where there are %d", running, size, most)
	}
	second := w.dial(&weft.ClientConfig{Codec: raw.New(), Timeout: -1})
	if e := fill(second); e.Reason != weft.ReasonTooManyBytes {
		t.Errorf("the reason is %q", e.Reason)
	}
	small := []byte("x")
	must(t, second.Call(ctx, "Raw.Hold", &small, nil))
	close(release)
	for range running {
		must(t, <-done)
	}
	must(t, second.Call(ctx, "Raw.Hold", &large, nil))
}
