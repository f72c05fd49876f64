// Package keepalive finds connections whose peer is gone. When nothing has come for a while it sends a PING frame, and
// when nothing comes back its session ends. It also sends the pings that callers wait for.
package keepalive

import (
	"sync/atomic"
	"time"

	"github.com/weftrpc/weft/internal/outbuf"
	"github.com/weftrpc/weft/internal/wire"
)

// Limits are when pings are sent, and how long an answer may take.
type Limits struct {
	Interval time.Duration // silence after which a ping is sent while calls are open; 0: none is sent
	Idle     time.Duration // the same while none is open
	Timeout  time.Duration // silence after a ping that ends the session
	// WritesEnd says that a write which makes no progress ends the session anyway. A ping behind one could not leave in
	// time.
	WritesEnd bool
}

// Owner is the session of a Keeper.
type Owner interface {
	// Now is the clock of all times here, in nanoseconds. It is never 0.
	Now() int64
	// Rouse has the answer to a ping read: no caller does.
	Rouse()
}

// PingSize is the size of a ping's payload, in bytes.
const PingSize = 8

// Keeper keeps one connection. Init makes it ready.
type Keeper struct {
	w      *outbuf.Writer
	owner  Owner
	limits Limits
	read   atomic.Int64 // when something has come last
	sent   atomic.Int64 // when the ping without answer was sent, 0 for none
	due    int64        // when the next Look is at the latest, 0 before the first Next
	shared shared
}

// Init makes the Keeper ready to send with w.
func (k *Keeper) Init(w *outbuf.Writer, owner Owner, limits Limits) {
	k.w, k.owner, k.limits = w, owner, limits
}

// Read notes that bytes have come.
func (k *Keeper) Read(at int64) { k.read.Store(at) }

// Next is the time until the next Look at the latest. busy says that calls are open; they may be opened meanwhile. Next
// and Look are not called concurrently.
func (k *Keeper) Next(at int64, busy bool) time.Duration {
	d := k.next(at, busy)
	k.due = at + int64(d)
	return d
}

func (k *Keeper) next(at int64, busy bool) time.Duration {
	l, d := &k.limits, time.Hour
	if sent := k.sent.Load(); sent != 0 {
		d = time.Duration(sent-at) + l.Timeout
	} else if l.Interval > 0 {
		if d = time.Duration(k.read.Load()-at) + l.silence(busy); d <= 0 {
			d = l.Timeout // a ping is due, but a write is under way
		}
	}
	if l.Interval > 0 {
		d = min(d, l.Interval)
	}
	return d
}

// silence is after which silence a ping is sent.
func (l *Limits) silence(busy bool) time.Duration {
	if busy {
		return l.Interval
	}
	return l.Idle
}

// Look sends a ping when it is time to. It returns false when the last one was not answered: the peer is gone. The time by
// which it comes late does not count as silence of the peer: the process was stopped or had no processor, and may have an
// answer to read.
func (k *Keeper) Look(at int64, busy bool) (alive bool) {
	l := &k.limits
	if l.Interval <= 0 {
		return true
	}
	sent := k.sent.Load()
	if sent != 0 && k.read.Load() > sent {
		k.sent.Store(0)
		sent = 0
	}
	if late := at - k.due; sent != 0 && k.due != 0 && late > 0 {
		counted := min(sent+late, at)
		if !k.sent.CompareAndSwap(sent, counted) {
			return true // the answer has come
		}
		sent = counted
	}
	switch {
	case sent != 0 && at-sent >= int64(l.Timeout):
		return false
	case sent == 0 && at-k.read.Load() >= int64(l.silence(busy)):
		k.send(at)
	}
	return true
}

// send sends a ping that no caller waits for.
func (k *Keeper) send(at int64) {
	k.w.Lock()
	if k.w.ClosedLocked() || k.behindLocked() {
		k.w.Unlock()
		return
	}
	k.sent.Store(at)
	k.frameLocked(0)
	// Not on the goroutine of a timer: the write may take long.
	k.w.FlushElsewhereAndUnlock()
	k.owner.Rouse()
}

// behindLocked reports whether a ping could not leave in time because a write is under way, which has a limit of its own.
func (k *Keeper) behindLocked() bool { return k.limits.WritesEnd && k.w.WritingLocked() }

// frameLocked appends a ping with a number.
func (k *Keeper) frameLocked(number uint64) {
	var b [PingSize]byte
	putNumber(&b, number)
	k.w.FrameLocked(wire.Header{Type: wire.TypePing}, b[:])
}
