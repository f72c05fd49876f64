package floorpeer

import (
	"runtime"
	"sync"
	"sync/atomic"
)

const (
	// smallBatch is what is worth one more yield before it is written.
	smallBatch = 8 << 10

	// maxRounds is how many batches one caller writes for the others before it
	// leaves the rest to a goroutine and goes to wait for its own reply.
	maxRounds = 16
)

// writer joins the frames of many callers into few writes.
type writer struct {
	mu       sync.Mutex
	buf      []byte // what is to be written; at most one frame for each caller
	spare    []byte // the other half of the double buffer
	flushing bool   // somebody writes, or is about to
	err      error  // why nothing can be sent any more
	inFlight atomic.Int64
}

// send encodes the caller's request into the shared buffer. It writes the buffer
// if nobody else does.
func (c *conn) send(caller *caller) error {
	w := &c.writer
	w.mu.Lock()
	if err := w.err; err != nil {
		w.mu.Unlock()
		return err
	}
	buf, err := appendFrame(w.buf, caller.slot, caller.exchange.AppendRequest)
	if err != nil {
		w.mu.Unlock()
		return err
	}
	w.buf = buf
	caller.waiting.Store(true)
	others := w.inFlight.Add(1) > 1
	if w.flushing {
		w.mu.Unlock()
		return nil
	}
	w.flushing = true
	if others {
		w.yield()
	}
	c.flush(maxRounds) // unlocks
	return nil
}

// flush writes until nothing is left, but at most rounds batches. It is called
// with the lock held by whoever set flushing, and unlocks.
func (c *conn) flush(rounds int) {
	w := &c.writer
	for ; len(w.buf) > 0 && w.err == nil; rounds-- {
		if rounds == 0 {
			w.mu.Unlock()
			go func() { // ends when the buffer is empty or the connection gone
				w.mu.Lock()
				c.flush(-1)
			}()
			return
		}
		batch := w.buf
		w.buf = w.spare[:0]
		w.mu.Unlock()
		_, err := c.socket.Write(batch)
		w.mu.Lock()
		w.spare = batch[:0]
		if err != nil {
			// The reader notices the closed socket and fails all who wait.
			c.socket.Close()
			w.err = err
		}
		if n := len(w.buf); n > 0 && n < smallBatch && w.inFlight.Load() > 1 {
			w.yield()
		}
	}
	w.flushing = false
	w.mu.Unlock()
}

// yield lets every caller that can run now add its frame first: Gosched puts
// the writer behind all of them.
func (w *writer) yield() {
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
