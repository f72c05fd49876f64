package session

import "runtime"

// A stream whose messages follow each other closely would make one system call for each of them. So only the first
// message of such a run is written by the goroutine that sends it. For the next ones a worker is asked to write; until it
// begins, and while it writes, they are appended to the buffer and leave together.

// moment is how soon a message follows another closely, in nanoseconds, from the end of one Send to the beginning of the next.
// It is about the time that a worker needs to begin and to write: at a slower pace it would write one message at a time.
const moment = 10_000

// flow tells whether the messages of a stream follow each other closely. The stream's lock guards it.
type flow struct {
	sent   int64 // when the last Send ended; 0: there was none
	answer bool  // a Recv has waited since, or taken the last message that had come: the next one may be the answer to it
}

// next reports whether a message whose Send began at a time follows another one closely.
func (f *flow) next(at int64) bool {
	follows := f.sent != 0 && at-f.sent < moment && !f.answer
	f.sent, f.answer = at, false
	return follows
}

// flushBehindAndUnlock is flushStreamAndUnlock for a goroutine that is likely to append more at once: a worker becomes the
// leader. While it has not begun the mode is yielding, so a goroutine that makes the batch large enough writes in its place.
func flushBehindAndUnlock(s *Session) {
	w := &s.w
	if w.mode != idle || w.dead || len(w.buf)+w.large.Size() >= eager {
		flushStreamAndUnlock(s, false)
		return
	}
	l := &w.lead
	w.mode, l.left = yielding, w.turn
	if l.asked {
		w.mu.Unlock() // another goroutine has written what that worker was asked for: the worker takes this turn
		return
	}
	l.asked = true
	if l.behind == nil {
		l.behind = func() { writeBehind(s) }
	}
	w.mu.Unlock()
	s.cfg.Exec.Go(l.behind)
}

// writeBehind writes what flushBehindAndUnlock has left to a worker, unless another goroutine has become the leader.
func writeBehind(s *Session) {
	runtime.Gosched() // the goroutines that are ready append first
	w := &s.w
	w.mu.Lock()
	w.lead.asked = false
	if w.mode != yielding || w.lead.left != w.turn {
		w.mu.Unlock()
		return
	}
	w.beginsLocked()
	w.lead.run = true
	w.mode, w.alone = writing, true
	s.writeAndUnlock(-1, false)
}
