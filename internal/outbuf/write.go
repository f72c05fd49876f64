package outbuf

import (
	"errors"
	"net"
	"runtime"
	"time"

	"github.com/weftrpc/weft/internal/bulk"
)

// largeWrite is the most that is given to the connection at once. It must go
// out within the time that a write may take.
const largeWrite = 256 << 10

// writeAndUnlock is the leader's loop. It ends when nothing is left, rounds writes have been
// made, or a cautious leader may be held up.
func (w *Writer) writeAndUnlock(rounds int, cautious bool) {
	for ; ; rounds-- {
		if w.handoff != nil && !w.closed {
			close(w.handoff)
			w.handoff = nil
			w.Unlock()
			return
		}
		var from time.Time // of a write with large messages
		if !w.Large.Empty() {
			w.buf = w.Large.Take(w.buf, w.sum, w.bindLocked)
			from = time.Now()
		}
		if w.crowd.backlog.Crowded() {
			w.noteReadLocked()
		}
		if len(w.buf) == 0 && len(w.under.rest) == 0 || w.closed {
			w.mode, w.alone, w.under.rest = idle, false, nil
			w.Unlock()
			return
		}
		if rounds == 0 || cautious && w.mayBlockLocked() {
			w.Unlock()
			// This goroutine ends when it finds nothing more to write.
			go w.writeOn()
			return
		}
		b := w.under.rest
		w.under.rest = nil
		if b == nil {
			b = w.swapLocked()
		}
		w.room.wakeLocked() // each goroutine that leaves wakes the next, as long as there is room
		w.under.now = true
		w.Unlock()

		if n, err := w.hand(b); err != nil {
			w.failed(b[n:], err)
			return
		}

		w.Lock()
		w.progress.writes++
		w.under.now = false
		if ended := w.under.ended; ended != nil {
			w.Unlock()
			w.owner.WriteFailed(nil, ended)
			return
		}
		if !from.IsZero() {
			w.Large.Fit(time.Since(from))
		}
		w.keepLocked(b)
		if w.crowd.noted > 0 {
			w.crowd.countLocked(w.memoryLocked())
		}
		if n := len(w.buf); n > 0 && n < meager && (w.owner.OpenLocked() > 1 || w.run) {
			w.Unlock()
			runtime.Gosched()
			w.Lock()
		}
	}
}

// bindLocked readies a large request whose first frame is appended to buf next, which is the buffer.
func (w *Writer) bindLocked(buf []byte, m *bulk.Message) []byte {
	w.buf = buf
	w.owner.BindLocked(m)
	return w.buf
}

// hand gives b to the connection, a large one in pieces, so that LookLocked sees
// progress on a slow connection too.
func (w *Writer) hand(b []byte) (n int, err error) {
	for len(b)-n > largeWrite {
		m, err := w.conn.Write(b[n : n+largeWrite])
		if n += m; err != nil {
			return n, err
		}
		w.Lock()
		w.progress.writes++
		w.Unlock()
		if w.crowd.backlog.Crowded() {
			w.crowd.backlog.Took()
		}
	}
	m, err := w.conn.Write(b[n:])
	return n + m, err
}

// failed takes a write that has failed with err before rest was written. Unless it was interrupted, to be gone on with
// by another goroutine, the mode stays writing, so that no other goroutine writes.
func (w *Writer) failed(rest []byte, err error) {
	if w.handOver(rest, err) {
		return
	}
	known, ok := errors.AsType[net.Error](err)
	w.Lock()
	ended := w.under.ended
	w.under.now = ok && known.Timeout() // an end that reading finds behind it does not count: see ReadEnded
	w.Unlock()
	w.owner.WriteFailed(err, ended)
}

// writeOn writes as a goroutine of its own.
func (w *Writer) writeOn() {
	w.Lock()
	w.alone = true
	w.writeAndUnlock(-1, false)
}
