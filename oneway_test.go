package weft_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrpc/weft"
)

// Notify does not wait for the handler, and every notification is dealt with.
func TestNotify(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		var l ledger
		w := start(t, nil, func(s *weft.Server) error { return s.RegisterName("Ledger", &l) })
		c := w.dial(nil)
		began := time.Now()
		for range 100 {
			must(t, c.Notify(ctx, "Ledger.Book", &Args{A: 500}))
		}
		must(t, c.Peer().Notify(ctx, "Ledger.Book", &Args{A: 500}))
		if d := time.Since(began); d != 0 {
			t.Errorf("101 notifications took %v: they waited for the handler", d)
		}
		time.Sleep(time.Second)
		if n := l.booked.Load(); n != 101 {
			t.Errorf("%d were dealt with, want 101", n)
		}
		// What becomes of it is not told.
		must(t, c.Notify(ctx, "Nobody.Home", &Args{}))
		wantError(t, c.Notify(ctx, "Ledger.Book", func() {}), weft.InvalidArgument, weft.NotSent, "encode")
		// The end of the caller's context does not undo a notification.
		brief, cancel := context.WithCancel(ctx)
		must(t, c.Notify(brief, "Ledger.Book", &Args{A: 500}))
		cancel()
		time.Sleep(time.Second)
		if n := l.booked.Load(); n != 102 {
			t.Errorf("%d were dealt with, want 102", n)
		}
	})
}

// A shutdown of either side lets notifications come to their end.
func TestNotifySurvivesDrain(t *testing.T) {
	for _, who := range []string{"server", "client"} {
		t.Run(who, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var l ledger
				w := start(t, nil, func(s *weft.Server) error { return s.RegisterName("Ledger", &l) })
				c := w.dial(nil)
				for range 64 {
					must(t, c.Notify(t.Context(), "Ledger.Book", &Args{A: 2000}))
				}
				shutdown := c.Shutdown
				if who == "server" {
					shutdown = w.srv.Shutdown
				}
				must(t, shutdown(t.Context()))
				if n := l.booked.Load(); n != 64 {
					t.Errorf("%d of 64 were dealt with", n)
				}
			})
		})
	}
}

// A caller that notifies faster than its calls are handled waits, and leaves room for others.
func TestNotifyWaitsForRoom(t *testing.T) {
	for _, tt := range []struct {
		maxCalls, room int
	}{{0, 1024}, {10, 5}} {
		synctest.Test(t, func(t *testing.T) {
			var l ledger
			w := start(t, &weft.ServerConfig{Limits: weft.Limits{MaxCalls: tt.maxCalls}}, func(s *weft.Server) error {
				return s.RegisterName("Ledger", &l)
			})
			c := w.dial(&weft.ClientConfig{MaxConns: 1})
			ctx := t.Context()
			for range tt.room {
				must(t, c.Notify(ctx, "Ledger.Book", &Args{A: 5000}))
			}
			must(t, c.Call(ctx, "Ledger.Book", &Args{}, nil))
			began := time.Now()
			err := c.Notify(ctx, "Ledger.Book", &Args{}, weft.WithTimeout(time.Second))
			wantError(t, err, weft.DeadlineExceeded, weft.NotSent, "one-way calls")
			if d := time.Since(began); d != time.Second {
				t.Errorf("gave up after %v", d)
			}
			must(t, c.Notify(ctx, "Ledger.Book", &Args{})) // waits for the others
			if d := time.Since(began); d < 4*time.Second || d > 6*time.Second {
				t.Errorf("waited %v", d)
			}
			time.Sleep(time.Second)
			if n := int(l.booked.Load()); n != tt.room+2 {
				t.Errorf("%d calls were dealt with, want %d", n, tt.room+2)
			}
		})
	}
}

// A caller that waits when the connection is lost goes on with the next one.
func TestNotifyWaitsAcrossReconnect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l ledger
		serving := func(s *weft.Server) error { return s.RegisterName("Ledger", &l) }
		w := start(t, &weft.ServerConfig{Limits: weft.Limits{MaxCalls: 4}}, serving)
		c := w.dial(&weft.ClientConfig{Timeout: time.Minute})
		for range 2 {
			must(t, c.Notify(t.Context(), "Ledger.Book", &Args{A: 50_000}))
		}
		waiting := make(chan error, 1)
		go func() { waiting <- c.Notify(t.Context(), "Ledger.Book", &Args{}) }() // this goroutine ends with the call
		time.Sleep(time.Second)
		w.srv.Close()
		time.Sleep(time.Second)
		w.restart(nil, serving)
		must(t, <-waiting)
		time.Sleep(time.Second)
		if n := l.booked.Load(); n != 1 {
			t.Errorf("%d calls were dealt with, want the one that waited", n)
		}
	})
}
