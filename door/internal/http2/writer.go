package http2

import (
	"context"
	"errors"
	"net"
	"os"
	"runtime"
	"sync"
	"time"

	"github.com/weftrpc/weft/internal/session"
)

// writer combines the frames of many goroutines into few writes, as that of weft's sessions
// does: the first goroutine that flushes writes, and takes along what the others append meanwhile.
type writer struct {
	buf, spare []byte
	busy, dead bool
	room       sync.Cond // something was written, or the connection has ended
	until      int64     // the deadline of writes, on the clock of session.Nanos
	lean       int       // writes in a row that small buffers would have had room for
	writing    int       // bytes that are being written
	counted    int       // bytes that Hold was told of
	passed     uint64    // bytes that were written, or are being written
	seen       uint64    // of all bytes in order, how many the peer has certainly read: it has answered what stands behind them
	resumes    bool      // a write that has run out of time can be gone on with
	buffers    bool      // a socket is underneath, which takes bytes that the peer has not read
}

const (
	// eager is a batch that is not waited for.
	eager = 64 << 10
	// meager is one that is waited for between two writes.
	meager = 8 << 10
	// maxRounds is how many writes a goroutine makes for others.
	maxRounds = 4
	// largeWrite is the most that is written at once: it must go out in the time of a write.
	largeWrite = 256 << 10
	// keepSpare is the largest buffer that is used again.
	keepSpare = 1 << 20
	// keepIdle is the largest one that is kept while little is written.
	keepIdle = 64 << 10
	// leanWrites are so many writes of little that larger buffers are given up.
	leanWrites = 512
	// unread is how many bytes a connection takes without waiting when its peer has read all before them: a socket has room for more.
	unread = 16 << 10
)

// BufferLocked is the buffer to which frames are appended; SetBufferLocked sets it.
func (c *Conn) BufferLocked() []byte { return c.buf }

// SetBufferLocked sets the buffer to which frames are appended, with more behind what it held.
func (c *Conn) SetBufferLocked(b []byte) { c.buf = b }

// StartHeadersLocked begins a HEADERS frame; its fields are appended to the buffer next. It returns
// where the frame begins, for EndHeadersLocked.
func (c *Conn) StartHeadersLocked(st *Stream, end bool) (at int) {
	flags := byte(flagEndHeaders)
	if end {
		flags |= flagEndStream
	}
	at = len(c.buf)
	c.buf = c.Enc.Begin(appendFrame(c.buf, 0, typeHeaders, flags, st.id))
	return at
}

// EndHeadersLocked ends what StartHeadersLocked has begun. A block that is too long for a frame is cut.
func (c *Conn) EndHeadersLocked(at int) {
	n := len(c.buf) - at - headerSize
	if n <= maxFrame {
		c.buf[at], c.buf[at+1], c.buf[at+2] = byte(n>>16), byte(n>>8), byte(n)
		return
	}
	rest := append([]byte(nil), c.buf[at+headerSize+maxFrame:]...)
	id := number31(c.buf[at+5:])
	c.buf = c.buf[:at+headerSize+maxFrame]
	c.buf[at], c.buf[at+1], c.buf[at+2] = maxFrame>>16, maxFrame>>8&0xff, maxFrame&0xff
	c.buf[at+4] &^= flagEndHeaders
	for len(rest) > 0 {
		k := min(len(rest), maxFrame)
		var flags byte
		if k == len(rest) {
			flags = flagEndHeaders
		}
		c.buf = append(appendFrame(c.buf, k, typeContinuation, flags, id), rest[:k]...)
		rest = rest[k:]
	}
}

// FullLocked reports whether so much waits to be written, or for windows, that a goroutine which can wait should. Messages of streams do
// not count while they wait for windows: see AwaitTurnLocked.
func (c *Conn) FullLocked() bool { return len(c.buf)+c.queued-c.apart.Bytes >= c.cfg.WriteBuffer }

// AwaitRoomLocked waits until FullLocked no longer holds, or the connection or ctx has ended: then
// WakeLocked must be called. It gives the lock back meanwhile.
func (c *Conn) AwaitRoomLocked(ctx context.Context) { c.awaitBelowLocked(ctx, c.cfg.WriteBuffer) }

// awaitBelowLocked waits until fewer bytes than most are appended, and FullLocked does not hold.
func (c *Conn) awaitBelowLocked(ctx context.Context, most int) {
	for (len(c.buf) >= most || c.FullLocked()) && !c.dead && ctx.Err() == nil {
		if !c.busy && len(c.buf) > 0 {
			c.FlushAndUnlock(false)
			c.mu.Lock()
			continue
		}
		c.room.Wait()
	}
}

// AwaitRoomSoonLocked is AwaitRoomLocked for a goroutine that must not be held up by a write.
func (c *Conn) AwaitRoomSoonLocked(ctx context.Context) {
	for c.FullLocked() && !c.dead && ctx.Err() == nil {
		if !c.busy && len(c.buf) > 0 {
			c.FlushSoonAndUnlock(false)
			c.mu.Lock()
			continue
		}
		c.room.Wait()
	}
}

// AwaitSentLocked waits until nothing of the stream waits for windows, or it or ctx has ended: then
// WakeLocked must be called. It gives the lock back meanwhile.
func (c *Conn) AwaitSentLocked(ctx context.Context, st *Stream) {
	for st.WaitsLocked() && !st.endedLocked(c, ctx) {
		if !c.busy && len(c.buf) > 0 {
			c.FlushAndUnlock(false)
			c.mu.Lock()
			continue
		}
		st.awaitLocked(c)
	}
}

// WakeLocked has the goroutines look again that wait in AwaitRoomLocked, and for the stream in AwaitSentLocked and AwaitTurnLocked.
func (c *Conn) WakeLocked(st *Stream) {
	c.room.Broadcast()
	st.wakeLocked()
}

// FlushAndUnlock has what was appended written. patient means that other goroutines may append soon.
func (c *Conn) FlushAndUnlock(patient bool) {
	countLocked(c)
	if c.busy || c.dead || len(c.buf) == 0 {
		c.mu.Unlock()
		return
	}
	c.busy = true
	if patient && len(c.buf) < eager {
		c.mu.Unlock()
		runtime.Gosched()
		c.mu.Lock()
	}
	c.writeAndUnlock(nil, maxRounds, false)
}

// FlushBehindAndUnlock is FlushAndUnlock for a goroutine that sends one message behind another: another
// goroutine writes, and takes along what is appended meanwhile.
func (c *Conn) FlushBehindAndUnlock() {
	countLocked(c)
	if c.busy || c.dead || len(c.buf) == 0 {
		c.mu.Unlock()
		return
	}
	c.busy = true
	writeElsewhereAndUnlock(c, nil)
}

// writeAndUnlock writes rest and all that is appended, by the goroutine that has set busy, and
// hands over to another one after so many writes. A cautious goroutine does so as well before a write that could wait for the peer to read.
func (c *Conn) writeAndUnlock(rest []byte, rounds int, cautious bool) {
	for ; (len(c.buf) > 0 || len(rest) > 0) && !c.dead; rounds-- {
		if rounds == 0 || cautious && c.passedLocked()-c.seen > unread {
			writeElsewhereAndUnlock(c, rest)
			return
		}
		b := rest
		if rest = nil; b == nil {
			b = c.swapLocked()
		}
		closing := c.closing
		c.mu.Unlock()
		err := c.write(b, closing)
		c.mu.Lock()
		c.wroteLocked(b)
		if err != nil {
			c.brokenAndUnlock(err)
			return
		}
		if n := len(c.buf); n > 0 && n < meager && c.open.Len() > 1 {
			c.mu.Unlock()
			runtime.Gosched()
			c.mu.Lock()
		}
	}
	c.busy = false
	c.mu.Unlock()
}

// writeElsewhereAndUnlock has another goroutine write rest and all that is appended, for the one that has set busy. It is a function of its own,
// or writeAndUnlock would allocate room for rest in each call.
func writeElsewhereAndUnlock(c *Conn, rest []byte) {
	c.mu.Unlock()
	c.cfg.Go(func() {
		c.mu.Lock()
		c.writeAndUnlock(rest, -1, false)
	})
}

// swapLocked takes what waits, and puts the other buffer in its place.
func (c *Conn) swapLocked() []byte {
	b := c.buf
	c.buf, c.spare, c.writing = c.spare[:0], nil, len(b)
	c.passed += uint64(len(b))
	return b
}

// passedLocked is how many bytes were appended so far.
func (w *writer) passedLocked() uint64 { return w.passed + uint64(len(w.buf)) }

// countLocked tells Hold what waits to be written, if that has changed much.
func countLocked(c *Conn) {
	const much = 64 << 10
	now := len(c.buf) + c.queued + c.writing
	if d := now - c.counted; c.cfg.Hold != nil && (d > much || d < -much || now == 0 && d < 0) {
		c.counted = now
		c.cfg.Hold(d)
	}
}

func (c *Conn) wroteLocked(b []byte) {
	c.writing = 0
	countLocked(c)
	if cap(b) <= keepSpare && c.spare == nil {
		c.spare = b[:0]
	}
	if len(b) >= keepIdle/4 {
		c.lean = 0
	} else if c.lean++; c.lean >= leanWrites {
		c.trimLocked()
	}
	if c.cfg.Wrote != nil {
		c.cfg.Wrote()
	}
	c.pumpLocked()
	c.room.Broadcast()
}

// trimLocked gives large buffers up that hold nothing.
func (w *writer) trimLocked() {
	w.lean = 0
	if cap(w.spare) > keepIdle {
		w.spare = nil
	}
	if cap(w.buf) > keepIdle && len(w.buf) == 0 {
		w.buf = nil
	}
}

// brokenAndUnlock ends a connection that cannot be written to. What the peer has sent before
// it closed the connection tells more, if it comes at once.
func (c *Conn) brokenAndUnlock(err error) {
	c.dead = true
	c.room.Broadcast()
	for st := range c.open.All() {
		st.wakeLocked()
	}
	c.noMoreLocked()
	c.mu.Unlock()
	time.AfterFunc(goodbye, func() { c.Close(&net.OpError{Op: "write", Net: "http2", Err: err}) })
}

// write writes b in pieces, each of which has the time of a write.
func (c *Conn) write(b []byte, closing bool) error {
	for len(b) > 0 {
		if !closing {
			c.arm(session.Nanos(), c.cfg.WriteTimeout)
		}
		n, err := c.ends.Out.Write(b[:min(len(b), largeWrite)])
		if err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
}

// arm ensures that a write ends after d, or after twice that at the latest. Only the goroutine that has set busy calls it.
func (c *Conn) arm(now int64, d time.Duration) {
	if left := c.until - now; left < int64(d) || left > 2*int64(d) {
		c.until = now + 2*int64(d)
		c.nc.SetWriteDeadline(time.Now().Add(2 * d))
	}
}

// soon is how long a goroutine with a deadline of its own writes.
const soon = 5 * time.Millisecond

// FlushSoonAndUnlock is FlushAndUnlock for a goroutine that must not be held up by a peer that
// does not read: what is not written soon, another goroutine writes. On a socket whose writes cannot be gone on with, such as one with TLS,
// another goroutine writes what the socket may not take at once, and on what is no socket it writes all.
func (c *Conn) FlushSoonAndUnlock(patient bool) {
	if c.busy || c.dead || len(c.buf) == 0 {
		c.mu.Unlock()
		return
	}
	c.busy = true
	if patient && len(c.buf) < eager {
		c.mu.Unlock()
		runtime.Gosched()
		c.mu.Lock()
	}
	switch {
	case c.resumes:
	case c.buffers:
		c.writeAndUnlock(nil, maxRounds, true)
		return
	default:
		c.writeAndUnlock(nil, 0, false)
		return
	}
	for range maxRounds {
		b := c.swapLocked()
		c.mu.Unlock()
		c.arm(session.Nanos(), soon)
		n, err := c.ends.Out.Write(b)
		c.mu.Lock()
		if err != nil && errors.Is(err, os.ErrDeadlineExceeded) {
			rest := b[n:]
			c.until = 0
			c.writeAndUnlock(rest, 0, false)
			return
		}
		c.wroteLocked(b)
		if err != nil {
			c.brokenAndUnlock(err)
			return
		}
		if n := len(c.buf); n > 0 && n < meager && c.open.Len() > 1 {
			c.mu.Unlock()
			runtime.Gosched()
			c.mu.Lock()
		}
		if len(c.buf) == 0 || c.dead {
			c.busy = false
			c.mu.Unlock()
			return
		}
	}
	c.writeAndUnlock(nil, 0, false)
}
