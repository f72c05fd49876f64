package netrpc

import (
	"net"
	"runtime"
	"sync"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/codec/gob"
)

// writer writes the messages of many goroutines in few writes: the first of them writes,
// and takes along what the others append meanwhile. Messages are written in the order in
// which they were appended, which the gob stream needs.
type writer struct {
	conn    net.Conn
	room    int           // bytes that may wait
	timeout time.Duration // of one write

	mu      sync.Mutex
	roomy   sync.Cond // there is room again, or an end
	stream  gob.Writer
	buf     []byte // waits to be written
	spare   []byte
	writing bool
	err     error
}

func newWriter(conn net.Conn, limits weft.Limits) *writer {
	w := &writer{conn: conn, room: limits.WriteBuffer, timeout: limits.WriteTimeout}
	w.roomy.L = &w.mu
	return w
}

// keptBuffer is the largest buffer that is used again, in bytes.
const keptBuffer = 64 << 10

// send appends messages that belong together, and has them written. It waits while too
// many bytes wait. The error is that of the connection.
func (w *writer) send(messages ...[]byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.err == nil && len(w.buf) > w.room {
		w.roomy.Wait()
	}
	if w.err != nil {
		return w.err
	}
	for _, m := range messages {
		var err error
		if w.buf, err = w.stream.Append(w.buf, m); err != nil {
			// What stands before it has no end now.
			w.err = err
			w.conn.Close()
			return err
		}
	}
	if !w.writing {
		w.writing = true
		w.flushLocked()
		w.writing = false
	}
	return w.err
}

// flushLocked writes until nothing waits. It gives the lock back while it writes.
func (w *writer) flushLocked() {
	for first := true; len(w.buf) > 0 && w.err == nil; first = false {
		if first {
			// Goroutines that are about to send join this write.
			w.mu.Unlock()
			runtime.Gosched()
			w.mu.Lock()
		}
		buf := w.buf
		w.buf, w.spare = w.spare[:0], nil
		w.mu.Unlock()
		w.conn.SetWriteDeadline(time.Now().Add(w.timeout))
		_, err := w.conn.Write(buf)
		w.mu.Lock()
		if err != nil && w.err == nil {
			w.err = err
			w.conn.Close()
		}
		if cap(buf) <= keptBuffer {
			w.spare = buf[:0]
		}
		w.roomy.Broadcast()
	}
}

// close ends the writing: messages that still come are dropped.
func (w *writer) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		w.err = net.ErrClosed
	}
	w.roomy.Broadcast()
}
