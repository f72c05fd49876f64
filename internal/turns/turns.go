// Package turns bounds how many goroutines do something at the same time. It costs little
// while there are fewer than the bound.
package turns

import (
	"sync"
	"sync/atomic"
)

// Turns are up to a number of turns that are taken at the same time. The zero value is ready.
type Turns struct {
	taken   atomic.Int32
	waiting atomic.Int32
	mu      sync.Mutex
	free    sync.Cond
	over    bool
}

// Take waits until fewer than most turns are taken, or End was called, and takes one. All
// calls give the same number.
func (t *Turns) Take(most int32) {
	if t.try(most) {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.free.L = &t.mu
	t.waiting.Add(1)
	for !t.try(most) {
		if t.over {
			t.taken.Add(1)
			break
		}
		t.free.Wait()
	}
	t.waiting.Add(-1)
}

func (t *Turns) try(most int32) bool {
	for {
		n := t.taken.Load()
		if n >= most {
			return false
		}
		if t.taken.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// Give gives a turn back.
func (t *Turns) Give() {
	t.taken.Add(-1)
	// A goroutine that waits counts itself in waiting before its last look at taken.
	if t.waiting.Load() > 0 {
		t.mu.Lock()
		t.free.Signal()
		t.mu.Unlock()
	}
}

// End lets all goroutines go on, also those that call Take later.
func (t *Turns) End() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.over = true
	t.free.Broadcast()
}
