package session

import (
	"errors"
	"net"
	"runtime"
	"sync"
	"time"

	"github.com/weftrpc/weft/internal/bulk"
	"github.com/weftrpc/weft/internal/wire"
)

// The writer combines the frames of many goroutines into few system calls. Each
// goroutine appends to one buffer under the lock; the first to do so becomes the
// leader, which writes. When other calls are open the leader first yields once, so that
// every goroutine that is ready to run can append as well, then swaps the two buffers,
// writes outside the lock, and goes on until the buffer is empty. No goroutine waits for
// a timer.
//
// The idea is known from group commit and from gRPC's and gorpc's writers, which
// also yield before a flush.
//
// The lock guards all fields. A method of writer needs it held.
type writer struct {
	mu      sync.Mutex
	buf     []byte // frames to be written
	spare   []byte // the other one of the two buffers
	mode    mode
	turn    uint32 // counts leaders: one that yielded sees from it that another took over
	waiting int    // goroutines waiting for room
	room    sync.Cond
	taken   uint64 // bytes handed to the connection since it began
	large   bulk.Queue
	lead    lead
	writes  uint64 // finished writes, for the keeper to see progress
	dead    bool
	under   underway // a write of writeAndUnlock

	refusing bool   // refuse is about to end the session, for its reason
	alone    bool   // the leader is a goroutine of its own, not a caller
	relieved bool   // the leader was told to hand the rest to a goroutine
	rest     []byte // what is left of a write that was interrupted

	handoff chan struct{} // closed to hand the writer role to takeOverLocked

	noted     int    // bytes that wait to be written, as counted for the whole process
	crowdedAt uint64 // writes, when the backlog was told that the peer reads
}

// lead tells of the current leader and the next.
type lead struct {
	clock int64 // when a caller opened its call that yields as the leader; 0: none does

	left   uint32 // the turn that is left to the worker that was asked
	asked  bool   // a worker was asked to write and has not begun
	run    bool   // the leader is that worker: more is likely to be appended while it writes
	behind func() // writeBehind of the session; nil: no worker was asked yet
}

// beginsLocked counts a leader that writes.
func (w *writer) beginsLocked() {
	w.turn++
	w.lead.clock, w.lead.run = 0, false
}

// underway is a write that a leader makes.
type underway struct {
	now   bool
	ended *wire.Status // why reading has ended meanwhile
}

// mode is what the writer's current leader does.
type mode uint8

const (
	idle     mode = iota // there is no leader
	yielding             // the leader lets others append first, or is a worker that has not begun
	writing              // the leader is in a write, or about to be
)

const (
	// eager is a batch large enough to be written without waiting for more: past
	// it a larger write saves nothing and falls out of the processor's cache.
	eager = 64 << 10
	// meager is a batch small enough to yield for between two writes.
	meager = 8 << 10
	// keepSpare is the largest buffer kept for the next batch, and keepIdle the
	// largest one kept when there is nothing to write.
	keepSpare = 4 << 20
	keepIdle  = 16 << 10
	// largeWrite is the most that is given to the connection at once. It must go
	// out within the time that a write may take.
	largeWrite = 256 << 10
	// maxRounds is how many writes a caller makes for others before a goroutine
	// takes over.
	maxRounds = 4
	// maxBulk is how many bytes of large messages may wait before callers wait.
	maxBulk = 32 << 20
)

var noHeader [wire.HeaderSize]byte

// begin reserves the header of a frame at the end of the buffer.
func (w *writer) begin() (at int) {
	at = len(w.buf)
	w.buf = append(w.buf, noHeader[:]...)
	return at
}

// end writes the header of the frame that begin reserved, once its payload is there.
func (w *writer) end(at int, h wire.Header, sum bool) {
	h.Length = uint32(len(w.buf) - at - wire.HeaderSize)
	wire.PutHeader(w.buf[at:], h)
	if sum {
		w.buf = wire.AppendChecksum(w.buf, at)
	}
}

// frame appends a frame with a payload that is there already.
func (w *writer) frame(h wire.Header, payload []byte, sum bool) {
	at := w.begin()
	w.buf = append(w.buf, payload...)
	w.end(at, h, sum)
}

// goAway appends a GOAWAY with a message of bounded length.
func (w *writer) goAway(h wire.Header, message string, sum bool) {
	if len(message) > maxGoAway {
		message = message[:maxGoAway]
	}
	w.frame(h, []byte(message), sum)
}

// maxGoAway is the longest message in a GOAWAY, in bytes.
const maxGoAway = 1 << 10

// position is the place in the byte stream where the next frame will begin.
func (w *writer) position() uint64 { return w.taken + uint64(len(w.buf)) }

// trimLocked frees large buffers when there is no leader and nothing to write.
func (w *writer) trimLocked() {
	if w.mode != idle || len(w.buf) > 0 {
		return
	}
	if cap(w.buf) > keepIdle {
		w.buf = nil
	}
	if cap(w.spare) > keepIdle {
		w.spare = nil
	}
}

// fullLocked reports whether a goroutine that can wait should wait before it appends more.
func (w *writer) fullLocked(limit int) bool {
	return len(w.buf) >= limit || w.large.Size() >= maxBulk
}

// flushAndUnlock has the appended frames written. It is called with the lock held and
// releases it. patient means that other goroutines may append soon.
func (s *Session) flushAndUnlock(patient bool) { s.leadAndUnlock(patient, false) }

// leadAndUnlock is flushAndUnlock. cautious means that the caller must not be held up in a write.
func (s *Session) leadAndUnlock(patient, cautious bool) {
	w := &s.w
	if w.mode == writing || (w.mode == yielding && len(w.buf) < eager) || w.dead {
		w.mu.Unlock()
		return
	}
	if patient && w.mode == idle && len(w.buf) < eager {
		turn := w.turn
		w.mode = yielding
		w.mu.Unlock()
		runtime.Gosched()
		w.mu.Lock()
		if w.turn != turn {
			// Another goroutine found the batch large enough and became the leader.
			w.mu.Unlock()
			return
		}
	}
	w.beginsLocked()
	w.mode = writing
	s.writeAndUnlock(maxRounds, cautious)
}

// flushElsewhereAndUnlock is flushAndUnlock on a worker, for callers that must not wait
// for a write because their deadline has passed. It is called with the lock held and
// releases it.
func (s *Session) flushElsewhereAndUnlock() {
	w := &s.w
	needed := w.mode == idle && !w.dead && (len(w.buf) > 0 || !w.large.Empty())
	w.mu.Unlock()
	if needed {
		s.cfg.Exec.Go(func() {
			w.mu.Lock()
			s.flushAndUnlock(false)
		})
	}
}

// writeAndUnlock is the leader's loop. It is called with the lock held and mode writing,
// and releases the lock when nothing is left, rounds writes have been made, or a cautious leader may be held up.
func (s *Session) writeAndUnlock(rounds int, cautious bool) {
	w := &s.w
	for ; ; rounds-- {
		if w.handoff != nil && !w.dead {
			close(w.handoff)
			w.handoff = nil
			w.mu.Unlock()
			return
		}
		var from int64 // of a write with large messages
		if !w.large.Empty() {
			w.buf = w.large.Take(w.buf, s.sum, s.beginLargeLocked)
			from = now()
		}
		if s.in.backlog.Crowded() {
			s.notePeerLocked()
		}
		if len(w.buf) == 0 && len(w.rest) == 0 || w.dead {
			w.mode, w.alone, w.rest = idle, false, nil
			w.mu.Unlock()
			return
		}
		if rounds == 0 || cautious && s.mayBlockLocked() {
			w.mu.Unlock()
			// This goroutine ends when it finds nothing more to write.
			go s.writeOn()
			return
		}
		b := w.rest
		w.rest = nil
		if b == nil {
			b = w.buf
			w.buf, w.spare = w.spare[:0], nil
			w.taken += uint64(len(b))
		}
		if w.waiting > 0 {
			w.room.Signal() // each goroutine that leaves wakes the next, as long as there is room
		}
		w.under.now = true
		w.mu.Unlock()

		if n, err := s.hand(b); err != nil {
			if s.handOver(b[n:], err) {
				return
			}
			st := unavailable("write: " + err.Error())
			if ne, ok := errors.AsType[net.Error](err); ok && ne.Timeout() {
				s.fail(st) // the peer can have given no reason
				return
			}
			s.failAfterWrite(st)
			return
		}

		w.mu.Lock()
		w.writes++
		w.under.now = false
		if ended := w.under.ended; ended != nil {
			w.mu.Unlock()
			s.fail(ended)
			return
		}
		if w.noted > 0 {
			waits := len(w.buf) + w.large.Size()
			s.in.account.Add(int64(waits - w.noted))
			w.noted = waits
		}
		if from != 0 {
			w.large.Fit(time.Duration(now() - from))
		}
		if cap(b) <= keepSpare {
			w.spare = b[:0]
		}
		if n := len(w.buf); n > 0 && n < meager && (s.out.open > 1 || w.lead.run) {
			w.mu.Unlock()
			runtime.Gosched()
			w.mu.Lock()
		}
	}
}

// beginLargeLocked readies a large request whose first chunk comes next, in buf, which is the writer's.
func (s *Session) beginLargeLocked(buf []byte, m *bulk.Message) []byte {
	s.w.buf = buf
	// The names have been bound before, so that this cannot fail.
	m.Head.Code, _ = s.bindLocked(m.Codec, m.Method)
	s.out.mark(m.Head.ID, s.w.position())
	return s.w.buf
}

// notePeerLocked tells the backlog of a crowded connection what the peer has read. It is called
// with the writer's lock held, by the leader between two writes.
func (s *Session) notePeerLocked() {
	w := &s.w
	if waits := len(w.buf) + len(w.rest) + w.large.Size(); waits == 0 || waits < s.cfg.Limits.WriteBuffer/4 {
		s.in.backlog.Clear()
	} else if w.writes != w.crowdedAt {
		w.crowdedAt = w.writes
		s.in.backlog.Took()
	}
}

// failAfterWrite ends the session after a write that failed: for the reason that the
// peer sent before it closed the connection, or else with st. Until then the mode
// stays writing, so that no other goroutine writes.
func (s *Session) failAfterWrite(st *wire.Status) {
	if s.failed.Load() != nil {
		return
	}
	s.w.mu.Lock()
	ended := s.w.under.ended
	s.w.under.now = false
	s.w.mu.Unlock()
	if ended != nil {
		s.fail(ended)
		return
	}
	s.rouse()
	time.AfterFunc(goodbye, func() { s.fail(st) })
}

// failAfterRead ends the session after a read that failed. While a write is under way its
// end comes first, for a moment: the system tells once that a connection has timed out, to a
// read or a write, and after a write that was told reading finds nothing but an end, which is
// not the peer's.
func failAfterRead(s *Session, st *wire.Status) {
	w := &s.w
	w.mu.Lock()
	busy, refusing := w.under.now && !w.dead, w.refusing
	if busy {
		w.under.ended = st
	}
	w.mu.Unlock()
	if refusing {
		return // the peer has closed the connection because it was refused
	}
	if !busy {
		s.fail(st)
		return
	}
	time.AfterFunc(goodbye, func() { s.fail(st) })
}

// hand gives b to the connection, a large one in pieces, so that the keeper sees
// progress on a slow connection too.
func (s *Session) hand(b []byte) (n int, err error) {
	for len(b)-n > largeWrite {
		m, err := s.conn.Write(b[n : n+largeWrite])
		if n += m; err != nil {
			return n, err
		}
		s.w.mu.Lock()
		s.w.writes++
		s.w.mu.Unlock()
		if s.in.backlog.Crowded() {
			s.in.backlog.Took()
		}
	}
	m, err := s.conn.Write(b[n:])
	return n + m, err
}

// takeOverLocked makes its caller the leader in place of the current one, as soon as the
// current write ends. It is called with the lock held and keeps it, and returns
// false when the write has not ended within goodbye, or the session has.
func (s *Session) takeOverLocked() bool {
	w := &s.w
	handoff := make(chan struct{})
	w.handoff = handoff
	w.mu.Unlock()
	late := time.NewTimer(goodbye)
	defer late.Stop()
	select {
	case <-handoff:
	case <-s.closed:
	case <-late.C:
	}
	w.mu.Lock()
	return w.handoff != handoff && !w.dead
}

func (s *Session) writeOn() {
	s.w.mu.Lock()
	s.w.alone = true
	s.writeAndUnlock(-1, false)
}

// waitRoom waits until there is room for more or the session has ended.
func (s *Session) waitRoom() {
	w := &s.w
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.fullLocked(s.cfg.Limits.WriteBuffer) && !w.dead {
		s.awaitWriteLocked()
	}
	s.passRoomLocked()
}

// awaitWriteLocked waits for a write to end. It is called with the lock held and keeps
// it. When there is no leader, the goroutines that filled the buffer have not flushed
// it yet, and may be waiting too: then awaitWriteLocked flushes it.
func (s *Session) awaitWriteLocked() {
	w := &s.w
	if w.mode == idle {
		flushStreamAndUnlock(s, false) // it may be a caller or a sender with a deadline
		w.mu.Lock()
		return
	}
	w.waiting++
	w.room.Wait()
	w.waiting--
}

// passRoomLocked wakes the next waiting goroutine, if there is still room. It is called
// with the lock held by every goroutine that has waited.
func (s *Session) passRoomLocked() {
	if s.w.waiting > 0 && !s.w.fullLocked(s.cfg.Limits.WriteBuffer) {
		s.w.room.Signal()
	}
}

func unavailable(why string) *wire.Status {
	return &wire.Status{Code: wire.Unavailable, Message: "connection lost: " + why}
}
