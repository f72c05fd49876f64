package session

import (
	"context"
	"encoding/binary"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrpc/weft/internal/keepalive"
	"github.com/weftrpc/weft/internal/wire"
)

// A ping comes back whatever the peer's handlers do, from many goroutines at once, and
// on a connection whose reader has stepped aside.
func TestPing(t *testing.T) {
	r := newRig(t, setup{client: func(c *Config) { c.Resolve = nil }}, echo(), wait())
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	waiting := newCall("Echo.Wait", nil, nil)
	if st := r.client.Start(ctx, waiting); st != nil {
		t.Fatal(st)
	}
	var wg sync.WaitGroup
	for range 50 {
		for _, s := range []*Session{r.client, r.server} {
			wg.Go(func() {
				if st := s.Ping(ctx); st != nil {
					t.Errorf("ping: %+v", st)
				}
			})
		}
	}
	wg.Wait()
	r.client.Forget(waiting)
	atRest(t, r.client)
	for range 2 {
		for range 4 * loneReplies {
			mustEcho(t, r.client, "x")
		}
		if st := r.client.Ping(ctx); st != nil {
			t.Errorf("ping: %+v", st)
		}
	}
}

// However often Ping is called, the peer gets no more pings than the protocol lets it
// take, and those that come while one is on the wire share the next.
func TestPingsAreShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, setup{bubble: true}, echo())
		from, count := time.Now(), 0
		for time.Since(from) < time.Second {
			if st := r.client.Ping(t.Context()); st != nil {
				t.Fatal(st)
			}
			count++
		}
		if count < 40 || count > 60 {
			t.Errorf("%d pings one after the other in a second, want about 50", count)
		}
		var wg sync.WaitGroup
		before := r.clientConn.Out().Written()
		for range 1000 {
			wg.Go(func() {
				if st := r.client.Ping(t.Context()); st != nil {
					t.Errorf("ping: %+v", st)
				}
			})
		}
		wg.Wait()
		if n := (r.clientConn.Out().Written() - before) / (wire.HeaderSize + keepalive.PingSize); n > 2 {
			t.Errorf("1000 pings at once took %d frames", n)
		}
	})
}

// A peer that does not answer holds no caller longer than its context or PingTimeout,
// and the end of the session ends the wait.
func TestPingUnanswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := quietStranger(t, func(c *Config) { c.Limits.PingInterval, c.Limits.WriteTimeout = 0, 0 }, echo())
		p.greet(nil)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		from := time.Now()
		if st := p.s.Ping(ctx); st == nil || st.Code != wire.DeadlineExceeded || time.Since(from) != time.Second {
			t.Errorf("a ping with a deadline ended with %+v after %v", st, time.Since(from))
		}
		from = time.Now()
		if st := p.s.Ping(t.Context()); st == nil || st.Code != wire.DeadlineExceeded || time.Since(from) != 3*time.Second {
			t.Errorf("a ping without a deadline ended with %+v after %v", st, time.Since(from))
		}
		var wrong, right [keepalive.PingSize]byte
		binary.LittleEndian.PutUint64(wrong[:], 77)
		binary.LittleEndian.PutUint64(right[:], 2)
		done := make(chan *wire.Status, 1)
		go func() { done <- p.s.Ping(t.Context()) }()
		synctest.Wait()
		p.send(wire.Header{Type: wire.TypePing, Flags: wire.FlagAck}, wrong[:])
		synctest.Wait()
		select {
		case st := <-done:
			t.Errorf("the answer to another ping ended it with %+v", st)
		default:
		}
		p.s.Close(closedHere())
		if st := <-done; st == nil || st.Code != wire.Canceled {
			t.Errorf("the end of the session gave %+v", st)
		}
		cancelled, stop := context.WithCancel(t.Context())
		stop()
		if st := p.s.Ping(cancelled); st == nil || st.Code != wire.Canceled || st.Outcome != wire.NotSent {
			t.Errorf("a ping whose context had ended gave %+v", st)
		}
	})
}
