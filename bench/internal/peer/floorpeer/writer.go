package floorpeer

import (
	"net"
	"runtime"
	"sync"
	"sync/atomic"
)

const (
	// smallBatch is what is worth one more yield before it is written.
	smallBatch = 8 << 10

	// maxRounds is how many batches one sender writes for the others before it
	// leaves the rest to a goroutine and goes on with its own work.
	maxRounds = 16
)

// writer joins the frames of many senders into few writes.
type writer struct {
	socket   net.Conn
	mu       sync.Mutex
	buf      []byte       // what is to be written; at most one frame for each sender
	spare    []byte       // the other half of the double buffer
	flushing bool         // a sender writes, or is about to
	err      error        // why nothing can be sent any more
	open     atomic.Int64 // calls under way: with more than one, others may send soon
}

// send encodes a body into the shared buffer, and calls sent, if it is not nil. It
// writes the buffer unless another sender does.
func (w *writer) send(slot uint32, encode func([]byte) ([]byte, error), sent func()) error {
	w.mu.Lock()
	if err := w.err; err != nil {
		w.mu.Unlock()
		return err
	}
	buf, err := appendFrame(w.buf, slot, encode)
	if err != nil {
		w.mu.Unlock()
		return err
	}
	w.buf = buf
	if sent != nil {
		sent()
	}
	if w.flushing {
		w.mu.Unlock()
		return nil
	}
	w.flushing = true
	if w.open.Load() > 1 {
		w.yieldLocked()
	}
	w.flushAndUnlock(maxRounds)
	return nil
}

// flushAndUnlock writes until nothing is left, but at most rounds batches. The
// sender that set flushing calls it with the lock held; it unlocks.
func (w *writer) flushAndUnlock(rounds int) {
	for ; len(w.buf) > 0 && w.err == nil; rounds-- {
		if rounds == 0 {
			w.mu.Unlock()
			go func() { // ends when the buffer is empty or the connection gone
				w.mu.Lock()
				w.flushAndUnlock(-1)
			}()
			return
		}
		batch := w.buf
		w.buf = w.spare[:0]
		w.mu.Unlock()
		_, err := w.socket.Write(batch)
		w.mu.Lock()
		w.spare = batch[:0]
		if err != nil {
			// The reader notices the closed socket and fails all waiting callers.
			w.socket.Close()
			w.err = err
		}
		if n := len(w.buf); n > 0 && n < smallBatch && w.open.Load() > 1 {
			w.yieldLocked()
		}
	}
	w.flushing = false
	w.mu.Unlock()
}

// yieldLocked unlocks, lets all senders that can run add a frame, and locks again:
// Gosched puts the writer behind all of them.
func (w *writer) yieldLocked() {
	w.mu.Unlock()
	runtime.Gosched()
	w.mu.Lock()
}

// refuse ends sending: all further sends fail with err.
func (w *writer) refuse(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		w.err = err
	}
}
