// Package flights counts what is under way, so that the end of what it belongs to can wait for it.
package flights

import (
	"math"
	"sync"
	"sync/atomic"
)

// Flights counts what is under way, such as the calls of a connection, so that its end can
// wait for them. The zero value is ready; all methods may be called concurrently.
type Flights struct {
	state atomic.Int64 // how many are under way, less shut once no more are taken

	mu    sync.Mutex
	idle  chan struct{} // made by Close
	ended bool          // idle is closed
}

// shut is more than are ever under way.
const shut = 1 << 62

// Enter counts one more; false when no more are taken.
func (f *Flights) Enter() bool { return f.EnterBelow(math.MaxInt) }

// EnterBelow is Enter where at most so many may be under way.
func (f *Flights) EnterBelow(most int) bool {
	for {
		n := f.state.Load()
		if n < 0 || n >= int64(most) {
			return false
		}
		if f.state.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// Leave counts one call less.
func (f *Flights) Leave() {
	if f.state.Add(-1) != -shut {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.endLocked()
}

// endLocked closes idle, once.
func (f *Flights) endLocked() {
	if !f.ended {
		f.ended = true
		close(f.idle)
	}
}

// End lets no more calls in, and has what Close returns closed, though calls may be under way.
func (f *Flights) End() {
	f.Close()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.endLocked()
}

// Close lets no more calls in, and returns what is closed when the last one has ended.
// It may be called more than once.
func (f *Flights) Close() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.idle == nil {
		f.idle = make(chan struct{})
		if f.state.Add(-shut) == -shut {
			f.endLocked()
		}
	}
	return f.idle
}

// Count is the number of calls under way.
func (f *Flights) Count() int {
	n := f.state.Load()
	if n < 0 {
		n += shut
	}
	return int(n)
}
