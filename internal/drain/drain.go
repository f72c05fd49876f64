// Package drain is the state of the orderly end of a connection. The side that wants it sends a
// GOAWAY; the peer opens no more calls and confirms with an ack, behind its
// last request: since bytes keep their order, every call before the ack is
// served and none comes after it. When no call is open any more in either
// direction, the session ends. No call is lost, and the outcome of each is known.
package drain

import (
	"sync/atomic"
	"time"
)

// State is where a connection is in its drain. The zero value is one that does not drain.
type State struct {
	begun atomic.Bool
	peer  atomic.Bool // the peer has sent a GOAWAY
	acked atomic.Bool
	waits atomic.Pointer[waits] // nil until a goroutine waits for one of them
}

// waits is what goroutines wait for that end a session in order.
type waits struct {
	acked chan struct{} // closed when the peer has agreed
	ready chan struct{} // closed when it has, or need not be waited for, and new calls are turned away
	idle  chan struct{} // woken when the last open call has ended
}

// need makes the channels, if they are not made yet.
func (d *State) need() *waits {
	if d.waits.Load() == nil {
		d.waits.CompareAndSwap(nil, &waits{acked: make(chan struct{}), ready: make(chan struct{}), idle: make(chan struct{}, 1)})
	}
	return d.waits.Load()
}

// Begin begins the drain. It returns false when it has begun before.
func (d *State) Begin() bool { return d.begun.CompareAndSwap(false, true) }

// PeerBegan notes that the peer drains. It returns false when that was known.
func (d *State) PeerBegan() bool { return d.peer.CompareAndSwap(false, true) }

// Peer reports whether the peer drains.
func (d *State) Peer() bool { return d.peer.Load() }

// Expected reports whether the end of the connection is expected.
func (d *State) Expected() bool { return d.begun.Load() || d.peer.Load() }

// Ack notes that the peer has agreed. It returns false when it was not asked, or has agreed before.
func (d *State) Ack() bool {
	if !d.begun.Load() || !d.acked.CompareAndSwap(false, true) {
		return false
	}
	close(d.need().acked)
	return true
}

// AwaitAck waits until the peer has agreed, for no longer than wait, or stop is closed. It returns false when the session has
// ended meanwhile. The goroutine for which Begin was true calls it, once.
func (d *State) AwaitAck(wait time.Duration, ended, stop <-chan struct{}) bool {
	late := time.NewTimer(wait)
	defer late.Stop()
	select {
	case <-d.need().acked:
	case <-late.C:
	case <-ended:
		return false
	case <-stop:
	}
	return true
}

// Ready notes that the calls that come from now on are turned away.
func (d *State) Ready() { close(d.need().ready) }

// AwaitReady waits until Ready was called, or stop is closed: until then a call may be on its way here that this side
// does not see. It returns false when the session has ended meanwhile.
func (d *State) AwaitReady(ended, stop <-chan struct{}) bool {
	select {
	case <-d.need().ready:
	case <-ended:
		return false
	case <-stop:
	}
	return true
}

// Settle waits until settled returns true, which is asked at once and after each Wake, or until stop is closed. It reports
// whether it does, or the session has ended. More than one goroutine may wait.
func (d *State) Settle(settled func() bool, ended, stop <-chan struct{}) bool {
	idle := d.need().idle
	for last := false; !settled(); {
		if last {
			return false
		}
		select {
		case <-idle:
		case <-ended:
			return true
		case <-stop:
			last = true
		}
	}
	d.Wake() // another goroutine may wait as well
	return true
}

// Wake says that the last open call may have ended.
func (d *State) Wake() {
	if w := d.waits.Load(); w != nil {
		select {
		case w.idle <- struct{}{}:
		default:
		}
	}
}
