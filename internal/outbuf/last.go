package outbuf

import (
	"time"

	"github.com/weftrpc/weft/internal/wire"
)

// WriteLast writes all that was appended, and a frame behind it, within Goodbye. It reports whether all was
// written; in either case nothing is written after it. A write that is under way is waited for, for no longer than Goodbye.
func (w *Writer) WriteLast(h wire.Header, payload []byte) bool {
	w.Lock()
	if w.mode == writing && !w.takeOverLocked() {
		w.Unlock()
		return false
	}
	w.leadLocked()
	w.alone, w.refusing = true, true
	w.FrameLocked(h, payload)
	b := append(w.under.rest, w.swapLocked()...)
	w.under.rest = nil
	w.Unlock()
	w.conn.SetDeadline(time.Now().Add(Goodbye))
	_, err := w.conn.Write(b)
	return err == nil
}

// takeOverLocked makes its caller the leader in place of the current one, as soon as the
// current write ends. Meanwhile it releases the lock. It returns false when the write has not ended within
// Goodbye, or the Writer was closed.
func (w *Writer) takeOverLocked() bool {
	if w.closed || w.handoff != nil { // there is no leader that hands over, or it hands over to another goroutine
		return false
	}
	handoff := make(chan struct{})
	w.handoff = handoff
	w.Unlock()
	late := time.NewTimer(Goodbye)
	defer late.Stop()
	select {
	case <-handoff:
	case <-late.C:
	}
	w.Lock()
	if w.handoff == handoff {
		w.handoff = nil
		return false
	}
	return !w.closed
}

// ReadEnded notes that reading has ended, for the reason st, while the Writer is not closed. The caller ends the session, for
// st, unless later or refusing is true. later: a write is under way, whose end comes first: the system tells once that
// a connection has timed out, to a read or a write, and after a write that was told reading finds nothing but an end,
// which is not the peer's. The owner gets st with WriteFailed then; its caller bounds the wait by Goodbye. refusing: the peer has closed the
// connection because of WriteLast, whose caller ends the session.
func (w *Writer) ReadEnded(st *wire.Status) (later, refusing bool) {
	w.Lock()
	defer w.Unlock()
	later = w.under.now && !w.closed
	if later {
		w.under.ended = st
	}
	return later, w.refusing
}

// Seal reports whether everything has been handed to the connection. If so
// nothing is written any more: a frame appended from then on would only fail, and a write
// that fails closes the connection before the peer has read the rest.
func (w *Writer) Seal() bool {
	w.Lock()
	defer w.Unlock()
	if w.closed {
		return true
	}
	if !w.RestingLocked() {
		return false
	}
	w.leadLocked()
	return true
}

// CloseLocked ends all waiting and drops what was not written. It returns how many bytes of the
// stream were handed to the connection. A write that is under way ends with the connection.
func (w *Writer) CloseLocked() (sent uint64) {
	w.closed = true
	w.room.Broadcast()
	if w.handoff != nil {
		close(w.handoff)
		w.handoff = nil
	}
	w.buf = nil
	w.Large.Clear()
	return w.taken
}
