package grpc

import (
	"context"
	"log/slog"
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
	if len(body) > largestInline {
		s.decoding.Add(1)
		<-s.let
	}
	return s.Codec.Decode(body, v)
}

// TestLargeRequestsTakeTurns: few large requests of a connection are decoded at a time, and small ones go on.
func TestLargeRequestsTakeTurns(t *testing.T) {
	slow := &slowly{Codec: json.New(), let: make(chan struct{})}
	srv := weft.NewServer(&weft.ServerConfig{Doors: []weft.Door{Door(nil)}, Logger: slog.New(slog.DiscardHandler), Codecs: []codec.Codec{slow},
		Overload: weft.Overload{Off: true}})
	err := weft.Handle(srv, "Test.Length", func(_ context.Context, text *string) (*int, error) {
		n := len(*text)
		return &n, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	l, err := srv.Listen(t.Context(), "tcp://127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	running.Go(func() { _ = srv.Serve(l) })
	defer running.Wait()
	defer srv.Close()
	c, err := weft.Dial(t.Context(), "grpc://"+l.Addr().String(), &weft.ClientConfig{Wires: []weft.Wire{Wire(nil)}, Codec: json.New(), MaxConns: 1,
		Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	call := func(size int) {
		n := 0
		if err := c.Call(ctx, "Test.Length", string(make([]byte, size)), &n); err != nil || n != size {
			t.Errorf("a call with %d characters: %d, %v", size, n, err)
		}
	}
	const large, more = 32 << 10, 4 // characters, each of which has six bytes, and calls
	most := max(1, runtime.GOMAXPROCS(0)/2)
	var calls sync.WaitGroup
	defer calls.Wait()
	for range most + more {
		calls.Go(func() { call(large) })
	}
	polltest.True(t, time.Minute, "all calls have come, and as many are decoded as may", func() bool {
		return srv.Stats().InFlight == most+more && int(slow.decoding.Load()) >= most
	})
	for range 20 {
		call(10)
	}
	if n := int(slow.decoding.Load()); n != most {
		t.Errorf("%d large requests of a connection are decoded at a time, want %d", n, most)
	}
	close(slow.let)
}
