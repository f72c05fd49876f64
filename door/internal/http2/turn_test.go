package http2

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weftrpc/weft/door/internal/hpack"
	"github.com/weftrpc/weft/internal/polltest"
)

// TestTurns has messages of streams wait for windows of one byte: replies do not wait for them, nor does what can be sent at once. The others
// wait for their own window, for that of the connection, or for less to wait.
func TestTurns(t *testing.T) {
	e, r := pair(t, func(c *Config) { c.WriteBuffer, c.StreamBuffer = 100, 300 })
	e.apart = true
	r.greet().setting(settingWindow, 1)
	const last = 13
	for id := uint32(1); id < last; id += 2 {
		r.get(id, "/hold", true)
	}
	r.get(last, "/", true).send().read(last)
	c := e.conn
	stream := func(id uint32) *Stream { return c.open.Get(id) }
	send := func(id uint32, n int) {
		st := stream(id)
		st.Apart = true
		at := c.StartHeadersLocked(st, false)
		c.SetBufferLocked(c.Enc.Static(c.BufferLocked(), hpack.Static200))
		c.EndHeadersLocked(at)
		c.QueueDataLocked(st, make([]byte, n), false, nil)
	}
	turn := func(what string, id uint32, n int, want bool) {
		t.Helper()
		if got := c.turnLocked(stream(id), n); got != want {
			t.Errorf("%s: a message of %d bytes has its turn: %v, want %v", what, n, got, want)
		}
	}
	// waits begins to wait for the turn of a stream, and returns a channel that is closed when it is there. It gives the lock back.
	waits := func(id uint32, n int) chan struct{} {
		st, there, before := stream(id), make(chan struct{}), c.turns
		c.Unlock()
		go func() { // it ends with the turn, or the connection
			defer close(there)
			c.Lock()
			defer c.Unlock()
			c.AwaitTurnLocked(t.Context(), st, n)
		}()
		polltest.True(t, patience, "a goroutine waits", func() bool {
			c.Lock()
			defer c.Unlock()
			return c.turns == before+1
		})
		return there
	}

	c.Lock()
	send(1, 101)
	turn("the first waits", 3, 0, true)
	send(3, 101)
	send(5, 101)
	if c.FullLocked() {
		t.Error("replies wait for messages of streams")
	}
	turn("as much waits as may", 7, 0, false)
	turn("it fits in its window", 7, 1, true)
	turn("it does not fit in its window", 7, 2, false)
	c.FlushAndUnlock(false)

	c.Lock()
	seventh := waits(7, 0)
	r.window(1, 100).send()
	wait(t, "the turn of a stream, when another one was sent", seventh)

	c.Lock()
	send(9, 1)
	turn("its window is closed", 9, 0, false)
	ninth := waits(9, 0)
	r.window(9, 1).send()
	wait(t, "the turn of a stream whose window is opened", ninth)

	c.Lock()
	c.flow.conn = 0
	turn("the connection's window is closed", 7, 0, false)
	seventh = waits(7, 0)
	r.window(0, 1).send()
	wait(t, "the turn of a stream, when the connection's window is opened", seventh)

	c.Lock()
	c.flow.conn = 1000
	send(7, 101)
	ninth = waits(9, 0)
	r.add(typeReset, 0, 3, 0, 0, 0, byte(Cancel)).send()
	wait(t, "the turn of a stream, when another one is reset", ninth)

	c.Lock()
	send(11, 101)
	c.flow.conn, stream(9).delta = 5, 100
	ninth = waits(9, 50)
	r.window(0, 44).send()
	polltest.True(t, patience, "the window has come", func() bool {
		c.Lock()
		defer c.Unlock()
		return c.flow.conn == 49
	})
	c.Lock()
	turn("the connection's window is too small", 9, 50, false)
	c.Unlock()
	r.window(0, 1).send()
	wait(t, "the turn of a message, when the connection's window has room for it", ninth)
	r.add(typeReset, 0, 11, 0, 0, 0, byte(Cancel)).get(last+2, "/", true).send().read(last + 2)

	c.Lock()
	defer c.Unlock()
	if c.apart.Bytes != 200 || c.queued != 200 || c.turns != 0 {
		t.Errorf("%d bytes of %d are counted apart, and %d goroutines wait; want 200 of 200, and none", c.apart.Bytes, c.queued, c.turns)
	}
}

// TestApart has what waits already counted apart: replies that wait for room need not wait for that any more.
func TestApart(t *testing.T) {
	e, r := pair(t, func(c *Config) { c.WriteBuffer, c.StreamBuffer = 100, 300 })
	e.apart = true
	r.greet().setting(settingWindow, 1)
	r.get(1, "/hold", true).get(3, "/", true).send().read(3)
	c := e.conn
	c.Lock()
	c.QueueDataLocked(c.open.Get(1), make([]byte, 200), false, nil)
	c.FlushAndUnlock(false)
	there := make(chan struct{})
	go func() { // it ends with the room, or the connection
		defer close(there)
		c.Lock()
		defer c.Unlock()
		c.AwaitRoomLocked(t.Context())
	}()
	polltest.True(t, patience, "nothing is written any more", func() bool {
		c.Lock()
		defer c.Unlock()
		return !c.busy && len(c.buf) == 0
	})
	select {
	case <-there:
		t.Error("a reply does not wait for what is not counted apart")
	case <-time.After(10 * time.Millisecond):
	}
	c.Lock()
	c.ApartLocked(c.open.Get(1))
	c.Unlock()
	wait(t, "the room of a reply", there)
}

// looking counts how often a goroutine looks whether it may go on.
type looking struct {
	context.Context
	looks atomic.Int32
}

func (l *looking) Err() error {
	l.looks.Add(1)
	return l.Context.Err()
}

// TestWokenForNothing: a goroutine is not woken by what cannot give its stream the turn, such as the window of the connection while that of the
// stream is closed.
func TestWokenForNothing(t *testing.T) {
	e, r := pair(t, func(c *Config) { c.WriteBuffer, c.StreamBuffer = 100, 300 })
	e.apart = true
	r.greet().setting(settingWindow, 0)
	r.get(1, "/hold", true).get(3, "/hold", true).get(5, "/", true).send().read(5)
	c, there, ctx := e.conn, make(chan struct{}), &looking{Context: t.Context()}
	c.Lock()
	st := c.open.Get(1)
	st.Apart = true
	c.QueueDataLocked(st, make([]byte, 200), false, nil)
	c.flow.conn = 0
	c.Unlock()
	go func() { // it ends with the turn, or the connection
		defer close(there)
		c.Lock()
		defer c.Unlock()
		c.AwaitTurnLocked(ctx, c.open.Get(3), 0)
	}()
	polltest.True(t, patience, "a goroutine waits", func() bool {
		c.Lock()
		defer c.Unlock()
		return c.turns == 1
	})
	before := ctx.looks.Load()
	for n := range 20 { // each time a byte is sent, and the window of the connection is closed again
		r.window(1, 1).window(0, 1).send()
		polltest.True(t, patience, "a byte was sent", func() bool {
			c.Lock()
			defer c.Unlock()
			return c.apart.Bytes == 199-n && c.flow.conn == 0
		})
	}
	r.window(0, 1).send() // now it is open, and that of the stream is not
	polltest.True(t, patience, "the window is open", func() bool {
		c.Lock()
		defer c.Unlock()
		return c.flow.conn == 1
	})
	if looks := ctx.looks.Load() - before; looks > 0 {
		t.Errorf("a goroutine was woken %d times for nothing", looks)
	}
	r.window(3, 1).send()
	wait(t, "the turn of a stream, when its window is open", there)
}
