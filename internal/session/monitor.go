package session

import (
	"sync"
	"sync/atomic"
	"time"
)

// The monitor makes it safe to run handlers on a reader, and several calls one
// after the other on a worker. When one has not come back between two looks, the
// monitor takes the work behind it away and lets another goroutine go on, so that a
// slow handler does not delay other calls, and the answer to a handler that calls back
// over its own connection is read. The Go runtime does the same with a thread
// that sits in a system call.
//
// It looks often when much is going on and rarely when little is: its own cost
// stays a small part of the calls' cost.
type monitor struct {
	mu     sync.Mutex
	list   []*watch
	timer  *time.Timer
	every  time.Duration
	closed bool
}

// target is what the monitor watches: a session's reader or a job.
type target interface {
	// running is zero while nothing runs, and an odd number never seen before when
	// something does. The goroutine that changes it back owns what comes next.
	running() *atomic.Uint64
	// known says that the monitor has the target in its list.
	known() *atomic.Bool
	// steal lets another goroutine go on, and sets running to zero when all is handed
	// over. It is called by the goroutine that has set running to handing.
	steal()
}

// handing is what running is while the monitor hands work over.
const handing = 2

type watch struct {
	target
	seen  uint64 // what ran at the last look
	quiet int    // looks in a row that saw nothing new
}

const (
	// lookOften and lookRarely bound the time between two looks.
	lookOften  = 200 * time.Microsecond
	lookRarely = 10 * time.Millisecond
	// perLook is how many runs each look should find: with fewer the time between looks
	// grows, with more than twice as many it shrinks.
	perLook = 32
	// forget is after how many looks without anything new a target leaves the list.
	forget = 20
)

// see puts a target in the list.
func (m *monitor) see(t target) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed || !t.known().CompareAndSwap(false, true) {
		return
	}
	m.list = append(m.list, &watch{target: t})
	if len(m.list) > 1 {
		return
	}
	m.every = lookRarely / 4
	if m.timer == nil {
		m.timer = time.AfterFunc(m.every, m.look)
		return
	}
	m.timer.Reset(m.every)
}

// look is one look at everything that is watched.
func (m *monitor) look() {
	m.mu.Lock()
	var stolen []target
	keep := m.list[:0]
	var ran uint64
	for _, w := range m.list {
		run := w.running().Load()
		switch {
		case run&1 == 0:
			w.quiet++
		case run != w.seen:
			ran += (run - w.seen) / 2
			w.seen, w.quiet = run, 0
		case w.running().CompareAndSwap(run, handing):
			stolen = append(stolen, w.target)
			w.quiet = 0
		}
		if w.quiet < forget || !m.leave(w) {
			keep = append(keep, w)
		}
	}
	clear(m.list[len(keep):])
	m.list = keep
	m.pace(ran)
	if len(keep) > 0 && !m.closed {
		m.timer.Reset(m.every)
	}
	m.mu.Unlock()
	for _, t := range stolen {
		t.steal()
	}
}

// leave takes a target off the list, unless it has begun to run meanwhile: the
// target looks at known after it has set running.
func (m *monitor) leave(w *watch) bool {
	w.known().Store(false)
	return w.running().Load() == 0 || !w.known().CompareAndSwap(false, true)
}

// pace fits the time between looks to how much has run since the last.
func (m *monitor) pace(ran uint64) {
	switch {
	case ran > 2*perLook:
		m.every /= 2
	case ran < perLook:
		m.every *= 2
	}
	m.every = min(max(m.every, lookOften), lookRarely)
}

func (m *monitor) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	if m.timer != nil {
		m.timer.Stop()
	}
}
