package session

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weftrpc/weft/internal/stall"
	"github.com/weftrpc/weft/internal/yield"
)

// Executor runs what must not run on a reader. It is shared by the sessions of
// one server or client. Its workers are used again, the last idle one first, so
// that their stacks have grown already and their memory is in the cache.
type Executor struct {
	mu      sync.Mutex
	idle    []*worker // the last is the one that went idle last
	closed  bool
	janitor *time.Timer

	watch   stall.Monitor
	pauses  yield.Pauses
	numbers atomic.Uint32 // of sessions
}

type worker struct {
	work  chan work
	since time.Time // idle since
	req   Request   // what it runs
}

// work is a job, a series or, rarely, a function.
type work struct {
	job    *job
	series *series
	f      func()
}

const (
	// maxIdle is how many workers may wait for work.
	maxIdle = 16 << 10
	// idleTime is how long one waits before it ends.
	idleTime = 5 * time.Second
)

// NewExecutor returns an executor without workers; they are started with the work.
func NewExecutor() *Executor {
	return &Executor{}
}

// Close lets idle workers end. Work that is running goes on, and new work still runs.
func (e *Executor) Close() {
	e.mu.Lock()
	e.closed = true
	idle := e.idle
	e.idle = nil
	if e.janitor != nil {
		e.janitor.Stop()
		e.janitor = nil
	}
	e.mu.Unlock()
	for _, w := range idle {
		close(w.work)
	}
	e.watch.Close()
	e.pauses.Close()
}

// Go runs f on a worker.
func (e *Executor) Go(f func()) { e.run(work{f: f}) }

func (e *Executor) run(job work) {
	e.mu.Lock()
	if n := len(e.idle); n > 0 {
		w := e.idle[n-1]
		e.idle[n-1] = nil
		e.idle = e.idle[:n-1]
		e.mu.Unlock()
		w.work <- job
		return
	}
	e.mu.Unlock()
	w := &worker{work: make(chan work, 1)}
	// A worker ends when it has been idle for idleTime or the executor is closed.
	go e.serve(w, job)
}

func (e *Executor) serve(w *worker, next work) {
	for ok := true; ok; {
		switch {
		case next.job != nil:
			next.job.serve(&w.req)
		case next.series != nil:
			next.series.serve(&w.req)
		default:
			next.f()
		}
		if !e.rest(w) {
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
func (w *worker) wait(never bool) (next work, ok bool) {
	if never {
		var frame [2 << 10]byte // not cleared where it is not reached
		runtime.KeepAlive(&frame)
	}
	next, ok = <-w.work
	return next, ok
}

// rest makes the worker available again. It returns false when there is no need of it.
func (e *Executor) rest(w *worker) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed || len(e.idle) >= maxIdle {
		return false
	}
	if e.janitor == nil {
		e.janitor = time.AfterFunc(idleTime, e.clean)
	}
	w.since = time.Time{}
	e.idle = append(e.idle, w)
	return true
}

// clean ends the workers that were not needed since it ran last. Those at the
// bottom of the stack have waited longest.
func (e *Executor) clean() {
	e.mu.Lock()
	at := time.Now()
	old := 0
	for _, w := range e.idle {
		if w.since.IsZero() {
			w.since = at
		} else if at.Sub(w.since) >= idleTime/2 {
			old++
		}
	}
	var end []*worker
	end = append(end, e.idle[:old]...)
	e.idle = append(e.idle[:0], e.idle[old:]...)
	e.janitor = nil
	if !e.closed && len(e.idle) > 0 {
		e.janitor = time.AfterFunc(idleTime, e.clean)
	}
	e.mu.Unlock()
	for _, w := range end {
		close(w.work)
	}
}
