package outbuf

import "testing"

// While the worker that was asked to write does not begin, a goroutine that makes the batch large enough writes, and
// the worker takes the next batch, or finds nothing to do.
func TestLateWorker(t *testing.T) {
	c := new(fakeConn)
	w, o := newWriter(c)
	w.resumes = true // as on a plain socket
	o.hold = true
	send := func() {
		put(w, 1, 3000)
		w.Lock()
		w.FlushBehindAndUnlock()
	}
	for range eager/3000 + 1 {
		send()
	}
	if n := c.count(); n != 1 {
		t.Fatalf("%d writes while the worker is late, want 1", n)
	}
	send()
	if n := c.count(); n != 1 || len(o.work) != 1 {
		t.Fatalf("%d writes and %d workers, want the last message left to one worker", n, len(o.work))
	}
	o.work[0]()
	if n := c.count(); n != 2 {
		t.Errorf("%d writes after the worker's, want 2", n)
	}
	resting(t, w)
	send()
	if len(o.work) != 2 {
		t.Fatalf("%d workers were asked, want 2", len(o.work))
	}
	o.work[1]()
	o.work[1]() // nothing is left
	if n := c.count(); n != 3 || w.asked {
		t.Errorf("%d writes, want 3; a worker is asked: %v", n, w.asked)
	}
	resting(t, w)
}

// Only a caller that yields as the leader lends its clock.
func TestClock(t *testing.T) {
	c := new(fakeConn)
	w, o := newWriter(c)
	o.hold = true
	put(w, 1, 10)
	w.Lock()
	w.FlushCallAndUnlock(true, 5)
	w.Lock()
	if at := w.ClockLocked(); at != 0 {
		t.Errorf("the clock is %d without a leader", at)
	}
	w.mode, w.clock = yielding, 7
	if at := w.ClockLocked(); at != 7 {
		t.Errorf("the clock is %d while a caller yields, want 7", at)
	}
	w.leadLocked()
	w.mode = idle
	w.Unlock()
	put(w, 2, 10)
	w.Lock()
	w.FlushBehindAndUnlock()
	w.Lock()
	if at := w.ClockLocked(); at != 0 || w.mode != yielding {
		t.Errorf("the clock is %d while a worker is asked to write", at)
	}
	w.Unlock()
	o.work[0]()
	resting(t, w)
}
