// Package yield has a goroutine that always finds work let others run. runtime.Gosched is not
// enough for that: while a goroutine is ready to run, a processor does not ask the network
// which others are.
package yield

import (
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// Pauses are where the goroutines of a process's connections pause. The zero value is ready.
type Pauses struct {
	busy    atomic.Int32 // shares that have paused and have not waited since
	pausing atomic.Int32 // of these, the ones in a pause
	least   atomic.Int64 // about how long a pause takes in which no other goroutine works, ns

	mu     sync.Mutex
	r, w   *os.File // a pipe; nil until it is needed
	poke   func()   // writes one byte into it
	closed bool     // or there is no pipe
}

// Share bounds how long one goroutine works before it pauses, and how long it pauses then: until
// the others have worked twice as long, or none of them has anything to do. The goroutines
// that pause have a third of a processor together then, and all of it when no others want it. Its
// owner alone uses it.
type Share struct {
	mark   time.Duration // until when the time was accounted for
	worked time.Duration // since the last pause, less what was waited
	slice  time.Duration // how long it may work; 0 for the least
	busy   bool          // counted in Pauses.busy
}

const (
	// leastSlice and mostSlice bound how long a goroutine works between two pauses: the
	// longer the longer no other has had anything to do in them.
	leastSlice = 50 * time.Microsecond
	mostSlice  = time.Millisecond
	// usualPause is how long a pause is taken to be in which no other goroutine works, until
	// one was seen, and mostPause the most that it is taken to be.
	usualPause = 5 * time.Microsecond
	mostPause  = 50 * time.Microsecond
)

// Begin says that the goroutine begins to work.
func (s *Share) Begin(at time.Duration) { s.mark = at }

// Due accounts for work up to now and reports whether the goroutine should pause.
func (s *Share) Due(at time.Duration) bool {
	s.worked += at - s.mark
	s.mark = at
	return s.worked >= max(s.slice, leastSlice)
}

// Waited accounts for time up to now in which the goroutine has waited, except for as much as
// some work takes.
func (s *Share) Waited(p *Pauses, at, work time.Duration) {
	took := at - s.mark
	work = min(work, took)
	s.worked += work - (took - work)
	s.mark = at
	if s.worked <= 0 {
		s.worked = 0
		s.End(p)
	}
}

// End says that the goroutine does not pause for now.
func (s *Share) End(p *Pauses) {
	if s.busy {
		s.busy = false
		p.busy.Add(-1)
	}
}

// Pause lets others run. now is the clock; start runs a function on another goroutine.
func (s *Share) Pause(p *Pauses, now func() time.Duration, start func(func())) {
	if !s.busy {
		s.busy = true
		p.busy.Add(1)
	}
	p.pausing.Add(1)
	defer p.pausing.Add(-1)
	// The others that pause take their slices meanwhile.
	others := time.Duration(3*p.busy.Load()-1) * s.worked
	s.worked = 0
	s.slice = min(2*max(s.slice, leastSlice), mostSlice)
	for until := s.mark + others; s.mark < until; {
		p.pause(start)
		at := now()
		took := at - s.mark
		s.mark = at
		if p.empty(took) {
			return
		}
		s.slice = leastSlice
	}
}

// empty reports whether no goroutine but those that pause has worked in a pause that took so
// long.
func (p *Pauses) empty(took time.Duration) bool {
	least := time.Duration(p.least.Load())
	if least == 0 {
		least = usualPause
	}
	if took < least {
		least = took
	} else {
		least = min(least+least/64+1, mostPause)
	}
	p.least.Store(int64(least))
	return took <= 3*least/2*time.Duration(p.pausing.Load())
}

// pause waits for a byte that another goroutine writes into a pipe: the processor runs the
// goroutines that are ready, and then those for which something has come from the network.
func (p *Pauses) pause(start func(func())) {
	p.mu.Lock()
	if p.r == nil && !p.closed {
		p.openLocked()
	}
	r, poke := p.r, p.poke
	p.mu.Unlock()
	if r == nil {
		runtime.Gosched()
		return
	}
	start(poke)
	var b [1]byte
	_, _ = r.Read(b[:]) // which fails when Close is called
}

func (p *Pauses) openLocked() {
	r, w, err := os.Pipe()
	if err == nil && !pollable(r) {
		_ = r.Close()
		_ = w.Close()
		err = os.ErrNoDeadline
	}
	if err != nil {
		p.closed = true
		return
	}
	p.r, p.w = r, w
	p.poke = func() { _, _ = w.Write([]byte{0}) }
}

// pollable reports whether reading waits in the network poller and not in a thread.
func pollable(r *os.File) bool { return r.SetReadDeadline(time.Time{}) == nil }

// Close ends all pauses. Later ones are short.
func (p *Pauses) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	if p.r != nil {
		_ = p.r.Close()
		_ = p.w.Close()
		p.r = nil
	}
}
