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

// TestLargeRequestsTakeTurns: few large requests of a connection, and of all, are decoded at a time, small ones go on, and those whose callers
// have given up are not decoded.
func TestLargeRequestsTakeTurns(t *testing.T) {
	length := func(_ context.Context, text *string) (*int, error) { return ptr(len(*text)), nil }
	for name, register := range map[string]func(s *weft.Server) error{
		"Handle": func(s *weft.Server) error { return weft.Handle(s, "Test.Length", length) },
		"HandleReuse": func(s *weft.Server) error {
			return weft.HandleReuse(s, "Test.Length", func(_ context.Context, text *string, n *int) error {
				*n = len(*text)
				return nil
			})
		},
	} {
		t.Run(name, func(t *testing.T) { largeRequestsTakeTurns(t, register) })
	}
}

func largeRequestsTakeTurns(t *testing.T, register func(*weft.Server) error) {
	slow := &slowly{Codec: json.New(), let: make(chan struct{})}
	w := start(t, &weft.ServerConfig{Codecs: []codec.Codec{slow}, Overload: weft.Overload{Off: true}}, register)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	call := func(ctx context.Context, c *weft.Client, size int, want weft.Code) {
		n := 0
		if err := c.Call(ctx, "Test.Length", string(make([]byte, size)), &n); weft.CodeOf(err) != want || want == 0 && n != size {
			t.Errorf("a call with %d characters: %d, %v", size, n, err)
		}
	}
	const large, small, more = 32 << 10, 10, 4 // characters, each of which has six bytes, and calls
	one, all := max(1, runtime.GOMAXPROCS(0)/2), max(1, runtime.GOMAXPROCS(0)-1)
	config := &weft.ClientConfig{Codec: json.New(), MaxConns: 1}
	c, other := w.dial(config), w.dial(config)
	var stay, gave sync.WaitGroup
	defer stay.Wait()
	decoded := func(what string, inFlight, want int) {
		t.Helper()
		polltest.True(t, time.Minute, what, func() bool { return w.srv.Stats().InFlight == inFlight && int(slow.decoding.Load()) >= want })
		for range 20 {
			call(ctx, c, small, 0)
		}
		if n := int(slow.decoding.Load()); n != want {
			t.Errorf("%s: %d large requests are decoded at a time, want %d", what, n, want)
		}
	}
	for range one + more {
		stay.Go(func() { call(ctx, c, large, 0) })
	}
	decoded("one connection has all its turns", one+more, one)
	gives, giveUp := context.WithCancel(ctx)
	others := min(one, all-one)
	for range others + more {
		gave.Go(func() { call(gives, other, large, weft.Canceled) })
	}
	decoded("both have", one+others+2*more, one+others)
	giveUp()
	gave.Wait()
	call(ctx, other, small, 0) // the server has read that the others were given up
	close(slow.let)
	stay.Wait()
	polltest.True(t, time.Minute, "no call is left", func() bool { return w.srv.Stats().InFlight == 0 })
	if n, want := int(slow.decoding.Load()), one+more+others; n != want {
		t.Errorf("%d large requests were decoded, want %d: those of callers that had given up were", n, want)
	}
}
