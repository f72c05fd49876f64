// Package workers runs work on goroutines that are used again, the last idle one first, so that their stacks have grown already
// and their memory is in the cache.
package workers

import (
	"runtime"
	"slices"
	"sync"
	"time"
)

// Pool are the workers for work of type W. Each has an S of its own, for one piece of work after the other. Init makes it ready.
type Pool[W, S any] struct {
	do func(w W, own *S)

	mu      sync.Mutex
	idle    []*worker[W, S] // the last is the one that went idle last
	closed  bool
	janitor *time.Timer
}

type worker[W, S any] struct {
	work  chan W
	since time.Time // idle since, as far as the janitor has seen
	own   S
}

const (
	// maxIdle is how many workers may wait for work.
	maxIdle = 16 << 10
	// idleTime is how long one waits before it ends.
	idleTime = 5 * time.Second
)

// Init makes the pool ready, without workers: they are started with the work. do does a piece of it; it may end its goroutine.
func (p *Pool[W, S]) Init(do func(w W, own *S)) { p.do = do }

// Close lets idle workers end. Work that is under way goes on, and new work is still done.
func (p *Pool[W, S]) Close() {
	p.mu.Lock()
	p.closed = true
	idle := p.idle
	p.idle = nil
	if p.janitor != nil {
		p.janitor.Stop()
		p.janitor = nil
	}
	p.mu.Unlock()
	for _, w := range idle {
		close(w.work)
	}
}

// Run has a worker do work. It does not wait.
func (p *Pool[W, S]) Run(work W) {
	p.mu.Lock()
	if n := len(p.idle); n > 0 {
		w := p.idle[n-1]
		p.idle[n-1] = nil
		p.idle = p.idle[:n-1]
		p.mu.Unlock()
		w.work <- work
		return
	}
	p.mu.Unlock()
	w := &worker[W, S]{work: make(chan W, 1)}
	// A worker ends when it has been idle for idleTime or the pool is closed.
	go p.run(w, work)
}

// run is a worker, which begins with next.
func (p *Pool[W, S]) run(w *worker[W, S], next W) {
	for ok := true; ok; {
		p.do(next, &w.own)
		if !p.rest(w) {
			return
		}
		next, ok = w.wait(false)
	}
}

// wait returns the next work. Its frame is large though nothing is in it: the garbage
// collector halves a stack of which less than a quarter is in use (shrinkstack in the
// runtime), as it would be that of a worker that waits, and every call then begins with
// growing it again.
//
//go:noinline
func (w *worker[W, S]) wait(never bool) (next W, ok bool) {
	if never {
		var frame [2 << 10]byte // not cleared where it is not reached
		runtime.KeepAlive(&frame)
	}
	next, ok = <-w.work
	return next, ok
}

// rest makes the worker available again. It returns false when there is no need of it.
func (p *Pool[W, S]) rest(w *worker[W, S]) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || len(p.idle) >= maxIdle {
		return false
	}
	if p.janitor == nil {
		p.janitor = time.AfterFunc(idleTime, p.clean)
	}
	w.since = time.Time{}
	p.idle = append(p.idle, w)
	return true
}

// clean ends the workers that were not needed since it ran last. Those at the
// bottom of the stack have waited longest.
func (p *Pool[W, S]) clean() {
	p.mu.Lock()
	at := time.Now()
	old := 0
	for _, w := range p.idle {
		if w.since.IsZero() {
			w.since = at
		} else if at.Sub(w.since) >= idleTime/2 {
			old++
		}
	}
	var end []*worker[W, S]
	end = append(end, p.idle[:old]...)
	p.idle = slices.Delete(p.idle, 0, old) // clears what is behind the rest
	p.janitor = nil
	if !p.closed && len(p.idle) > 0 {
		p.janitor = time.AfterFunc(idleTime, p.clean)
	}
	p.mu.Unlock()
	for _, w := range end {
		close(w.work)
	}
}
