package weft_test

import (
	"context"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/codec"
	"github.com/weftrpc/weft/codec/json"
	"github.com/weftrpc/weft/compress"
	"github.com/weftrpc/weft/compress/gzip"
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

// lengths answers each message of a stream by its length.
func lengths(_ context.Context, s *weft.Stream[string, int]) error {
	for text, err := range s.All() {
		if err != nil {
			return err
		}
		if err := s.Send(ptr(len(*text))); err != nil {
			return err
		}
	}
	return nil
}

// TestLargeMessagesOfStreamsTakeTurns: so do messages of streams, in both directions of a connection, also those that are large once
// they are restored. A handler that waits for a message holds no turn.
func TestLargeMessagesOfStreamsTakeTurns(t *testing.T) {
	for name, compressor := range map[string]compress.Compressor{"plain": nil, "compressed": gzip.New()} {
		t.Run(name, func(t *testing.T) {
			slow := &slowly{Codec: json.New(), let: make(chan struct{})}
			var once sync.Once
			let := func() { once.Do(func() { close(slow.let) }) }
			defer let()
			w := start(t, &weft.ServerConfig{Codecs: []codec.Codec{slow}, Compressors: compressors(compressor)}, func(s *weft.Server) error {
				return weft.HandleStream(s, "Test.Lengths", lengths)
			})
			c := w.dial(&weft.ClientConfig{Codec: json.New(), MaxConns: 1, Compressor: compressor, Compressors: compressors(compressor)})
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			type chat = weft.Stream[int, string]
			open := func(ctx context.Context) *chat {
				s, err := weft.OpenStream[string, int](ctx, c, "Test.Lengths")
				must(t, err)
				t.Cleanup(func() { s.Close() })
				return s
			}
			say := func(s *chat, n int) {
				must(t, s.Send(ptr(string(make([]byte, n)))))
			}
			hear := func(s *chat, want int) {
				t.Helper()
				if n, err := s.Recv(); err != nil || *n != want {
					t.Errorf("the answer is %v, %v, want %d", n, err, want)
				}
			}
			const large, small, more = 32 << 10, 10, 4 // characters, each of which has six bytes
			one := max(1, runtime.GOMAXPROCS(0)/2)
			other := open(ctx)
			say(other, small)
			hear(other, small)
			gives, giveUp := context.WithCancel(ctx)
			var stay []*chat
			up, _ := traffic(w, func() {
				for range one + more {
					stay = append(stay, open(ctx))
					say(stay[len(stay)-1], large)
				}
				polltest.True(t, time.Minute, "as many as may be are decoded", func() bool { return int(slow.decoding.Load()) >= one })
				say(open(gives), large) // it waits for its turn until it is given up
				for range 20 {
					say(other, small)
					hear(other, small)
				}
			})
			if least := int64((one + more + 1) * large * 6); compressor == nil && up < least {
				t.Fatalf("%d bytes were sent, want %d at least", up, least)
			}
			polltest.True(t, time.Minute, "all has come", func() bool { return w.srv.Peers()[0].Traffic().Read >= uint64(up) })
			for range 20 {
				say(other, small)
				hear(other, small)
			}
			if n := int(slow.decoding.Load()); n != one {
				t.Fatalf("%d large messages are decoded at a time, want %d", n, one)
			}
			giveUp()
			say(other, small) // the server has read that one was given up
			hear(other, small)
			polltest.True(t, time.Minute, "one stream is gone", func() bool { return w.srv.Stats().InFlight == one+more+1 })
			let()
			for _, s := range stay {
				hear(s, large)
			}
			if n, want := int(slow.decoding.Load()), one+more; n != want {
				t.Errorf("%d large messages were decoded, want %d: that of a caller that had given up was", n, want)
			}
		})
	}
}

// compressors is a list of one, or none.
func compressors(c compress.Compressor) []compress.Compressor {
	if c == nil {
		return nil
	}
	return []compress.Compressor{c}
}

// waiting is a compressor whose large results wait until they are let go.
type waiting struct {
	compress.Compressor
	restoring atomic.Int32
	let       chan struct{}
}

func (w *waiting) Decompress(dst, src []byte, most int) ([]byte, error) {
	if most > 64<<10 {
		w.restoring.Add(1)
		<-w.let
	}
	return w.Compressor.Decompress(dst, src, most)
}

// TestLargeRequestsAreRestoredInTurns: few requests that become large are decompressed at a time, and small ones go on.
func TestLargeRequestsAreRestoredInTurns(t *testing.T) {
	slow := &waiting{Compressor: gzip.New(), let: make(chan struct{})}
	w := start(t, &weft.ServerConfig{Compressors: []compress.Compressor{slow}, Overload: weft.Overload{Off: true}}, func(s *weft.Server) error {
		return weft.Handle(s, "Test.Length", func(_ context.Context, text *string) (*int, error) { return ptr(len(*text)), nil })
	})
	c := w.dial(&weft.ClientConfig{MaxConns: 1, Compressor: gzip.New(), Timeout: 2 * time.Minute})
	call := func(n int) {
		got := 0
		if err := c.Call(t.Context(), "Test.Length", strings.Repeat("x", n), &got); err != nil || got != n {
			t.Errorf("a call with %d characters: %d, %v", n, got, err)
		}
	}
	const large, small, more = 100 << 10, 2 << 10, 4
	one := max(1, runtime.GOMAXPROCS(0)/2)
	var all sync.WaitGroup
	defer all.Wait()
	var once sync.Once
	let := func() { once.Do(func() { close(slow.let) }) }
	defer let()
	for range one + more {
		all.Go(func() { call(large) })
	}
	polltest.True(t, time.Minute, "all calls have come", func() bool { return w.srv.Stats().InFlight == one+more && int(slow.restoring.Load()) >= one })
	for range 20 {
		call(small)
	}
	if n := int(slow.restoring.Load()); n != one {
		t.Errorf("%d large requests are restored at a time, want %d", n, one)
	}
}
