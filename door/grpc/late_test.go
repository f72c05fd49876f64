package grpc

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/doortest"
)

// lateContext has a deadline that its timer never tells of, as on a machine that is too busy to run it.
type lateContext struct {
	context.Context
	due time.Time
}

func (c lateContext) Deadline() (time.Time, bool) { return c.due, true }

// TestCanceledLate has handlers answer Canceled at the deadline, which the caller reads before its own timer fires:
// it is told that the deadline has passed.
func TestCanceledLate(t *testing.T) {
	srv := weft.NewServer(&weft.ServerConfig{Doors: []weft.Door{Door(nil)}, Logger: slog.New(slog.DiscardHandler)})
	err := weft.HandleServerStream(srv, "Test.Watch", func(ctx context.Context, _ *doortest.Unread, _ *weft.Sender[doortest.Unread]) error {
		if _, ok := ctx.Deadline(); ok {
			<-ctx.Done()
		}
		return weft.Errorf(weft.Canceled, "the stream has ended")
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
	c, err := weft.Dial(t.Context(), "grpc://"+l.Addr().String(), &weft.ClientConfig{Wires: []weft.Wire{Wire(nil)}, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, test := range []struct {
		name   string
		within time.Duration
		want   weft.Code
	}{
		{"no deadline", 0, weft.Canceled},
		{"deadline", time.Second, weft.DeadlineExceeded},
	} {
		ctx := t.Context()
		if test.within > 0 {
			ctx = lateContext{ctx, time.Now().Add(test.within)}
		}
		stream, err := weft.Subscribe[doortest.Unread, doortest.Unread](ctx, c, "Test.Watch", new(doortest.Unread))
		if err != nil {
			t.Fatal(err)
		}
		for _, err = range stream.All() {
		}
		if weft.CodeOf(err) != test.want {
			t.Errorf("%s: %v, want %v", test.name, err, test.want)
		}
	}
}
