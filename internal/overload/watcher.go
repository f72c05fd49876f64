package overload

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// lookEvery is how often the queue for processors is looked at while there are calls.
const lookEvery = 20 * time.Millisecond

// Watcher tells a controller how long the queue for processors is, while there are calls. It is made by
// Controller.Watch; all methods may be called concurrently.
type Watcher struct {
	c   *Controller
	now func() int64

	running atomic.Bool // the timer runs
	mu      sync.Mutex
	timer   *time.Timer // nil until it is first needed
	stopped bool
}

// Watch returns a watcher that does not look yet. now is the clock of the controller.
func (c *Controller) Watch(now func() int64) *Watcher { return &Watcher{c: c, now: now} }

// Begin begins to look, until no call is in flight.
func (w *Watcher) Begin() {
	if !w.running.Load() {
		w.begin()
	}
}

//go:noinline
func (w *Watcher) begin() {
	if !w.running.CompareAndSwap(false, true) {
		return
	}
	w.c.looks.seen(w.now())
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.stopped:
	case w.timer == nil:
		w.timer = time.AfterFunc(lookEvery, w.look)
	default:
		w.timer.Reset(lookEvery)
	}
}

// look measures how long a goroutine waits for a processor that is at the end of the queue. It takes along how many there are: the runtime
// follows the limit of a container.
func (w *Watcher) look() {
	w.c.run(runtime.GOMAXPROCS(0))
	from := w.now()
	w.c.looks.seen(from)
	runtime.Gosched()
	now := w.now()
	w.c.Queue(now - from)
	w.c.looks.seen(now)
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.stopped && w.c.InFlight() > 0 {
		w.timer.Reset(lookEvery)
		return
	}
	w.c.looks.over()
	w.running.Store(false) // the next call begins again
}

// Stop ends the look at the queue.
func (w *Watcher) Stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stopped = true
	if w.timer != nil {
		w.timer.Stop()
	}
}
