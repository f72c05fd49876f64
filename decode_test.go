package weft_test

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/codec"
	"github.com/weftrpc/weft/codec/json"
	"github.com/weftrpc/weft/internal/polltest"
)

// slowly is JSON of which large bodies are decoded when they are let go.
type slowly struct {
	codec.Codec
	decoding atomic.Int32
	let      chan struct{}
}

func (s *slowly) Decode(body []byte, v any) error {
	if len(body) > 64<<10 {
		s.decoding.Add(1)
		<-s.let
	}
	return s.Codec.Decode(body, v)
}

// TestLargeRequestsTakeTurns: few large requests of a connection are decoded at a time, those of another one and small ones go on,
// and those whose callers have given up are not decoded.
func TestLargeRequestsTakeTurns(t *testing.T) {
	slow := &slowly{Codec: json.New(), let: make(chan struct{})}
	w := start(t, &weft.ServerConfig{Codecs: []codec.Codec{slow}, Overload: weft.Overload{Off: true}}, func(s *weft.Server) error {
		return weft.Handle(s, "Test.Length", func(_ context.Context, text *string) (*int, error) { return ptr(len(*text)), nil })
	})
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	call := func(ctx context.Context, c *weft.Client, size int, want weft.Code) {
		n := 0
		if err := c.Call(ctx, "Test.Length", string(make([]byte, size)), &n); weft.CodeOf(err) != want || want == 0 && n != size {
			t.Errorf("a call with %d characters: %d, %v", size, n, err)
		}
	}
	const large, small, more = 32 << 10, 10, 4 // characters, each of which has six bytes, and calls
	most := max(1, runtime.GOMAXPROCS(0)/2)
	turns := int32(most + min(most, more))
	config := &weft.ClientConfig{Codec: json.New(), MaxConns: 1}
	c, other := w.dial(config), w.dial(config)
	var stay, gave sync.WaitGroup
	defer stay.Wait()
	for range most + more {
		stay.Go(func() { call(ctx, c, large, 0) })
	}
	gives, giveUp := context.WithCancel(ctx)
	for range more {
		gave.Go(func() { call(gives, other, large, weft.Canceled) })
	}
	polltest.True(t, time.Minute, "all calls have come, and of each connection as many are decoded as may", func() bool {
		return w.srv.Stats().InFlight == most+2*more && slow.decoding.Load() >= turns
	})
	for range 20 {
		call(ctx, c, small, 0)
	}
	if n := slow.decoding.Load(); n != turns {
		t.Errorf("%d large requests of two connections are decoded at a time, want %d", n, turns)
	}
	giveUp()
	gave.Wait()
	call(ctx, other, small, 0) // the server has read that the others were given up
	close(slow.let)
	stay.Wait()
	polltest.True(t, time.Minute, "no call is left", func() bool { return w.srv.Stats().InFlight == 0 })
	if n, want := int(slow.decoding.Load()), most+more+min(most, more); n != want {
		t.Errorf("%d large requests were decoded, want %d: those of callers that had given up were", n, want)
	}
}
