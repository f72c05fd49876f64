package rpcx

import (
	"context"
	"errors"
	"net"
	"runtime"
	"sync"
	"time"
)

// outbox writes the frames of many goroutines to a connection in few writes: the first goroutine
// that flushes writes, and takes along what the others append meanwhile.
type outbox struct {
	conn    net.Conn
	room    int           // bytes that may wait
	timeout time.Duration // of one write

	mu     sync.Mutex
	change sync.Cond // there is room again, nothing waits any more, or the writing has ended
	buf    []byte    // waits to be written
	spare  []byte
	busy   bool // a goroutine writes
	err    error
}

func newOutbox(conn net.Conn, room int, timeout time.Duration) *outbox {
	o := &outbox{conn: conn, room: room, timeout: timeout}
	o.change.L = &o.mu
	return o
}

// full reports whether senders have to wait.
func (o *outbox) full() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.fullLocked()
}

func (o *outbox) fullLocked() bool { return len(o.buf) > o.room && o.err == nil }

// lockWithRoom takes the lock as soon as there is room. The error, with which the lock is not
// taken, is that of the connection, or of ctx.
func (o *outbox) lockWithRoom(ctx context.Context) error {
	o.mu.Lock()
	if o.fullLocked() {
		stop := context.AfterFunc(ctx, func() {
			o.mu.Lock()
			defer o.mu.Unlock()
			o.change.Broadcast()
		})
		defer stop()
		for o.fullLocked() && ctx.Err() == nil {
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

// failure is why writing has ended; nil while it has not.
func (o *outbox) failure() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}

// soon is how long a caller that has a deadline writes itself. What the connection does not take in
// that time is written by a goroutine.
const soon = 5 * time.Millisecond

// sendAndUnlock writes what waits, for a caller that must not be held up: what the connection does
// not take soon is written by a goroutine.
func (o *outbox) sendAndUnlock() {
	defer o.mu.Unlock()
	if o.busy || o.err != nil {
		return
	}
	o.busy = true
	switch o.conn.(type) {
	case *net.TCPConn, *net.UnixConn:
		rest := o.writeLocked(soon, true)
		if o.err != nil || len(rest) == 0 && len(o.buf) == 0 {
			o.restLocked()
			return
		}
		// It ends with the connection, or when nothing waits.
		go o.finish(rest)
	default: // the write of another connection cannot go on after a timeout
		// It ends with the connection, or when nothing waits.
		go o.finish(nil)
	}
}

// finish writes what is left of a write, and then until nothing waits.
func (o *outbox) finish(rest []byte) {
	var err error
	if len(rest) > 0 {
		o.conn.SetWriteDeadline(time.Now().Add(o.timeout))
		_, err = o.conn.Write(rest)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if err != nil {
		o.brokenLocked(err)
	}
	o.drainLocked()
}

// flushAndUnlock writes until nothing waits, or leaves that to the goroutine that writes. join says
// that other goroutines are likely to send something too.
func (o *outbox) flushAndUnlock(join bool) {
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
func (o *outbox) drainLocked() {
	for len(o.buf) > 0 && o.err == nil {
		o.writeLocked(o.timeout, false)
	}
	o.restLocked()
}

// restLocked ends the turn of the goroutine that writes.
func (o *outbox) restLocked() {
	o.busy = false
	o.change.Broadcast()
}

// writeLocked writes once what waits now, within a time. It gives the lock back while it writes, and returns
// what a connection that may take more later did not take.
func (o *outbox) writeLocked(within time.Duration, later bool) (rest []byte) {
	buf := o.buf
	o.buf, o.spare = o.spare[:0], nil
	o.mu.Unlock()
	o.conn.SetWriteDeadline(time.Now().Add(within))
	n, err := o.conn.Write(buf)
	o.mu.Lock()
	if ne, ok := errors.AsType[net.Error](err); ok && later && ne.Timeout() {
		return buf[n:]
	}
	if err != nil {
		o.brokenLocked(err)
	}
	if cap(buf) <= keptBuffer {
		o.spare = buf[:0]
	}
	o.change.Broadcast()
	return nil
}

// keptBuffer is the largest buffer that is used again, in bytes.
const keptBuffer = 64 << 10

// brokenLocked ends the connection.
func (o *outbox) brokenLocked(err error) {
	if o.err == nil {
		o.err = err
		o.buf = nil
		o.conn.Close()
	}
	o.change.Broadcast()
}

// settle writes what waits and returns when all is written.
func (o *outbox) settle() {
	o.mu.Lock()
	o.flushAndUnlock(false)
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.err == nil && (o.busy || len(o.buf) > 0) {
		o.change.Wait()
	}
}

// close ends the writing: frames that still come are dropped.
func (o *outbox) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err == nil {
		o.err = net.ErrClosed
	}
	o.change.Broadcast()
}
