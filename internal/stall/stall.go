// Package stall finds work that does not come back, and has what waits behind it go on
// elsewhere.
package stall

import (
	"sync"
	"sync/atomic"
	"time"
)

// Monitor makes it safe to run handlers on a reader, and several calls one
// after the other on a worker. When one has not come back between two looks, the
// monitor takes the work behind it away and lets another goroutine go on, so that a
// slow handler does not delay other calls, and the answer to a handler that calls back
// over its own connection is read. The Go runtime does the same with a thread
// that sits in a system call.
//
// It looks often when much is going on and rarely when little is: its own cost
// stays a small part of the calls' cost. When a rare look finds something that runs, the next one comes soon.
type Monitor struct {
	mu     sync.Mutex
	list   []*watch
	timer  *time.Timer
	every  time.Duration
	second bool // the next look is a second one
	closed bool
}

// Target is what a monitor watches: a session's reader or a job.
type Target interface {
	// Running is zero while nothing runs, and an odd number never seen before when
	// something does. The goroutine that changes it back owns what comes next. It is Over
	// when nothing will run any more.
	Running() *atomic.Uint64
	// Known says that the monitor has the target in its list.
	Known() *atomic.Bool
	// Steal lets another goroutine go on, and sets running to zero when all is handed
	// over. It is called by the goroutine that has set running to Handing.
	Steal()
}

const (
	// Handing is what running is while the monitor hands work over.
	Handing = 2
	// Over is what running is at the end: the target leaves the list at the next look.
	Over = 4
)

type watch struct {
	Target
	seen  uint64 // what ran at the last look
	quiet int    // looks in a row that saw nothing new
}

const (
	// lookOften and LookRarely bound the time between two looks. The rare ones cost most where one call at a time is
	// answered: looks twice as often take two to three per cent more processor time of the server.
	lookOften  = 200 * time.Microsecond
	LookRarely = 19 * time.Millisecond
	// secondLook is the time until the next look when a rare one has found something that runs.
	secondLook = time.Millisecond
	// perLook is how many runs each look should find: with fewer the time between looks
	// grows, with more than twice as many it shrinks.
	perLook = 32
	// forget is after how many looks without anything new a target leaves the list.
	forget = 20
)

// See puts a target in the list.
func (m *Monitor) See(t Target) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed || !t.Known().CompareAndSwap(false, true) {
		return
	}
	m.list = append(m.list, &watch{Target: t})
	if len(m.list) > 1 {
		return
	}
	m.every = LookRarely / 4
	if m.timer == nil {
		m.timer = time.AfterFunc(m.every, m.look)
		return
	}
	m.timer.Reset(m.every)
}

// look is one look at everything that is watched.
func (m *Monitor) look() {
	m.mu.Lock()
	var stolen []Target
	keep := m.list[:0]
	var ran uint64
	second, found := m.second, false
	for _, w := range m.list {
		run := w.Running().Load()
		switch {
		case run == Over:
			continue
		case run&1 == 0:
			if !second {
				w.quiet++
			}
		case run != w.seen:
			found = true
			ran += (run - w.seen) / 2
			w.seen, w.quiet = run, 0
		case w.Running().CompareAndSwap(run, Handing):
			stolen = append(stolen, w.Target)
			w.quiet = 0
		}
		if w.quiet < forget || !m.leave(w) {
			keep = append(keep, w)
		}
	}
	clear(m.list[len(keep):])
	m.list = keep
	next := m.nextLocked(ran, found)
	if len(keep) > 0 && !m.closed {
		m.timer.Reset(next)
	}
	m.mu.Unlock()
	for _, t := range stolen {
		t.Steal()
	}
}

// leave takes a target off the list, unless it has begun to run meanwhile: the
// target looks at known after it has set running.
func (m *Monitor) leave(w *watch) bool {
	w.Known().Store(false)
	return w.Running().Load() == 0 || !w.Known().CompareAndSwap(false, true)
}

// nextLocked is the time until the next look. found says that this one has found something that was not there at the last.
func (m *Monitor) nextLocked(ran uint64, found bool) time.Duration {
	if !m.second {
		m.paceLocked(ran)
	}
	if m.second = found && !m.second && m.every > LookRarely/2; m.second {
		return secondLook
	}
	return m.every
}

// paceLocked fits the time between looks to how much has run since the last.
func (m *Monitor) paceLocked(ran uint64) {
	switch {
	case ran > 2*perLook:
		m.every /= 2
	case ran < perLook:
		m.every *= 2
	}
	m.every = min(max(m.every, lookOften), LookRarely)
}

// Len is how many targets are in the list.
func (m *Monitor) Len() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.list)
}

// Close ends the looks.
func (m *Monitor) Close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	if m.timer != nil {
		m.timer.Stop()
	}
	for _, w := range m.list {
		w.Known().Store(false) // no timer is due any more
	}
	m.list = nil
}
