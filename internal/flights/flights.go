// Package flights counts what is under way, so that the end of what it belongs to can wait for it.
package flights

import (
	"math"
	"sync"
)

// Flights counts what is under way, such as the calls of a connection, so that its end can
// wait for them. The zero value is ready; all methods may be called concurrently.
type Flights struct {
	mu     sync.Mutex
	n      int
	closed bool
	ended  bool          // also without the calls under way
	idle   chan struct{} // closed when it was closed and the last call has ended
}

// Enter counts one more; false when no more are taken.
func (f *Flights) Enter() bool { return f.EnterBelow(math.MaxInt) }

// EnterBelow is Enter where at most so many may be under way.
func (f *Flights) EnterBelow(most int) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed || f.n >= most {
		return false
	}
	f.n++
	return true
}

// Leave counts one call less.
func (f *Flights) Leave() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.n--; f.closed && f.n == 0 && !f.ended {
		close(f.idle)
	}
}

// End lets no more calls in, and has what Close returns closed, though calls may be under way.
func (f *Flights) End() {
	idle := f.Close()
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

// Close lets no more calls in, and returns what is closed when the last one has ended.
// It may be called more than once.
func (f *Flights) Close() <-chan struct{} {
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

// Count is the number of calls under way.
func (f *Flights) Count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.n
}
