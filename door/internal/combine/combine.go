// Package combine writes the messages of many goroutines to a connection in few writes.
package combine

import (
	"context"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/internal/socket"
)

// Writer writes the messages of many goroutines in few writes: the first of them writes,
// and takes along what the others append meanwhile. Messages are written in the order in
// which they were appended.
type Writer struct {
	conn     net.Conn
	room     int             // bytes that may wait
	atOnce   *socket.Attempt // nil: conn may not go on behind a write that has ended early
	deadline socket.Deadline // of writes

	mu      sync.Mutex
	roomy   sync.Cond // there is room again, or an end
	append  func(buf, message []byte) ([]byte, error)
	buf     []byte // waits to be written
	spare   []byte
	writing bool
	err     error

	count
}

// count is what a server is told of the memory of a Writer, and of the peer. The lock of the Writer guards it.
type count struct {
	hold    func(n int)       // counts bytes that wait or are being written; nil: nothing does
	crowd   *weft.DoorReplies // nil where hold is
	under   int               // room of the buffer that is being written
	counted int               // bytes that hold was told of
}

// Serve makes the writer that of a server; it is called before anything is sent. hold counts what waits to be written, roughly: more bytes, or
// fewer if n is below zero. crowd is told whether the peer takes it. While a guard is watched, whose timer is due within milliseconds then, the
// scheduler is not told of writes.
func (w *Writer) Serve(hold func(n int), crowd *weft.DoorReplies, watched *atomic.Bool) {
	w.hold, w.crowd = hold, crowd
	if w.atOnce != nil {
		w.atOnce.While(socket.While(watched))
	}
}

// countLocked tells hold what memory what waits to be written takes, if that has changed much.
func (w *Writer) countLocked() {
	const much = 64 << 10
	now := w.under
	if len(w.buf) > 0 {
		now += cap(w.buf)
	}
	if d := now - w.counted; w.hold != nil && (d > much || d < -much || now == 0 && d < 0) {
		w.counted = now
		w.hold(d)
	}
}

// New returns a writer for a connection. Senders wait while room bytes wait to be written; a
// write may take timeout, or a quarter more. append appends a message, as it stands on the wire, to what waits;
// calls of it do not overlap. After an error of it nothing more is written.
func New(conn net.Conn, room int, timeout time.Duration, append func(buf, message []byte) ([]byte, error)) *Writer {
	for {
		r, ok := conn.(reader)
		if !ok {
			break
		}
		conn = r.WritesTo()
	}
	w := &Writer{conn: conn, room: room, atOnce: socket.NewAttempt(conn), deadline: socket.NewDeadline(conn, timeout), append: append}
	w.roomy.L = &w.mu
	return w
}

// reader is a connection that differs from the one underneath only in what is read from it. Package combine writes to the latter,
// of which it can tell whether a write may go on after a timeout.
type reader interface{ WritesTo() net.Conn }

// keptBuffer is the largest buffer that is used again, in bytes.
const keptBuffer = 64 << 10

// Send appends messages that belong together, and has them written. It waits while too
// many bytes wait. The error is that of the connection.
func (w *Writer) Send(messages ...[]byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.addLocked(messages); err != nil {
		return err
	}
	if !w.writing {
		w.writeAllLocked()
	}
	return w.err
}

// Tell is Send for what is short and must not wait, such as the error of a reply that was dropped since too many wait for
// room. What the connection does not take at once is written by a goroutine.
func (w *Writer) Tell(messages ...[]byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return w.err
	}
	if err := w.appendLocked(messages); err != nil {
		return err
	}
	if !w.writing {
		w.writing = true
		w.flushSoonLocked(false)
	}
	return w.err
}

// Add appends messages that belong together, for a caller that calls Flush soon. It waits, or
// writes, while too many bytes wait. The error is that of the connection.
func (w *Writer) Add(messages ...[]byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.addLocked(messages)
}

// addLocked appends messages as soon as there is room. What Add has left is written by the goroutine that needs
// the room, if none writes, which releases the lock meanwhile.
func (w *Writer) addLocked(messages [][]byte) error {
	if err := w.awaitRoomLocked(); err != nil {
		return err
	}
	return w.appendLocked(messages)
}

// AwaitRoom waits until a message may be appended. The error is that of the connection.
func (w *Writer) AwaitRoom() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.awaitRoomLocked()
}

func (w *Writer) awaitRoomLocked() error {
	for w.err == nil && len(w.buf) > w.room {
		if w.writing {
			w.roomy.Wait()
		} else {
			w.writeAllLocked()
		}
	}
	return w.err
}

// writeAllLocked writes until nothing waits, while no other goroutine writes.
func (w *Writer) writeAllLocked() {
	w.writing = true
	w.flushLocked()
	w.writing = false
	w.roomy.Broadcast()
}

// Flush has written what waits, and does not wait for the peer: what the connection does not take
// at once is written by a goroutine. join says that other goroutines are likely to send something too.
func (w *Writer) Flush(join bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.writing || w.err != nil || len(w.buf) == 0 {
		return
	}
	w.writing = true
	w.flushSoonLocked(join)
}

// Full reports whether senders have to wait for room.
func (w *Writer) Full() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.buf) > w.room && w.err == nil
}

// SendWithin is Send for a caller that is not held up beyond the end of ctx. Nothing was
// appended when it returns false. An error of a later write is that of the connection.
func (w *Writer) SendWithin(ctx context.Context, messages ...[]byte) (appended bool, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.buf) > w.room && w.err == nil {
		stop := context.AfterFunc(ctx, func() {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.roomy.Broadcast()
		})
		defer stop()
		for len(w.buf) > w.room && w.err == nil && ctx.Err() == nil {
			w.roomy.Wait()
		}
	}
	if w.err != nil {
		return false, w.err
	}
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	if err := w.appendLocked(messages); err != nil {
		return true, err
	}
	if w.writing {
		return true, nil
	}
	w.writing = true
	w.flushSoonLocked(true)
	return true, w.err
}

// flushSoonLocked writes what waits. What the connection does not take at once, and what comes meanwhile, is
// written by a goroutine.
func (w *Writer) flushSoonLocked(join bool) {
	if join {
		w.mu.Unlock()
		runtime.Gosched() // goroutines that are about to send join this write
		w.mu.Lock()
	}
	if rest := w.writeSoonLocked(); w.err == nil && (len(rest) > 0 || len(w.buf) > 0) {
		// It ends with the connection, or when nothing waits.
		go w.finish(rest)
		return
	}
	w.writing = false
	w.roomy.Broadcast()
}

// writeSoonLocked writes what waits, and returns what the connection did not take at once. It gives the
// lock back while it writes.
func (w *Writer) writeSoonLocked() (rest []byte) {
	if w.atOnce == nil {
		return nil
	}
	buf := w.swapLocked()
	w.mu.Unlock()
	n, err := w.atOnce.Write(buf, w.deadline.Renew())
	w.took(n)
	w.mu.Lock()
	if err == nil && n < len(buf) {
		return buf[n:]
	}
	w.writtenLocked(buf, err)
	return nil
}

// finish writes what is left of a write, and then until nothing waits.
func (w *Writer) finish(rest []byte) {
	if len(rest) == 0 {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.writeAllLocked()
		return
	}
	err := w.write(rest)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.writtenLocked(rest, err)
	w.writeAllLocked()
}

// swapLocked takes what waits, to be written.
func (w *Writer) swapLocked() []byte {
	buf := w.buf
	w.buf, w.spare, w.under = w.spare[:0], nil, cap(buf)
	return buf
}

// largeWrite is the most that is written at once: it must go out in the time of a write.
const largeWrite = 256 << 10

// Whole is implemented by connections that take messages as a whole: what waits is written to them at once.
type Whole interface{ TakesWholeMessages() }

// write writes b in pieces, each of which has a time.
func (w *Writer) write(b []byte) error {
	piece := largeWrite
	if _, whole := w.conn.(Whole); whole {
		piece = len(b)
	}
	for len(b) > 0 {
		w.deadline.Renew()
		n, err := w.conn.Write(b[:min(len(b), piece)])
		w.took(n)
		if err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
}

// took tells a crowded connection that the peer has taken bytes.
func (w *Writer) took(n int) {
	if n > 0 && w.crowd != nil && w.crowd.Crowded() {
		w.crowd.Took()
	}
}

// appendLocked appends messages to what waits.
func (w *Writer) appendLocked(messages [][]byte) error {
	for _, m := range messages {
		var err error
		if w.buf, err = w.append(w.buf, m); err != nil {
			w.brokenLocked(err) // what stands before it has no end now
			return err
		}
	}
	if w.crowd != nil && len(w.buf) > w.room {
		w.crowd.Crowd()
	}
	w.countLocked()
	return nil
}

// brokenLocked ends the connection.
func (w *Writer) brokenLocked(err error) {
	if w.err == nil {
		w.err = err
		w.conn.Close()
	}
}

// writtenLocked ends a write, with its error if it has one: it keeps the buffer for the next messages, and wakes the senders
// that wait for room.
func (w *Writer) writtenLocked(buf []byte, err error) {
	if err != nil {
		w.brokenLocked(err)
	}
	if cap(buf) <= keptBuffer {
		w.spare = buf[:0]
	}
	w.under = 0
	w.countLocked()
	if w.crowd != nil && w.crowd.Crowded() && len(w.buf) <= w.room/4 {
		w.crowd.Clear()
	}
	w.roomy.Broadcast()
}

// Failure is why writing has ended; nil while it has not.
func (w *Writer) Failure() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// Settle waits until all that was appended has been written, writing has ended or done is closed.
func (w *Writer) Settle(done <-chan struct{}) {
	settled := make(chan struct{})
	var wg sync.WaitGroup
	defer wg.Wait()
	defer close(settled)
	over := false
	wg.Go(func() {
		select {
		case <-settled:
		case <-done:
			w.mu.Lock()
			defer w.mu.Unlock()
			over = true
			w.roomy.Broadcast()
		}
	})
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.err == nil && !over && (w.writing || len(w.buf) > 0) {
		w.roomy.Wait()
	}
}

// flushLocked writes until nothing waits. It gives the lock back while it writes.
func (w *Writer) flushLocked() {
	for first := true; len(w.buf) > 0 && w.err == nil; first = false {
		if first {
			// Goroutines that are about to send join this write.
			w.mu.Unlock()
			runtime.Gosched()
			w.mu.Lock()
		}
		buf := w.swapLocked()
		w.mu.Unlock()
		err := w.write(buf)
		w.mu.Lock()
		w.writtenLocked(buf, err)
	}
}

// Close ends the writing: messages that still come are dropped.
func (w *Writer) Close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		w.err = net.ErrClosed
	}
	w.roomy.Broadcast()
}
