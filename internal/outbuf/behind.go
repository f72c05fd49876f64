package outbuf

import "runtime"

// FlushBehindAndUnlock is FlushCallAndUnlock for a goroutine that is likely to append more at once, such as messages of a
// stream that follow each other closely: a worker becomes the leader, and what is appended until it begins, and while it
// writes, leaves together. While it has not begun the mode is yielding, so a goroutine that makes the batch large enough
// writes in its place.
func (w *Writer) FlushBehindAndUnlock() {
	if w.mode != idle || w.closed || w.waitsLocked() >= eager {
		w.FlushCallAndUnlock(false, 0)
		return
	}
	w.mode, w.left = yielding, w.turn
	if w.asked {
		w.Unlock() // another goroutine has written what that worker was asked for: the worker takes this turn
		return
	}
	w.asked = true
	if w.behind == nil {
		w.behind = w.writeBehind
	}
	w.Unlock()
	w.owner.Go(w.behind)
}

// writeBehind writes what FlushBehindAndUnlock has left to a worker, unless another goroutine has become the leader.
func (w *Writer) writeBehind() {
	runtime.Gosched() // the goroutines that are ready append first
	w.Lock()
	w.asked = false
	if w.mode != yielding || w.left != w.turn {
		w.Unlock()
		return
	}
	w.leadLocked()
	w.run, w.alone = true, true
	w.writeAndUnlock(-1, false)
}
