package keepalive

import (
	"encoding/binary"
	"time"
)

// shared are the pings that callers wait for. There is one on the wire
// at a time, and callers that come meanwhile share the next one: however many call,
// the peer gets no more pings than it must take. The lock of the Writer guards it.
type shared struct {
	current *pong // on the wire; nil for none
	next    *pong // is sent when current was answered; nil when no caller waits for it
	last    uint64
	sent    int64 // when the last one was sent
}

// pong is the answer that callers wait for.
type pong struct {
	number uint64 // the payload
	done   chan struct{}
}

// Space is the least time between two pings that callers wait for: a peer may end a connection
// that brings more than 100 in a second.
const Space = 20 * time.Millisecond

// Ping sends a ping, or joins the callers of one that has not left yet. The channel is closed when the peer has answered: it has
// read all that was sent before the call. It is not closed when the session ends.
func (k *Keeper) Ping() <-chan struct{} {
	k.w.Lock()
	p := k.shared.next
	if p == nil {
		k.shared.last++
		p = &pong{number: k.shared.last, done: make(chan struct{})}
		k.shared.next = p
		if k.shared.current == nil {
			k.sendNextLocked()
		}
	}
	k.w.FlushElsewhereAndUnlock()
	k.owner.Rouse()
	return p.done
}

// sendNextLocked sends the next ping that callers wait for, at once or when it may be.
func (k *Keeper) sendNextLocked() {
	x, at := &k.shared, k.owner.Now()
	if wait := Space - time.Duration(at-x.sent); x.sent != 0 && wait > 0 {
		time.AfterFunc(wait, func() {
			k.w.Lock()
			if x.current == nil && x.next != nil {
				k.sendNextLocked()
			}
			k.w.FlushElsewhereAndUnlock()
			k.owner.Rouse()
		})
		return
	}
	x.current, x.next, x.sent = x.next, nil, at
	if k.w.ClosedLocked() {
		return
	}
	behind := k.behindLocked()
	k.frameLocked(x.current.number)
	if !behind {
		// Look checks its answer as it does for its own pings.
		k.sent.CompareAndSwap(0, at)
	}
}

// AwaitedLocked reports whether callers wait for the answer to a ping that was sent.
func (k *Keeper) AwaitedLocked() bool { return k.shared.current != nil }

// Pong takes the answer to a ping, of PingSize bytes. One that was not asked for is skipped. A frame may have
// been appended, which the caller has flushed.
func (k *Keeper) Pong(payload []byte) {
	k.sent.Store(0)
	number := binary.LittleEndian.Uint64(payload)
	k.w.Lock()
	defer k.w.Unlock()
	x := &k.shared
	if x.current == nil || x.current.number != number {
		return
	}
	close(x.current.done)
	x.current = nil
	if x.next != nil {
		k.sendNextLocked()
	}
}

func putNumber(b *[PingSize]byte, number uint64) { binary.LittleEndian.PutUint64(b[:], number) }
