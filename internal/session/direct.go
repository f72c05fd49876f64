package session

import (
	"context"
	"errors"
	"net"
	"os"
	"sync/atomic"
	"time"
)

// A caller that is alone reads its own reply. Waking another goroutine for it would cost about as much as a third of the whole call, most
// of it for waking an idle processor. So when calls come one at a time, the reading goroutine steps aside, to a gate, and leaves its reader
// there for the next caller to take. It comes back when calls overlap, and when none has come for a while: only it notices what the peer
// sends unasked.
//
// The Redis client rueidis does something similar.
//
// A session of Open begins so, without a goroutine: one that connects for a single call needs none.

// direct is where a session's reader is left for the next caller: the gate at which a reader stepped aside last, nil if none
// has yet. It is used without a lock.
type direct struct{ gate atomic.Pointer[gate] }

// gate is where one reader steps aside. The goroutine that changed the state from gateFree to gateTaken holds the gate, and has
// the reader to itself until it changes the state again.
type gate struct {
	state      atomic.Uint32
	unattended atomic.Bool // there is no goroutine at the gate; changed while the gate is taken
	rd         *reader
	resume     chan bool // tells the goroutine at the gate to read on, or to end
	passed     uint32    // callers that have read; guarded by holding the gate
	poke       func()    // that of the session's direct
	timer      *time.Timer
}

// The states of a gate.
const (
	gateOpen  uint32 = iota // the reading goroutine reads
	gateFree                // no goroutine reads; a caller may
	gateTaken               // a caller reads
)

const (
	// loneReplies is how many replies in a row, each to the only open call, make the reading goroutine step aside.
	loneReplies = 8
	// gateTime is how long no goroutine reads, at first, when no calls are made. It grows to gateMost while calls go on to come one at a
	// time: it takes longer to notice that they have ceased, and costs less to look.
	gateTime = 5 * time.Millisecond
	gateMost = 250 * time.Millisecond
)

// stepAside leaves the reader at the gate until the goroutine is needed again. It returns false when the goroutine has to end.
func (rd *reader) stepAside() bool {
	s := rd.s
	rd.lone = 0
	g := s.direct.gate.Load()
	if g == nil || g.rd != rd || g.timer == nil {
		g = &gate{rd: rd, poke: s.direct.poke, resume: make(chan bool, 1), timer: time.NewTimer(gateTime)}
		s.direct.gate.Store(g)
	} else {
		g.timer.Reset(gateTime)
	}
	defer g.timer.Stop()
	passed, wait := g.passed, gateTime
	g.state.Store(gateFree)
	if g.needed() && g.state.CompareAndSwap(gateFree, gateOpen) {
		// A call was made just now, by a caller that saw the gate closed.
		return true
	}
	for {
		select {
		case on := <-g.resume:
			return on
		case <-s.closed:
			return false
		case <-g.timer.C:
			wait = min(2*wait, gateMost)
			if !g.state.CompareAndSwap(gateFree, gateTaken) {
				g.timer.Reset(wait)
				continue
			}
			if passed == g.passed {
				g.state.Store(gateOpen)
				return true
			}
			passed = g.passed
			g.timer.Reset(wait)
			if !g.leave() {
				g.state.Store(gateOpen)
				return true
			}
		}
	}
}

// leave gives the gate back to the next caller. It returns false when that would leave a call without a reader: then the gate stays taken.
func (g *gate) leave() bool {
	g.state.Store(gateFree)
	if s := g.rd.s; s.failed.Load() != nil {
		s.direct.end()
		return true
	}
	return !g.needed() || !g.state.CompareAndSwap(gateFree, gateTaken)
}

// needed reports whether something will be read soon: a call is open, or a ping was not answered yet.
func (g *gate) needed() bool {
	s := g.rd.s
	s.w.Lock()
	defer s.w.Unlock()
	return s.out.Open() > 0 || s.alive.AwaitedLocked()
}

// take takes the gate for a caller that is going to wait. It returns nil when a goroutine reads.
func (d *direct) take() *gate {
	if g := d.gate.Load(); g != nil && g.state.Load() == gateFree && g.state.CompareAndSwap(gateFree, gateTaken) {
		return g
	}
	return nil
}

// await lets the caller of c, which holds the gate, read until c has ended or ctx has. It returns false when another reader completes c.
func (g *gate) await(ctx context.Context, c *Call) bool {
	s := g.rd.s
	if ctx.Done() != nil {
		stop := context.AfterFunc(ctx, g.poke)
		defer stop()
	}
	for {
		select {
		case <-c.done:
			g.passed++
			if !g.leave() {
				g.goOn()
			}
			return true
		default:
		}
		if ctx.Err() != nil && s.Abandon(ctx, c) {
			// The answer is still to come, and no caller waits for it.
			g.goOn()
			return true
		}
		if !g.rd.read() || !g.rd.work() {
			// The session has ended, or a write that was made here took too long.
			if g.unattended.Load() {
				g.unattended.Store(false)
				// It calls ended, and ends.
				go g.rd.finish(true)
				return false
			}
			g.resume <- false
			return false
		}
	}
}

// goOn lets the reading goroutine read again.
func (g *gate) goOn() {
	if g.unattended.Load() {
		g.unattended.Store(false)
		g.state.Store(gateOpen)
		// It ends with the session.
		go g.rd.runEarly()
		return
	}
	g.state.Store(gateOpen)
	g.resume <- true
}

// begin leaves the first reader of a session at a gate at which there is no goroutine.
func (d *direct) begin(rd *reader) {
	g := &gate{rd: rd, poke: d.poke}
	g.unattended.Store(true)
	g.state.Store(gateFree)
	d.gate.Store(g)
}

// unattended reports whether there is no goroutine yet that reads when no caller does.
func (d *direct) unattended() bool {
	g := d.gate.Load()
	return g != nil && g.unattended.Load()
}

// taken reports whether a caller reads.
func (d *direct) taken() bool {
	g := d.gate.Load()
	return g != nil && g.state.Load() == gateTaken
}

// end calls ended for a session that has ended and that no goroutine reads. A caller that reads calls it itself.
func (d *direct) end() {
	if g := d.gate.Load(); g != nil && g.unattended.Load() && g.state.CompareAndSwap(gateFree, gateTaken) {
		g.rd.finish(true)
	}
}

// rouse has the reading goroutine read for a call whose caller will not.
func (d *direct) rouse() {
	if g := d.gate.Load(); g != nil && g.state.CompareAndSwap(gateFree, gateTaken) {
		g.goOn()
	}
}

// poke makes a caller that reads look whether its call has ended otherwise.
func (d *direct) poke() {
	if g := d.gate.Load(); g != nil && g.state.Load() == gateTaken {
		interruptRead(g.rd.s.conn)
	}
}

// interruptRead has a read that is under way, or the next one, fail. The reader then does what the caller has noted before.
func interruptRead(conn net.Conn) { conn.SetReadDeadline(time.Unix(1, 0)) }

// interrupted reports whether a read has failed because of interruptRead, and resets the deadline.
func interrupted(conn net.Conn, err error) bool {
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		return false
	}
	// Nothing else sets deadlines for reading while a session lives.
	conn.SetReadDeadline(time.Time{})
	return true
}
