package http2

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weftrpc/weft/door/internal/gate"
	"github.com/weftrpc/weft/door/internal/hpack"
	"github.com/weftrpc/weft/internal/polltest"
)

// call makes a call whose caller reads while it is alone, and gives it up when ctx ends.
func (e *echo) call(ctx context.Context, body []byte) error {
	over := make(chan struct{}, 1)
	st := &Stream{Owner: over, Reads: true}
	c := e.conn
	c.Lock()
	if err := c.NewStreamLocked(ctx, st); err != nil {
		c.Unlock()
		return err
	}
	at := c.StartHeadersLocked(st, len(body) == 0)
	c.SetBufferLocked(c.Enc.Static(c.BufferLocked(), hpack.StaticPOST))
	c.EndHeadersLocked(at)
	if len(body) == 0 {
		c.SaidLocked(st)
	} else {
		c.QueueDataLocked(st, body, true, nil)
	}
	c.FlushSoonAndUnlock(false)
	ReadFor(ctx, c, over)
	select {
	case <-over:
		return nil
	case <-ctx.Done():
		c.Lock()
		c.ResetLocked(st, Cancel)
		c.FlushSoonAndUnlock(false)
		return ctx.Err()
	}
}

// calls is call on another goroutine.
func (e *echo) calls(ctx context.Context, body []byte) <-chan error {
	ended := make(chan error, 1)
	go func() { ended <- e.call(ctx, body) }() // it ends with the call
	return ended
}

// answer answers a call.
func (r *raw) answer(id uint32) *raw {
	r.t.Helper()
	r.until(typeHeaders, id)
	return r.add(typeHeaders, flagEndHeaders|flagEndStream, id, 0x88).send()
}

// endOf waits for the end of a call.
func endOf(t *testing.T, what string, call <-chan error) error {
	t.Helper()
	select {
	case err := <-call:
		return err
	case <-time.After(patience):
		t.Fatal(what + " has not ended")
		return nil
	}
}

// answered makes a call that is answered.
func answered(t *testing.T, e *echo, r *raw, id uint32) {
	t.Helper()
	call := e.calls(t.Context(), nil)
	r.answer(id)
	if err := endOf(t, "a call", call); err != nil {
		t.Fatalf("call %d: %v", id, err)
	}
}

// stands waits until the gate of a connection has a state.
func stands(t *testing.T, e *echo, state uint32) {
	t.Helper()
	polltest.Until(t, patience, "the gate has the state", func() error {
		if now := e.conn.gate.State(); now != state {
			return fmt.Errorf("it is %d, want %d", now, state)
		}
		return nil
	})
}

// aside makes a client whose calls have come one at a time, so that the goroutine that reads has stepped aside, for as long as every says. The
// stream that is opened next has the number next.
func aside(t *testing.T, every time.Duration, change ...func(*Config)) (e *echo, r *raw) {
	t.Helper()
	e, r = pair(t, func(c *Config) {
		c.Client, c.Timer = true, new(frequent)
		for _, f := range change {
			f(c)
		}
	})
	e.conn.Lock()
	e.conn.gate.Every = every
	e.conn.Unlock()
	r.server()
	<-e.conn.Settled()
	for id := uint32(1); id < next; id += 2 {
		answered(t, e, r, id)
	}
	if every == time.Hour {
		stands(t, e, gate.Free)
	}
	return e, r
}

const next = 2*8 + 1 // behind the calls that make the goroutine step aside

// untilDeadline makes a call that ends by its deadline, and returns when its caller reads. On a busy machine a caller may not come to that in its
// time: another one, on a connection of its own, has more.
func untilDeadline(t *testing.T, body []byte, change ...func(*Config)) (e *echo, r *raw, call <-chan error) {
	t.Helper()
	for limit := 100 * time.Millisecond; ; limit *= 4 {
		e, r = aside(t, time.Hour, change...)
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		t.Cleanup(cancel)
		call = e.calls(ctx, body)
		reads := false
		polltest.True(t, patience, "the caller reads, or its call has ended", func() bool {
			reads = e.conn.gate.State() == gate.Taken
			return reads || len(call) > 0
		})
		if reads {
			return e, r, call
		}
		if limit > patience {
			t.Fatalf("a caller does not read in %v", limit)
		}
	}
}

// TestLoneCallerReads makes calls one at a time: each caller reads its own reply, and the goroutine stays aside.
func TestLoneCallerReads(t *testing.T) {
	e, r := aside(t, time.Hour)
	for id := uint32(next); id < next+200; id += 2 {
		call := e.calls(t.Context(), nil)
		stands(t, e, gate.Taken)
		r.answer(id)
		if err := endOf(t, "the call", call); err != nil {
			t.Fatal(err)
		}
		stands(t, e, gate.Free)
	}
}

// TestLoneCallerEnds ends calls of callers that read, in every way. Another one on the connection goes well where it goes on.
func TestLoneCallerEnds(t *testing.T) {
	for name, way := range map[string]struct {
		end  func(e *echo, r *raw, cancel func())
		want error
		over bool // the connection ends
	}{
		"deadline": {func(*echo, *raw, func()) {}, context.DeadlineExceeded, false},
		"canceled": {func(_ *echo, _ *raw, cancel func()) { cancel() }, context.Canceled, false},
		"reset":    {func(_ *echo, r *raw, _ func()) { r.add(typeReset, 0, next, 0, 0, 0, byte(Cancel)).send() }, nil, false},
		"stream error": {func(_ *echo, r *raw, _ func()) { // it is malformed
			r.add(typeHeaders, flagEndHeaders|flagEndStream, next, 0x88, 0x88).send()
		}, nil, false},
		"lost":    {func(_ *echo, r *raw, _ func()) { r.conn.Close() }, nil, true},
		"closed":  {func(e *echo, _ *raw, _ func()) { e.conn.Close(errors.New("closed")) }, nil, true},
		"breach":  {func(_ *echo, r *raw, _ func()) { r.add(typeData, 0, 0, 'x').send() }, nil, true},
		"refused": {func(_ *echo, r *raw, _ func()) { r.add(typeGoAway, 0, 0, make([]byte, 8)...).send() }, nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), patience/2)
			defer cancel()
			var e *echo
			var r *raw
			var call <-chan error
			if errors.Is(way.want, context.DeadlineExceeded) {
				e, r, call = untilDeadline(t, nil)
			} else {
				e, r = aside(t, time.Hour)
				call = e.calls(ctx, nil)
				stands(t, e, gate.Taken)
			}
			r.until(typeHeaders, next)
			way.end(e, r, cancel)
			if err := endOf(t, "the call", call); !errors.Is(err, way.want) {
				t.Errorf("the call ended with %v, want %v", err, way.want)
			}
			if way.over {
				if name == "breach" {
					if code := r.goAway(); code != ProtocolError {
						t.Errorf("the connection ended with %v", code)
					}
				}
				if name != "refused" {
					wait(t, "the connection has ended", e.conn.Done())
				}
				if err := e.call(t.Context(), nil); err == nil {
					t.Error("another call was made")
				}
				return
			}
			if way.want != nil {
				r.until(typeReset, next)
				r.add(typeHeaders, flagEndHeaders|flagEndStream, next, 0x88).send() // too late
			}
			for id := uint32(next + 2); id < 3*next; id += 2 {
				answered(t, e, r, id)
			}
		})
	}
}

// TestCallersJoin has calls made while a caller reads: those are answered, whichever is answered first.
func TestCallersJoin(t *testing.T) {
	for _, reads := range []bool{true, false} {
		for _, first := range []uint32{next, next + 2} {
			t.Run(fmt.Sprintf("reads %v, %d first", reads, first), func(t *testing.T) {
				e, r := aside(t, time.Hour)
				one := e.calls(t.Context(), nil)
				stands(t, e, gate.Taken)
				r.until(typeHeaders, next)
				var other <-chan error
				if reads {
					other = e.calls(t.Context(), nil)
				} else {
					over, ended := make(chan struct{}, 1), make(chan error, 1)
					if err := e.open(t.Context(), &Stream{Owner: over}); err != nil {
						t.Fatal(err)
					}
					go func() { // it ends with the stream
						<-over
						ended <- nil
					}()
					other = ended
				}
				r.until(typeHeaders, next+2)
				for _, id := range []uint32{first, 2*next + 2 - first} {
					r.add(typeHeaders, flagEndHeaders|flagEndStream, id, 0x88).send()
					call := one
					if id != next {
						call = other
					}
					if err := endOf(t, fmt.Sprint("call ", id), call); err != nil {
						t.Error(err)
					}
				}
				for id := uint32(next + 4); id < 3*next; id += 2 {
					answered(t, e, r, id)
				}
			})
		}
	}
}

// TestGateIsShut: what comes without a caller that reads is read, while the goroutine would stay aside for long.
func TestGateIsShut(t *testing.T) {
	t.Run("stream", func(t *testing.T) {
		e, r := aside(t, time.Hour)
		over := make(chan struct{}, 1)
		if err := e.open(t.Context(), &Stream{Owner: over}); err != nil {
			t.Fatal(err)
		}
		r.answer(next)
		wait(t, "the stream has ended", over)
	})
	t.Run("ping", func(t *testing.T) {
		e, r := aside(t, time.Hour)
		pinged := make(chan error, 1)
		go func() { pinged <- e.conn.Ping(t.Context()) }() // it ends with the answer
		f := r.until(typePing, 0)
		r.add(typePing, flagAck, 0, f.payload...).send()
		if err := endOf(t, "the ping", pinged); err != nil {
			t.Error(err)
		}
	})
	t.Run("turn", func(t *testing.T) {
		e, r := aside(t, time.Hour)
		r.add(typeSettings, 0, 0, 0, settingMaxStreams, 0, 0, 0, 0).send()
		answered(t, e, r, next) // its caller reads the settings
		stands(t, e, gate.Free)
		call := e.calls(t.Context(), nil)
		polltest.True(t, patience, "the call waits for its turn", func() bool {
			e.conn.Lock()
			defer e.conn.Unlock()
			return len(e.conn.waiters) == 1
		})
		r.add(typeSettings, 0, 0, 0, settingMaxStreams, 0, 0, 0, 9).send().answer(next + 2)
		if err := endOf(t, "the call", call); err != nil {
			t.Error(err)
		}
	})
}

// TestGateTime: what the server sends unasked is read soon when no calls are made.
func TestGateTime(t *testing.T) {
	_, r := aside(t, 100*time.Millisecond)
	r.add(typePing, 0, 0, make([]byte, 8)...).send().until(typePing, 0)
	e, r := aside(t, 100*time.Millisecond)
	r.conn.Close()
	wait(t, "the connection has ended", e.conn.Done())
}

// TestLoneCallerServes has a caller that reads do what the goroutine does: it answers pings and settings, and sends on when windows open.
func TestLoneCallerServes(t *testing.T) {
	e, r := aside(t, time.Hour)
	const size = defaultWin + 1000
	call := e.calls(t.Context(), make([]byte, size))
	got := 0
	for got < defaultWin {
		got += len(r.until(typeData, next).payload)
	}
	stands(t, e, gate.Taken)
	r.add(typePing, 0, 0, make([]byte, 8)...).send().until(typePing, 0)
	r.buf = appendWindow(appendWindow(r.buf, 0, 1<<20), next, 1<<20)
	for r.send(); got < size; {
		got += len(r.until(typeData, next).payload)
	}
	r.add(typeHeaders, flagEndHeaders|flagEndStream, next, 0x88).send()
	if err := endOf(t, "the call", call); err != nil {
		t.Error(err)
	}
	stands(t, e, gate.Free)
}

// TestLoneCallerWritesSoon: a caller that reads is not held up by what it writes to a server that does not read.
func TestLoneCallerWritesSoon(t *testing.T) {
	// A write that holds the caller up ends later than endOf waits.
	_, r, call := untilDeadline(t, make([]byte, 32<<20), func(c *Config) { c.WriteTimeout = 3 * patience })
	r.buf = appendWindow(appendWindow(r.buf, 0, 1<<30), next, 1<<30)
	r.send()
	if err := endOf(t, "the call", call); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the call ended with %v", err)
	}
}

// deadlines is a socket that keeps the newest deadline of its reads.
type deadlines struct {
	*net.TCPConn
	reads atomic.Pointer[time.Time]
}

func (d *deadlines) NetConn() net.Conn { return d.TCPConn }

func (d *deadlines) SetDeadline(at time.Time) error {
	d.reads.Store(&at)
	return d.TCPConn.SetDeadline(at)
}

func (d *deadlines) SetReadDeadline(at time.Time) error {
	d.reads.Store(&at)
	return d.TCPConn.SetReadDeadline(at)
}

// TestLatePoke has a caller find a breach whose context ends at that moment: the poke does not take the time from the last frames.
func TestLatePoke(t *testing.T) {
	var under *deadlines
	e, r := pairOn(t, func(nc net.Conn) net.Conn {
		under = &deadlines{TCPConn: nc.(*net.TCPConn)}
		return under
	}, func(c *Config) { c.Client = true })
	if e.conn.gate == nil {
		t.Fatal("there is no gate")
	}
	r.server()
	<-e.conn.Settled()
	began := time.Now()
	r.add(typeData, 0, 0, 'x').send()
	if code := r.goAway(); code != ProtocolError {
		t.Errorf("the connection ended with %v", code)
	}
	e.conn.poke()
	if at := *under.reads.Load(); at.Before(began) {
		t.Errorf("the deadline of the last frames has become %v", at)
	}
}

// frequent is a timer that is always due, and counts how often it was asked.
type frequent struct{ asked atomic.Int32 }

func (f *frequent) Frequent() bool {
	f.asked.Add(1)
	return true
}

func (f *frequent) Due() bool { return true }

// TestTimer: what a client reads and writes for its callers, it reads and writes by the timer that it was given.
func TestTimer(t *testing.T) {
	var timer frequent
	e, r := pair(t, func(c *Config) { c.Client, c.Timer = true, &timer })
	r.server()
	<-e.conn.Settled()
	const calls = 20
	for id := uint32(1); id < 2*calls; id += 2 {
		answered(t, e, r, id)
	}
	if n := timer.asked.Load(); n < calls {
		t.Errorf("the timer was asked %d times for %d calls", n, calls)
	}
}
