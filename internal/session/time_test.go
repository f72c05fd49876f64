package session

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrpc/weft/internal/wire"
	"github.com/weftrpc/weft/transport/mem"
)

// bubble runs a test in fake time.
func bubble(t *testing.T, name string, f func(t *testing.T)) {
	t.Run(name, func(t *testing.T) { synctest.Test(t, f) })
}

// near fails the test when got is not from want to want+slack.
func near(t *testing.T, what string, got, want, slack time.Duration) {
	t.Helper()
	if got < want || got > want+slack {
		t.Errorf("%s after %v, want %v to %v", what, got, want, want+slack)
	}
}

// A deadline ends the call where it was made and its context where it is answered,
// at the same moment, however far away it is.
func TestDeadline(t *testing.T) {
	for _, d := range []time.Duration{time.Millisecond, 7 * time.Millisecond, time.Second, 10 * time.Second, time.Hour, 2 * time.Hour} {
		bubble(t, d.String(), func(t *testing.T) {
			ran := make(chan time.Duration, 1)
			from := time.Now()
			r := newRig(t, setup{bubble: true}, unary("Wait.Time", func(ctx *Context, _ []byte) ([]byte, *wire.Status) {
				if due, ok := ctx.Deadline(); !ok || due.Sub(from) < d || due.Sub(from) > d+d/1000+time.Millisecond {
					t.Errorf("the handler's deadline is in %v, %v, want %v", due.Sub(from), ok, d)
				}
				<-ctx.Done()
				ran <- time.Since(from)
				return nil, ended(ctx)
			}))
			c := newCall("Wait.Time", nil, nil)
			c.Timeout = int64(d)
			st := do(context.Background(), r.client, c)
			if st == nil || st.Code != wire.DeadlineExceeded || st.Outcome == wire.NotSent || st.Outcome == wire.Refused {
				t.Errorf("the call ended with %+v, want DeadlineExceeded, Unknown or Executed", st)
			}
			near(t, "the call ended", time.Since(from), d, 0)
			near(t, "the handler's context ended", <-ran, d, d/1000+time.Millisecond)
		})
	}
}

// Many calls with deadlines in any order share one timer, and each ends at its own time.
func TestDeadlineOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, setup{bubble: true}, wait(), echo())
		var wg sync.WaitGroup
		for i := range 50 {
			wg.Go(func() {
				time.Sleep(time.Duration(i%5) * 3 * time.Millisecond)
				d := time.Duration((i*37)%50+1) * 10 * time.Millisecond
				from := time.Now()
				c := newCall("Echo.Wait", nil, nil)
				c.Timeout = int64(d)
				if i%2 == 0 {
					c.Timeout, c.Deadline = int64(time.Hour), now()+int64(d)
				}
				if st := do(context.Background(), r.client, c); st == nil || st.Code != wire.DeadlineExceeded {
					t.Errorf("call %d ended with %+v", i, st)
				}
				near(t, fmt.Sprint("call ", i, " ended"), time.Since(from), d, 0)
			})
			wg.Go(func() { mustEcho(t, r.client, "no deadline passes here") })
		}
		wg.Wait()
	})
}

// A call whose time is over before it is sent is not sent.
func TestDeadlinePassed(t *testing.T) {
	r := newRig(t, setup{}, echo())
	for _, due := range []int64{now() - 1, now() - int64(time.Hour), 1 - 1<<62} {
		c := newCall("Echo.Say", nil, nil)
		c.Deadline = due
		if st := do(context.Background(), r.client, c); st == nil || st.Code != wire.DeadlineExceeded || st.Outcome != wire.NotSent {
			t.Errorf("deadline %d: %+v, want DeadlineExceeded, NotSent", due, st)
		}
	}
}

// A deadline that never comes is none, also where it leaves no room to count on.
func TestDeadlineFarAway(t *testing.T) {
	r := newRig(t, setup{}, nap(20*time.Millisecond))
	never := time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, due := range []int64{0, 1 << 62, 1<<63 - 1, At(never)} {
		for _, timeout := range []int64{0, 1 << 62, 1<<63 - 1} {
			c := newCall("Take.Nap", nil, nil)
			c.Deadline, c.Timeout = due, timeout
			if st := do(context.Background(), r.client, c); st != nil {
				t.Errorf("deadline %d and timeout %d: %+v", due, timeout, st)
			}
		}
	}
	if d := time.Duration(At(time.Now()) - Nanos()); d < -time.Second || d > time.Second {
		t.Errorf("now is %v away on the session's clock", d)
	}
}

// A request that is over when it has come whole is refused, and not run.
func TestDeadlineWhileArriving(t *testing.T) {
	p := newStranger(t, nil, echo())
	p.greet(nil)
	p.bind(0, "Echo.Say")
	p.send(wire.Header{Type: wire.TypeRequest, Flags: wire.FlagMore, Arg: 10_000}, []byte("begun"))
	time.Sleep(20 * time.Millisecond)
	p.send(wire.Header{Type: wire.TypeChunk}, []byte("complete"))
	if h, _ := p.expect(wire.TypeError); wire.Code(h.Code) != wire.DeadlineExceeded || h.Flags&wire.FlagRefused == 0 {
		t.Errorf("the answer is %+v, want DeadlineExceeded, REFUSED", h)
	}
}

// A caller that cancels returns at once; the handler is told at once.
func TestCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, over := make(chan struct{}, 1), make(chan error, 1)
		r := newRig(t, setup{bubble: true}, unary("Wait.Err", func(ctx *Context, _ []byte) ([]byte, *wire.Status) {
			began <- struct{}{}
			<-ctx.Done()
			time.Sleep(time.Second) // it takes its time
			over <- ctx.Err()
			return []byte("late"), nil
		}), echo())
		ctx, cancel := context.WithCancelCause(context.Background())
		go func() {
			<-began
			cancel(fmt.Errorf("changed my mind"))
		}()
		from := time.Now()
		st := do(ctx, r.client, newCall("Wait.Err", nil, nil))
		if st == nil || st.Code != wire.Canceled || st.Outcome != wire.OutcomeUnknown || !strings.Contains(st.Message, "changed my mind") {
			t.Errorf("the call ended with %+v", st)
		}
		near(t, "the caller was told", time.Since(from), 0, 0)
		r.client.w.Lock()
		if open := r.client.out.Open(); open != 1 {
			t.Errorf("%d slots are taken before the handler has returned, want 1", open)
		}
		r.client.w.Unlock()
		if err := <-over; err != context.Canceled {
			t.Errorf("the handler's context says %v", err)
		}
		mustEcho(t, r.client, "after")
	})
}

// A connection on which nothing comes back is found dead, sooner when calls are open.
func TestPingTimeout(t *testing.T) {
	for _, tc := range []struct {
		name string
		open bool
		want time.Duration
	}{{"idle", false, 33 * time.Second}, {"busy", true, 5 * time.Second}} {
		bubble(t, tc.name, func(t *testing.T) {
			r := newRig(t, setup{bubble: true}, wait())
			r.broken = true
			from := time.Now()
			r.clientConn.In().Stall()
			result := make(chan *wire.Status, 1)
			if tc.open {
				go func() { result <- do(context.Background(), r.client, newCall("Echo.Wait", nil, nil)) }()
			}
			<-r.client.Done()
			near(t, "the connection was given up", time.Since(from), tc.want, 100*time.Millisecond)
			if tc.open {
				if st := <-result; st == nil || st.Code != wire.Unavailable || st.Outcome != wire.OutcomeUnknown {
					t.Errorf("the call ended with %+v, want Unavailable, Unknown", st)
				}
			}
			r.clientConn.In().Resume()
		})
	}
}

// Silence is no reason to end a connection as long as pings are answered.
func TestPingKeepsAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, setup{bubble: true}, wait(), echo())
		ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
		defer cancel()
		if st := do(ctx, r.client, newCall("Echo.Wait", nil, nil)); st == nil || st.Code != wire.DeadlineExceeded {
			t.Errorf("the call ended with %+v", st)
		}
		time.Sleep(time.Hour)
		mustEcho(t, r.client, "alive")
		// A server without pings, and one without a limit for writes.
		for _, change := range []func(*Config){
			func(c *Config) { c.Limits.PingInterval = 0 },
			func(c *Config) { c.Limits.WriteTimeout = 0 },
			func(c *Config) { c.Limits.PingInterval, c.Limits.WriteTimeout = 0, 0 },
		} {
			r := newRig(t, setup{bubble: true, client: change, server: change}, echo())
			time.Sleep(time.Hour)
			mustEcho(t, r.client, "alive")
			r.end()
		}
	})
}

// A peer that reads nothing is cut after WriteTimeout; what waits for it stays
// bounded, and other connections of the same side do not notice.
func TestWriteStall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		large := unary("Get.Large", func(*Context, []byte) ([]byte, *wire.Status) {
			<-release
			return pattern(16_000), nil
		})
		quiet := func(c *Config) { c.Limits.PingInterval, c.Limits.PingIdle = 0, 0 } // else the client ends it first
		r := newRig(t, setup{bubble: true, client: quiet}, large, echo())
		r.broken = true
		r.clientConn.In().Stall()
		for range 2000 {
			c := newCall("Get.Large", nil, nil)
			c.Async = func(*Call) {}
			if st := r.client.Start(context.Background(), c); st != nil {
				t.Fatalf("start: %+v", st)
			}
		}
		time.Sleep(time.Second)
		close(release) // now all of them answer
		from := time.Now()
		synctest.Wait()
		r.server.w.Lock()
		held := r.server.w.PendingLocked()
		r.server.w.Unlock()
		if held > 2<<20 {
			t.Errorf("the server holds %d bytes for a peer that does not read", held)
		}
		<-r.server.Done()
		near(t, "the connection was cut", time.Since(from), 10*time.Second, 5*time.Second)
		r.clientConn.In().Resume()
	})
}

// A peer that reads slowly, but reads, is not cut.
func TestSlowButAlive(t *testing.T) {
	for _, tt := range []struct {
		buffer int           // what the system takes without sending it
		pause  time.Duration // after 4 kB
	}{
		{16 << 10, 100 * time.Millisecond},
		{208 << 10, 300 * time.Millisecond},
	} {
		synctest.Test(t, func(t *testing.T) {
			unasked := func(c *Config) { c.Limits.PingInterval, c.Limits.PingIdle = 0, 0 } // a ping waits behind all that
			r := newRig(t, setup{bubble: true, client: unasked, server: unasked, pipe: &mem.PipeConfig{Buffer: tt.buffer}}, echo())
			stop := make(chan struct{})
			r.serverConn.In().StallAfter(0) // now, or much may have passed before the goroutine begins
			go func() {
				for at := int64(0); ; at += 4 << 10 {
					r.serverConn.In().StallAfter(at)
					select {
					case <-stop:
						r.serverConn.In().Resume()
						return
					case <-time.After(tt.pause):
					}
				}
			}()
			var reply []byte
			c := newCall("Echo.Say", pattern(3<<20), &reply)
			from := time.Now()
			if st := do(context.Background(), r.client, c); st != nil || len(reply) != 3<<20 {
				t.Errorf("after %v: %d bytes, %+v", time.Since(from), len(reply), st)
			}
			close(stop)
		})
	}
}

// Callers that wait for room in the write buffer give up at their deadline, or
// when they are canceled.
func TestWaitForRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, setup{bubble: true, client: func(c *Config) { c.Limits.WriteBuffer = 10_000; c.Limits.WriteTimeout = time.Minute }}, echo())
		r.broken = true
		r.clientConn.Out().Stall()
		var wg sync.WaitGroup
		for range 30 { // the pipe and the buffer are filled; the writing goroutine is held up
			wg.Go(func() {
				c := newCall("Echo.Say", pattern(16_000), nil)
				c.Timeout = int64(time.Millisecond)
				do(context.Background(), r.client, c)
			})
		}
		synctest.Wait()
		from := time.Now()
		c := newCall("Echo.Say", []byte("x"), nil)
		c.Timeout = int64(time.Second)
		if st := do(context.Background(), r.client, c); st == nil || st.Code != wire.DeadlineExceeded || st.Outcome != wire.NotSent {
			t.Errorf("a caller with a timeout: %+v, want DeadlineExceeded, NotSent", st)
		}
		near(t, "the caller gave up", time.Since(from), time.Second, 0)
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if st := do(ctx, r.client, newCall("Echo.Say", []byte("x"), nil)); st == nil || st.Code != wire.DeadlineExceeded || st.Outcome != wire.NotSent {
			t.Errorf("a caller whose context ends: %+v, want DeadlineExceeded, NotSent", st)
		}
		near(t, "the callers gave up", time.Since(from), 2*time.Second, 0)
		r.clientConn.Out().Resume()
		wg.Wait()
	})
}

// A handshake that never ends is ended.
func TestHandshakeTimeout(t *testing.T) {
	for _, said := range []string{"", "\xf7weft", wire.Preface, wire.Preface + "\x00"} {
		bubble(t, fmt.Sprintf("%d bytes", len(said)), func(t *testing.T) {
			client, server := mem.Pipe(nil)
			cfg := newConfig(NewExecutor(), nil)
			go client.Write([]byte(said))
			from := time.Now()
			_, st := Accept(context.Background(), server, cfg, nil)
			if st == nil || st.Outcome == wire.Executed {
				t.Errorf("accept ended with %+v", st)
			}
			near(t, "accept ended", time.Since(from), 5*time.Second, time.Second)
			var b [100]byte
			n, _ := client.Read(b[:])
			if told := n > 0; told != (len(said) >= len(wire.Preface)) {
				t.Errorf("the client was told %q", b[:n])
			}
			client.Close()
		})
	}
	bubble(t, "dial", func(t *testing.T) {
		client, server := mem.Pipe(nil)
		from := time.Now()
		_, st := Dial(context.Background(), client, newConfig(NewExecutor(), nil), "")
		if st == nil || st.Code != wire.Unavailable || st.Outcome != wire.NotSent {
			t.Errorf("dial ended with %+v", st)
		}
		near(t, "dial ended", time.Since(from), 5*time.Second, 0)
		server.Close()
	})
	bubble(t, "context", func(t *testing.T) {
		client, server := mem.Pipe(nil)
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_, st := Dial(ctx, client, newConfig(NewExecutor(), nil), "")
		if st == nil || st.Code != wire.DeadlineExceeded || st.Outcome != wire.NotSent {
			t.Errorf("dial ended with %+v", st)
		}
		server.Close()
	})
}

// A call whose time ends while it waits behind others of the same read is refused,
// though it would run on the reader.
func TestDeadlinePassesWithinARead(t *testing.T) {
	ran := false
	wait := fast(&Method{Name: "Wait.A", Serve: func(r *Request) {
		time.Sleep(2 * time.Millisecond)
		r.ReplyBytes(nil)
	}})
	late := fast(&Method{Name: "Late.B", Serve: func(r *Request) {
		ran = true
		r.ReplyBytes(nil)
	}})
	p := newStranger(t, nil, wait, late)
	p.greet(nil)
	p.bind(0, wait.Name)
	p.bind(1, late.Name)
	p.pong()
	b := p.bytes(wire.Header{Type: wire.TypeRequest, ID: wire.ID(0, 0)}, nil)
	b = append(b, p.bytes(wire.Header{Type: wire.TypeRequest, Code: 1, Arg: 1000, ID: wire.ID(1, 0)}, nil)...)
	p.write(b)
	h, body := p.expect(wire.TypeError)
	if wire.Code(h.Code) != wire.DeadlineExceeded || h.Flags&wire.FlagRefused == 0 || h.ID != wire.ID(1, 0) || ran {
		t.Errorf("got %+v, %q, and the handler ran: %v; want the call refused", h, body, ran)
	}
	p.send(wire.Header{Type: wire.TypeRequest, Code: 1, Arg: 60_000_000, ID: wire.ID(1, 1)}, nil)
	for h.ID != wire.ID(1, 1) { // the first reply may come late
		h, _ = p.expect(wire.TypeReply)
	}
	if !ran {
		t.Error("a call with time enough did not run")
	}
}

// A link that carries nothing any more is found within five seconds of a call, whenever the call is
// made.
func TestSilentLink(t *testing.T) {
	for _, idle := range []time.Duration{0, 300 * time.Millisecond, 1900 * time.Millisecond, 29 * time.Second, time.Hour + time.Millisecond} {
		bubble(t, idle.String(), func(t *testing.T) {
			r := newRig(t, setup{bubble: true}, echo())
			r.broken = true
			mustEcho(t, r.client, "before")
			time.Sleep(idle)
			r.clientConn.In().Stall()
			r.serverConn.In().Stall()
			from := time.Now()
			_, st := invoke(r.client, "Echo.Say", "x")
			if st == nil || st.Code != wire.Unavailable || st.Outcome != wire.OutcomeUnknown {
				t.Errorf("the call ended with %+v, want Unavailable, Unknown", st)
			}
			if took := time.Since(from); took > 5*time.Second {
				t.Errorf("the call ended after %v, want 5 s at most", took)
			}
			r.clientConn.In().Resume()
			r.serverConn.In().Resume()
		})
	}
}
