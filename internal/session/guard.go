package session

import "sync/atomic"

// Guard gives the reader of a connection that has no Session, such as that of a door, what
// a Session's own reader has: it may run handlers and writes itself, and when one of them is
// held up, the monitor lets another goroutine read on. The current reader calls Enter and
// Leave.
type Guard struct {
	exec     *Executor
	takeOver func()
	last     uint64
	run      atomic.Uint64 // as reading.run
	watched  atomic.Bool
}

// Guard returns a guard. takeOver starts the next reader; it is called while the
// current one is between Enter and Leave, and what belongs to the reader is then its own.
func (e *Executor) Guard(takeOver func()) *Guard { return &Guard{exec: e, takeOver: takeOver} }

// Enter marks that the reader begins something that could be held up.
func (g *Guard) Enter() (turn uint64) {
	g.last += 2
	turn = g.last | 1
	g.run.Store(turn)
	g.exec.pauses.Ran()
	if !g.watched.Load() {
		g.exec.watch.See(g)
	}
	return turn
}

// Leave marks the end of what Enter began. It returns false when another goroutine reads
// on: the caller then leaves alone all that belongs to the reader.
func (g *Guard) Leave(turn uint64) bool { return g.run.CompareAndSwap(turn, 0) }

// Running is for the monitor.
func (g *Guard) Running() *atomic.Uint64 { return &g.run }

// Known is for the monitor.
func (g *Guard) Known() *atomic.Bool { return &g.watched }

// Steal has another goroutine read on.
func (g *Guard) Steal() {
	g.run.Store(0)
	g.takeOver()
}
