package weft

import (
	"math"
	"sync"
)

// flights counts the calls under way on a connection of a foreign wire, so that its end
// can wait for them. The zero value is ready.
type flights struct {
	mu     sync.Mutex
	n      int
	closed bool
	ended  bool          // also without the calls under way
	idle   chan struct{} // closed when it was closed and the last call has ended
}

// enter counts one more call; false when no more are taken.
func (f *flights) enter() bool { return f.enterBelow(math.MaxInt) }

// enterBelow is enter where at most so many calls may be under way.
func (f *flights) enterBelow(most int) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed || f.n >= most {
		return false
	}
	f.n++
	return true
}

// leave counts one call less.
func (f *flights) leave() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.n--; f.closed && f.n == 0 && !f.ended {
		close(f.idle)
	}
}

// end lets no more calls in, and has what close returns closed, though calls may be under way.
func (f *flights) end() {
	idle := f.close()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ended = true; f.n > 0 {
		select {
		case <-idle:
		default:
			close(f.idle)
		}
	}
}

// close lets no more calls in, and returns what is closed when the last one has ended.
// It may be called more than once.
func (f *flights) close() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.closed {
		f.closed, f.idle = true, make(chan struct{})
		if f.n == 0 {
			close(f.idle)
		}
	}
	return f.idle
}

// count is the number of calls under way.
func (f *flights) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.n
}
