// Package gate lets callers of a connection read for themselves while their calls come one at a time: to have a caller woken by the goroutine that
// reads would cost more than the rest of the call.
package gate

import (
	"sync/atomic"
	"time"
)

// Gate is where the goroutine that reads a connection steps aside: the caller that is alone then reads until its call has ended. The goroutine
// reads on when calls overlap, when a caller gives up, and when none has come for a while: only it notices what the peer sends unasked.
//
// What belongs to the goroutine that reads belongs to the caller that has taken the gate. A nil Gate is always shut.
type Gate struct {
	Every time.Duration // how long no goroutine reads when no calls are made, or up to twice that

	needed func() bool
	done   <-chan struct{}
	state  atomic.Uint32
	resume chan struct{} // has the goroutine at the gate read on; has room for one
	passed int           // times that callers have left; belongs to the holder of the gate

	ended int  // of the goroutine that reads: replies that have ended in this batch
	alone bool // the last of them was to the only open call, whose caller reads
	lone  int  // batches in a row in which such a reply alone has ended
}

// The states of a gate.
const (
	Shut  uint32 = iota // the goroutine reads
	Free                // no goroutine reads; a caller may
	Taken               // a caller reads
)

const (
	// loneReplies is how many replies in a row, each to the only open call, make the goroutine step aside.
	loneReplies = 8
	// every bounds how late the end of the connection is noticed between two calls.
	every = 10 * time.Millisecond
)

// New returns a gate that is shut. needed reports whether something will be read soon; it takes the lock under which calls begin. done is closed
// at the end of the connection.
func New(needed func() bool, done <-chan struct{}) *Gate {
	return &Gate{Every: every, needed: needed, done: done, resume: make(chan struct{}, 1)}
}

// Ended notes that a reply has ended. alone says that it was to the only open call, whose caller reads.
func (g *Gate) Ended(alone bool) {
	if g != nil {
		g.ended++
		g.alone = alone
	}
}

// Batch notes the end of a batch, and reports whether the goroutine is to step aside.
func (g *Gate) Batch() bool {
	if g == nil {
		return false
	}
	switch {
	case g.ended == 1 && g.alone:
		g.lone++
	case g.ended > 0:
		g.lone = 0
	}
	g.ended = 0
	return g.lone >= loneReplies
}

// Take takes the gate if it is free.
func (g *Gate) Take() bool {
	return g != nil && g.state.Load() == Free && g.state.CompareAndSwap(Free, Taken)
}

// GoOn has the goroutine at the gate read on. The caller holds the gate.
func (g *Gate) GoOn() {
	g.ended = 0
	g.state.Store(Shut)
	g.resume <- struct{}{}
}

// Rouse has the goroutine at the gate read on for what no caller will read. A caller that reads already does so, and looks before it leaves.
func (g *Gate) Rouse() {
	if g.Take() {
		g.GoOn()
	}
}

// Leave gives the gate, which the caller holds, to the next one, or lets the goroutine read on for what will come soon.
func (g *Gate) Leave() {
	g.ended = 0
	g.passed++
	if !g.free() {
		g.GoOn()
	}
}

// free makes the gate free. It returns false when something will be read soon and no caller has come: then the gate is taken again.
func (g *Gate) free() bool {
	g.state.Store(Free)
	return !g.needed() || !g.Take() // what begins behind the look finds the gate free
}

// StepAside leaves the reading to callers until the goroutine is needed. It returns false when the connection has ended.
func (g *Gate) StepAside() bool {
	g.lone = 0
	passed := g.passed
	timer := time.NewTimer(g.Every)
	defer timer.Stop()
	stays := g.free()
	for stays {
		select {
		case <-g.resume:
			return true
		case <-g.done:
			return false
		case <-timer.C:
			timer.Reset(g.Every)
			if !g.Take() {
				continue // a caller reads, or has just had this goroutine read on
			}
			idle := passed == g.passed
			passed = g.passed
			stays = !idle && g.free()
		}
	}
	g.state.Store(Shut)
	return true
}

// State is the state, for tests.
func (g *Gate) State() uint32 { return g.state.Load() }
