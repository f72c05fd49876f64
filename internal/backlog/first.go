package backlog

import (
	"sync"
	"sync/atomic"
	"time"
)

// A method of which no reply was made yet may return megabytes, and thousands of its calls may come at once. So few of
// them run until the length of one reply is known; from then on each counts with about as much while it runs.

const (
	// FewFirst is how many calls of a method run at once before the length of one of its replies is known. After so
	// many answers without a reply, as errors are, its calls do not wait any more.
	FewFirst = 64
	// SlowFirst is the time after which twice as many run: handlers that take long hold others up for a moment only.
	SlowFirst = 100 * time.Millisecond
)

// First bounds the calls of a method of which no reply was made yet. The zero value is ready.
type First struct {
	known atomic.Bool // the length of a reply is known: calls do not wait

	mu      sync.Mutex
	change  sync.Cond // more may run
	running int
	doubled int         // how often SlowFirst has passed while calls waited
	ended   int         // calls that were answered
	timer   *time.Timer // of double; nil while no call waits
}

// Begin waits until one more handler may run. If it returns true, End must be called when the call was answered.
func (f *First) Begin() (counted bool) {
	if f.known.Load() {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.change.L == nil {
		f.change.L = &f.mu
	}
	for !f.known.Load() && f.running >= FewFirst<<f.doubled {
		if f.timer == nil {
			f.timer = time.AfterFunc(SlowFirst, f.double)
		}
		f.change.Wait()
	}
	if f.known.Load() {
		return false
	}
	f.running++
	return true
}

// End says that a call has ended for which Begin returned true; ran means that its handler has run.
func (f *First) End(ran bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.running--
	if ran {
		f.ended++
	}
	if f.ended >= FewFirst {
		f.learnLocked()
	}
	f.change.Signal()
}

// double lets twice as many run.
func (f *First) double() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.timer = nil // a call that goes on to wait sets it anew
	f.doubled = min(f.doubled+1, 16)
	f.change.Broadcast()
}

// Learn notes that the length of a reply is known.
func (f *First) Learn() {
	if f.known.Load() {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.learnLocked()
}

func (f *First) learnLocked() {
	f.known.Store(true)
	if f.timer != nil {
		f.timer.Stop()
		f.timer = nil
	}
	f.change.Broadcast()
}
