// Package yield has a goroutine that always finds work let others run. runtime.Gosched is not
// enough for that: while a goroutine is ready to run, a processor does not ask the network
// which others are.
package yield

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// Pauses are where the goroutines of a process's connections pause. The zero value is ready.
type Pauses struct {
	// Used is how much processor time the process has used. nil: long pauses are not made up.
	Used func() time.Duration

	busy atomic.Int32  // shares that have paused and have not waited since
	ran  atomic.Uint64 // how often another goroutine found work while there were such shares
	work atomic.Int64  // of all shares up to their last pauses, ns

	once  sync.Once
	pipes []pipe        // one for two processors, as many as there were at the first pause
	turns chan struct{} // as many as there are pipes in which no goroutine pauses
	mu    sync.Mutex
	free  []*pipe // those pipes; guarded by mu
}

func (p *Pauses) init() {
	p.once.Do(func() {
		p.pipes = make([]pipe, max(runtime.GOMAXPROCS(0)/2, 1))
		p.turns = make(chan struct{}, len(p.pipes))
		for i := range p.pipes {
			p.give(&p.pipes[i])
		}
	})
}

// take waits for a pipe in which no goroutine pauses: those that paused in one together would take each other's bytes, and each end early. It
// takes the one that was given back last: no more are opened than goroutines pause at the same time.
func (p *Pauses) take() *pipe {
	p.init()
	<-p.turns
	p.mu.Lock()
	defer p.mu.Unlock()
	last := len(p.free) - 1
	one := p.free[last]
	p.free = p.free[:last]
	return one
}

// give gives a pipe back.
func (p *Pauses) give(one *pipe) {
	p.mu.Lock()
	p.free = append(p.free, one)
	p.mu.Unlock()
	p.turns <- struct{}{}
}

// Close ends all pauses. Later ones are short.
func (p *Pauses) Close() {
	p.init()
	for i := range p.pipes {
		p.pipes[i].close()
	}
}

// Ran says that a goroutine that has no Share, or does not use it now, found work.
func (p *Pauses) Ran() {
	if p.busy.Load() > 0 {
		p.ran.Add(1)
	}
}

// Share bounds how long one goroutine works before it pauses, and how long it pauses then: until
// twice as long has passed, or the others find no work (see Ran). For each two processors goroutines pause one after the other, so that each
// slice of work is followed by a pause: together they have a third of one of the two then, and all of them when no others want it.
//
// A pause ends when all goroutines that were ready have run, which can be much later. The next slice is longer by half of what they have
// used of the processor beyond their part then, but by mostSlice at most. A Share is used by its owner alone.
type Share struct {
	mark   time.Duration // until when the time was accounted for
	worked time.Duration // since the last pause, less what was waited; below zero after a long one
	slice  time.Duration // how long it may work; 0 for the least
	busy   bool          // counted in Pauses.busy
}

const (
	// leastSlice and mostSlice bound how long a goroutine works between two pauses: the
	// longer the longer no other has had anything to do in them.
	leastSlice = 50 * time.Microsecond
	mostSlice  = time.Millisecond
	// idleRounds is how many times in a row the network must have been asked without an answer
	// for another goroutine. Two: a caller in the same process reads its reply in one round,
	// and its next request arrives in the second.
	idleRounds = 2
)

// Begin says that the goroutine begins to work.
func (s *Share) Begin(at time.Duration) { s.mark = at }

// Due accounts for work up to now and reports whether the goroutine should pause.
func (s *Share) Due(at time.Duration) bool {
	s.worked += at - s.mark
	s.mark = at
	return s.worked >= max(s.slice, leastSlice)
}

// Charge accounts for work that others do for the goroutine.
func (s *Share) Charge(work time.Duration) { s.worked += work }

// Waited accounts for time up to now in which the goroutine has waited, except for as much as
// some work takes.
func (s *Share) Waited(p *Pauses, at, work time.Duration) {
	took, was := at-s.mark, s.worked
	work = min(work, took)
	s.worked += work - (took - work)
	s.mark = at
	if s.worked <= 0 && (was >= 0 || s.worked < was) {
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
	others := 2 * s.worked
	p.work.Add(int64(s.worked))
	s.worked = 0
	s.slice = min(2*max(s.slice, leastSlice), mostSlice)
	found := p.ran.Load()
	turn := p.take()
	defer p.give(turn)
	if int(p.busy.Load()) > len(p.pipes) {
		others += others / 2 // the one that has paused before takes a slice meanwhile
	}
	from, work, used := now(), p.work.Load(), p.used()
	s.mark = from
	for idle := 0; s.mark < from+others && idle < idleRounds; {
		turn.pause(start)
		s.mark = now()
		if n := p.ran.Load(); n != found {
			found, idle, s.slice = n, 0, leastSlice
		} else {
			idle++
		}
	}
	ran := min(s.mark-from, p.used()-used) - others - time.Duration(p.work.Load()-work)
	s.worked = -min(max(ran/2, 0), mostSlice)
}

// used is Used, or 0.
func (p *Pauses) used() time.Duration {
	if p.Used == nil {
		return 0
	}
	return p.Used()
}
