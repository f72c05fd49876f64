package http2

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrpc/weft/door/internal/hpack"
	"github.com/weftrpc/weft/internal/polltest"
	"github.com/weftrpc/weft/internal/session"
)

// whole is a connection of which a write that has run out of time cannot be gone on with, as one with TLS.
type whole struct{ net.Conn }

// NetConn is the socket.
func (w whole) NetConn() net.Conn { return w.Conn }

// TestLoneCallerWrites makes calls one after the other on a connection whose writes cannot be gone on with: each caller writes itself. What
// the connection may not take at once, another goroutine writes.
func TestLoneCallerWrites(t *testing.T) {
	var handed atomic.Int64
	e, r := pairOn(t, func(nc net.Conn) net.Conn { return whole{nc} }, func(c *Config) {
		c.Client = true
		run := c.Go
		c.Go = func(f func()) {
			handed.Add(1)
			run(f)
		}
	})
	r.server()
	<-e.conn.Settled()
	polltest.True(t, patience, "nothing is being written", func() bool {
		e.conn.mu.Lock()
		defer e.conn.mu.Unlock()
		return !e.conn.busy && len(e.conn.buf) == 0
	})
	before := handed.Load()
	for id := uint32(1); id < 4000; id += 2 { // more bytes than the connection is known to take
		if err := e.open(t.Context(), new(Stream)); err != nil {
			t.Fatal(err)
		}
		r.until(typeHeaders, id)
		r.add(typeHeaders, flagEndHeaders|flagEndStream, id, 0x88).send()
		<-e.headers
	}
	if n := handed.Load() - before; n != 0 {
		t.Errorf("%d of 2000 calls were written by another goroutine", n)
	}
	e.conn.Lock()
	for range (8 << 20) / (headerSize + 4) {
		e.conn.buf = appendWindow(e.conn.buf, 0, 1)
	}
	e.conn.FlushSoonAndUnlock(false) // the server does not read
	if n := handed.Load() - before; n != 1 {
		t.Errorf("%d goroutines were to write what the server does not read, want 1", n)
	}
}

// looks is a context that counts how often it was asked for its end.
type looks struct {
	context.Context
	n atomic.Int64
}

func (l *looks) Err() error {
	l.n.Add(1)
	return l.Context.Err()
}

// TestWaitsForItsOwnWindow answers many streams while one waits for its window: that one is not woken for each.
func TestWaitsForItsOwnWindow(t *testing.T) {
	e, r := pair(t, nil)
	e.apart = true
	r.greet().setting(settingWindow, 1).get(1, "/hold", true).get(3, "/", true).send().read(3)
	e.conn.Lock()
	st := e.conn.open.Get(1)
	at := e.conn.StartHeadersLocked(st, false)
	e.conn.SetBufferLocked(e.conn.Enc.Static(e.conn.BufferLocked(), hpack.Static200))
	e.conn.EndHeadersLocked(at)
	e.conn.QueueDataLocked(st, []byte("xx"), false, nil)
	e.conn.FlushAndUnlock(false)
	r.until(typeData, 1)
	ctx, sent := &looks{Context: t.Context()}, make(chan struct{})
	go func() { // it ends when the window is open
		defer close(sent)
		e.conn.Lock()
		defer e.conn.Unlock()
		e.conn.AwaitSentLocked(ctx, st)
	}()
	polltest.True(t, patience, "it waits", func() bool { return ctx.n.Load() > 0 })
	const streams = 100
	for id := uint32(5); id < 5+2*streams; id += 2 {
		r.answered(id)
	}
	if n := ctx.n.Load(); n > streams/10 {
		t.Errorf("it has looked %d times while %d others were answered", n, streams)
	}
	r.window(1, 1).send().until(typeData, 1)
	wait(t, "what it waited for was sent", sent)
}

// TestWaitersEnd ends streams, and their connection, while goroutines wait for their windows.
func TestWaitersEnd(t *testing.T) {
	for name, end := range map[string]func(e *echo, r *raw, cancel func()){
		"reset":   func(_ *echo, r *raw, _ func()) { r.add(typeReset, 0, 1, 0, 0, 0, byte(Cancel)).send() },
		"lost":    func(_ *echo, r *raw, _ func()) { r.conn.Close() },
		"context": func(_ *echo, _ *raw, cancel func()) { cancel() },
		"failed write": func(e *echo, _ *raw, _ func()) {
			e.conn.Lock()
			e.conn.busy = true
			e.conn.brokenAndUnlock(net.ErrClosed)
		},
	} {
		t.Run(name, func(t *testing.T) {
			e, r := pair(t, nil)
			e.apart = true
			r.greet().setting(settingWindow, 0).get(1, "/hold", true).get(3, "/", true).send().read(3)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			e.conn.Lock()
			st := e.conn.open.Get(1)
			e.conn.QueueDataLocked(st, []byte("x"), false, nil)
			e.conn.Unlock()
			stop := context.AfterFunc(ctx, func() {
				e.conn.Lock()
				e.conn.WakeLocked(st)
				e.conn.Unlock()
			})
			defer stop()
			waits, over := make(chan struct{}), make(chan struct{})
			go func() { // it ends with the stream
				defer close(over)
				e.conn.Lock()
				defer e.conn.Unlock()
				close(waits)
				e.conn.AwaitSentLocked(ctx, st)
			}()
			<-waits
			end(e, r, cancel)
			wait(t, "the goroutine goes on", over)
		})
	}
}

// piped makes a server on a connection that takes what is written when it is read.
func piped(t *testing.T) (e *echo, r *raw, ended *sync.WaitGroup) {
	here, there := net.Pipe()
	exec := session.NewExecutor()
	t.Cleanup(exec.Close)
	e = &echo{t: t, bodies: make(map[*Stream][]byte), hold: make(chan struct{})}
	e.conn = New(here, e, config(exec))
	ended = new(sync.WaitGroup)
	ended.Go(e.conn.Run)
	r = &raw{t: t, conn: there}
	r.greet().send().until(typeSettings, 0)
	r.until(typeWindow, 0)
	if f, _ := r.next(); f.typ != typeSettings || f.flags&flagAck == 0 {
		t.Errorf("a frame of type %d came, want the acknowledgement of settings", f.typ)
	}
	return e, r, ended
}

// TestFlushSoonOfPipe: on a connection that takes nothing before the peer reads, another goroutine writes.
func TestFlushSoonOfPipe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, r, ended := piped(t)
		synctest.Wait() // nothing is being written
		begun := time.Now()
		e.conn.Lock()
		e.conn.buf = appendWindow(e.conn.buf, 0, 1)
		e.conn.FlushSoonAndUnlock(false)
		if held := time.Since(begun); held != 0 {
			t.Errorf("the peer did not read, which held the goroutine up for %v", held)
		}
		r.until(typeWindow, 0)
		e.conn.Close(net.ErrClosed)
		ended.Wait()
	})
}

// TestLeaveWhileWriting breaks the protocol while another goroutine writes: the GOAWAY leaves behind that write.
func TestLeaveWhileWriting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, r, ended := piped(t)
		ended.Go(func() {
			e.conn.Lock()
			e.conn.buf = appendWindow(e.conn.buf, 0, 1)
			e.conn.FlushAndUnlock(false)
		})
		synctest.Wait() // it writes
		r.add(typePing, 0, 1, make([]byte, 8)...).send()
		synctest.Wait()
		r.until(typeWindow, 0)
		if code := r.goAway(); code != ProtocolError {
			t.Errorf("the connection ended with %v", code)
		}
		ended.Wait()
	})
}

// TestFinish ends drained connections: that of a client which closes it is not closed before, and one that stays open does not hold
// the server up for long.
func TestFinish(t *testing.T) {
	for _, closes := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			e, r, ended := piped(t)
			from, finished := time.Now(), make(chan struct{})
			ended.Go(func() {
				<-e.conn.Drain()
				e.conn.Finish()
				close(finished)
			})
			r.until(typeGoAway, 0)
			f := r.until(typePing, 0)
			r.add(typePing, flagAck, 0, f.payload...).send().until(typeGoAway, 0)
			synctest.Wait()
			select {
			case <-finished:
				t.Error("the client has not closed the connection")
			default:
			}
			if closes {
				r.conn.Close()
			}
			<-finished
			if took := time.Since(from); took > goodbye || closes && took != 0 {
				t.Errorf("it took %v", took)
			}
			e.conn.Close(net.ErrClosed)
			ended.Wait()
		})
	}
}
