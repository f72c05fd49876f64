// Package outbox writes the frames of many goroutines to a connection in few writes.
package outbox

import (
	"context"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weftrpc/weft/internal/socket"
)

// Outbox writes the frames of many goroutines to a connection in few writes: the first goroutine
// that flushes writes, and takes along what the others append meanwhile. What has Locked in its name is called with
// the lock held.
type Outbox struct {
	conn     net.Conn
	room     int             // bytes that may wait
	atOnce   *socket.Attempt // nil: conn may not go on behind a write that has ended early
	deadline socket.Deadline // of writes

	mu     sync.Mutex
	change sync.Cond // there is room again, nothing waits any more, or the writing has ended
	buf    []byte    // waits to be written
	spare  []byte
	busy   bool // a goroutine writes
	err    error

	hold    func(n int) // counts bytes that wait or are being written; nil: nothing does
	crowd   Crowd       // nil where hold is
	writing int         // room of the buffer that is being written
	counted int         // bytes that hold was told of
}

// New returns an outbox of a connection. Senders wait while room bytes wait to be written; a write may take timeout, or a
// quarter more.
func New(conn net.Conn, room int, timeout time.Duration) *Outbox {
	for {
		r, ok := conn.(reader)
		if !ok {
			break
		}
		conn = r.WritesTo()
	}
	o := &Outbox{conn: conn, room: room, atOnce: socket.NewAttempt(conn), deadline: socket.NewDeadline(conn, timeout)}
	o.change.L = &o.mu
	return o
}

// reader is a connection that differs from the one underneath only in what is read from it. An outbox writes to the latter, of
// which it can tell whether a write may go on after a timeout.
type reader interface{ WritesTo() net.Conn }

// Crowd is told whether the peer takes what is written.
type Crowd interface {
	// Crowd says that senders have to wait.
	Crowd()
	// Crowded reports whether Crowd was called, and Clear was not called since.
	Crowded() bool
	// Took says that the peer has taken bytes.
	Took()
	// Clear says that little waits any more.
	Clear()
}

// Serve makes the outbox that of a server; it is called before anything is sent. hold counts what waits to be written, roughly: more bytes, or
// fewer if n is below zero. crowd is told whether the peer takes it. While a guard is watched, whose timer is due within milliseconds then, the
// scheduler is not told of writes.
func (o *Outbox) Serve(hold func(n int), crowd Crowd, watched *atomic.Bool) {
	o.hold, o.crowd = hold, crowd
	if o.atOnce != nil {
		o.atOnce.While(socket.While(watched))
	}
}

// countLocked tells hold what memory what waits to be written takes, if that has changed much.
func (o *Outbox) countLocked() {
	const much = 64 << 10
	now := o.writing
	if len(o.buf) > 0 {
		now += cap(o.buf)
	}
	if d := now - o.counted; o.hold != nil && (d > much || d < -much || now == 0 && d < 0) {
		o.counted = now
		o.hold(d)
	}
}

// Lock takes the lock.
func (o *Outbox) Lock() { o.mu.Lock() }

// Unlock gives the lock back, and leaves what was appended to the next flush.
func (o *Outbox) Unlock() { o.mu.Unlock() }

// BufferLocked is what waits to be written, to be appended to.
func (o *Outbox) BufferLocked() []byte { return o.buf }

// SetBufferLocked sets what waits to be written.
func (o *Outbox) SetBufferLocked(b []byte) {
	o.buf = b
	o.countLocked()
	if o.crowd != nil && o.FullLocked() {
		o.crowd.Crowd()
	}
}

// EndedLocked reports whether the writing has ended: what is appended is dropped.
func (o *Outbox) EndedLocked() bool { return o.err != nil }

// IdleLocked reports whether there is nothing to do for a flush, since nothing waits or a goroutine writes.
func (o *Outbox) IdleLocked() bool { return o.busy || o.err != nil || len(o.buf) == 0 }

// Full reports whether senders have to wait.
func (o *Outbox) Full() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.FullLocked()
}

// FullLocked is Full.
func (o *Outbox) FullLocked() bool { return len(o.buf) > o.room && o.err == nil }

// LockWithRoom takes the lock as soon as there is room. The error, with which the lock is not
// taken, is that of the connection, or of ctx.
func (o *Outbox) LockWithRoom(ctx context.Context) error {
	o.mu.Lock()
	if o.FullLocked() {
		stop := context.AfterFunc(ctx, func() {
			o.mu.Lock()
			defer o.mu.Unlock()
			o.change.Broadcast()
		})
		defer stop()
		for o.FullLocked() && ctx.Err() == nil {
			o.change.Wait()
		}
	}
	err := o.err
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		o.mu.Unlock()
	}
	return err
}

// Failure is why writing has ended; nil while it has not.
func (o *Outbox) Failure() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}

// SendAndUnlock writes what waits, for a caller that must not be held up: what the connection does
// not take at once is written by a goroutine.
func (o *Outbox) SendAndUnlock() {
	defer o.mu.Unlock()
	if o.busy || o.err != nil {
		return
	}
	o.busy = true
	var rest []byte
	if o.atOnce != nil {
		if rest = o.writeLocked(true); o.err != nil || len(rest) == 0 && len(o.buf) == 0 {
			o.restLocked()
			return
		}
	}
	// It ends with the connection, or when nothing waits.
	go o.finish(rest)
}

// finish writes what is left of a write, and then until nothing waits.
func (o *Outbox) finish(rest []byte) {
	var err error
	if len(rest) > 0 {
		err = o.write(rest)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.wroteLocked(rest, err)
	o.drainLocked()
}

// FlushAndUnlock writes until nothing waits, or leaves that to the goroutine that writes. join says
// that other goroutines are likely to send something too.
func (o *Outbox) FlushAndUnlock(join bool) {
	defer o.mu.Unlock()
	if o.busy || o.err != nil || len(o.buf) == 0 {
		return
	}
	o.busy = true
	if join {
		o.mu.Unlock()
		runtime.Gosched() // they join this write
		o.mu.Lock()
	}
	o.drainLocked()
}

// drainLocked writes until nothing waits. It gives the lock back while it writes.
func (o *Outbox) drainLocked() {
	for len(o.buf) > 0 && o.err == nil {
		o.writeLocked(false)
	}
	o.restLocked()
}

// restLocked ends the turn of the goroutine that writes.
func (o *Outbox) restLocked() {
	o.busy = false
	o.change.Broadcast()
}

// writeLocked writes once what waits now: all of it, or what the connection takes at once, and returns the rest. It gives the lock
// back while it writes.
func (o *Outbox) writeLocked(atOnce bool) (rest []byte) {
	buf := o.buf
	o.buf, o.spare, o.writing = o.spare[:0], nil, cap(buf)
	o.mu.Unlock()
	n, err := len(buf), error(nil)
	if atOnce {
		n, err = o.atOnce.Write(buf, o.deadline.Renew())
		o.took(n)
	} else {
		err = o.write(buf)
	}
	o.mu.Lock()
	if err == nil && n < len(buf) {
		return buf[n:]
	}
	o.wroteLocked(buf, err)
	return nil
}

// wroteLocked ends a write, with its error if it has one, and keeps the buffer for the next frames.
func (o *Outbox) wroteLocked(buf []byte, err error) {
	if n := cap(buf); n > 0 && n <= keptBuffer {
		o.spare = buf[:0]
	}
	o.writing = 0
	o.countLocked()
	if o.crowd != nil && o.crowd.Crowded() && len(o.buf) <= o.room/4 {
		o.crowd.Clear()
	}
	if err != nil {
		o.BreakLocked(err)
	}
	o.change.Broadcast()
}

// largeWrite is the most that is written at once: it must go out in the time of a write.
const largeWrite = 256 << 10

// write writes b in pieces, each of which has a time.
func (o *Outbox) write(b []byte) error {
	for len(b) > 0 {
		o.deadline.Renew()
		n, err := o.conn.Write(b[:min(len(b), largeWrite)])
		o.took(n)
		if err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
}

// took tells a crowded connection that the peer has taken bytes.
func (o *Outbox) took(n int) {
	if n > 0 && o.crowd != nil && o.crowd.Crowded() {
		o.crowd.Took()
	}
}

// keptBuffer is the largest buffer that is used again, in bytes.
const keptBuffer = 64 << 10

// BreakLocked ends the connection.
func (o *Outbox) BreakLocked(err error) {
	if o.err == nil {
		o.err = err
		o.buf = nil
		o.conn.Close()
	}
	o.change.Broadcast()
}

// Settle writes what waits and returns when all is written.
func (o *Outbox) Settle() {
	o.mu.Lock()
	o.FlushAndUnlock(false)
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.err == nil && (o.busy || len(o.buf) > 0) {
		o.change.Wait()
	}
}

// Close ends the writing: frames that still come are dropped.
func (o *Outbox) Close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err == nil {
		o.err = net.ErrClosed
	}
	o.change.Broadcast()
}
