package session

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/weftrpc/weft/internal/keepalive"
	"github.com/weftrpc/weft/internal/wire"
)

// credit takes a CREDIT frame.
func (rd *reader) credit(h wire.Header) error {
	if st := rd.s.streamOf(h.ID, h.Flags&wire.FlagAnswer != 0); st != nil {
		return st.allow(h.Arg)
	}
	return rd.s.reading.control.skip(rd.at)
}

// cancel takes a CANCEL frame: the peer no longer waits for a call that this side answers.
func (rd *reader) cancel(h wire.Header) error {
	s := rd.s
	if m := s.reading.parts.find(h.ID, false); m != nil {
		s.reading.parts.drop(h.ID, false)
		if m.head.Type == wire.TypeRequest {
			st := &wire.Status{Code: wire.Canceled, Message: "canceled before the request had come whole"}
			if wire.Code(h.Code) == wire.DeadlineExceeded {
				st.Code = wire.DeadlineExceeded
			}
			s.turnAway(h.ID, st)
			s.in.leave(s, m.queued)
			s.arrived()
			rd.dirty = true
			return nil
		}
	}
	c := s.in.find(h.ID)
	if c == nil {
		// It has just been answered, or waits in this batch's job, or never was.
		return s.reading.control.skip(rd.at)
	}
	state := canceled
	if wire.Code(h.Code) == wire.DeadlineExceeded {
		state = expired
	}
	c.end(state)
	return nil
}

// ping takes a PING frame.
func (rd *reader) ping(h wire.Header, payload []byte) error {
	s := rd.s
	if len(payload) != keepalive.PingSize {
		return fmt.Errorf("ping of %d bytes, want %d", len(payload), keepalive.PingSize)
	}
	if h.Flags&wire.FlagAck != 0 {
		s.alive.Pong(payload)
		rd.dirty = true // the next one may have been appended
		return s.reading.control.spend(rd.at)
	}
	if err := s.reading.control.spend(rd.at); err != nil {
		return err
	}
	s.w.Lock()
	if !s.w.ClosedLocked() {
		s.w.FrameLocked(wire.Header{Type: wire.TypePing, Flags: wire.FlagAck}, payload)
	}
	s.w.Unlock()
	rd.dirty = true
	return nil
}

// drain is the orderly end of a session. The side that wants it sends a
// GOAWAY; the peer opens no more calls and confirms with an ack, behind its
// last request: since bytes keep their order, every call before the ack is
// served and none comes after it. When no call is open any more in either
// direction, the session ends. No call is lost, and the outcome of each is known.
type drain struct {
	begun atomic.Bool
	peer  atomic.Bool // the peer has sent a GOAWAY
	ackOf atomic.Bool
	waits atomic.Pointer[drainWaits] // nil until a goroutine waits for one of them
}

// drainWaits is what goroutines wait for that end a session in order.
type drainWaits struct {
	acked chan struct{} // closed when the peer has agreed
	ready chan struct{} // closed when it has, or need not be waited for, and new calls are turned away
	idle  chan struct{} // woken when the last open call has ended
}

// need makes the channels, if they are not made yet.
func (d *drain) need() *drainWaits {
	if d.waits.Load() == nil {
		d.waits.CompareAndSwap(nil, &drainWaits{acked: make(chan struct{}), ready: make(chan struct{}), idle: make(chan struct{}, 1)})
	}
	return d.waits.Load()
}

func (d *drain) wake() {
	if w := d.waits.Load(); w != nil {
		wakeUp(w.idle)
	}
}

// over reports whether the end of the connection is expected.
func (d *drain) over() bool { return d.begun.Load() || d.peer.Load() }

// Drain asks the peer to open no more calls and waits until all that are
// open have ended, or until stop is closed; it does not close the session. It
// reports whether every call has ended.
func (s *Session) Drain(stop <-chan struct{}, message string) bool {
	if !s.met() {
		select {
		case <-s.metSoon():
		case <-s.closed:
		case <-stop:
		}
	}
	waits := s.drain.need()
	if s.drain.begun.CompareAndSwap(false, true) {
		s.in.closing.Store(true)
		s.w.Lock()
		if !s.w.ClosedLocked() {
			s.w.FrameLocked(wire.Header{Type: wire.TypeGoAway, Code: uint16(wire.Unavailable)}, goAwayText(message))
		}
		s.w.FlushAndUnlock(false)
		s.rouse()
		wait := time.NewTimer(s.cfg.Limits.DrainWait)
		defer wait.Stop()
		select {
		case <-waits.acked:
		case <-wait.C:
		case <-s.closed:
			return true
		case <-stop:
		}
		s.in.turned.Store(true)
		close(waits.ready)
	} else {
		// Until then a call may be on its way here that this side does not see.
		select {
		case <-waits.ready:
		case <-s.closed:
			return true
		case <-stop:
		}
	}
	return s.Settle(stop)
}

// Settle waits until no call is open in either direction, or until stop is
// closed, and reports whether none is.
func (s *Session) Settle(stop <-chan struct{}) bool {
	s.in.closing.Store(true)
	idle := s.drain.need().idle
	for !s.settled() {
		select {
		case <-idle:
		case <-s.closed:
			return true
		case <-stop:
			return s.settled()
		}
	}
	return true
}

// settled reports whether no call is open. From then on none can be opened, since
// nothing would wait for its end.
func (s *Session) settled() bool {
	s.w.Lock()
	defer s.w.Unlock()
	if s.in.running.Load() > 0 || s.in.arriving.Load() > 0 || s.out.open > 0 || s.reading.run.Load() != 0 {
		// What runs on the reader is in no table. reader.leave wakes this when it ends.
		return false
	}
	s.out.goneAway, s.out.barred = true, true
	s.drain.wake() // another goroutine may wait as well
	return true
}

// CancelIncoming ends the contexts of all calls that this side answers. Those
// that now fail as canceled are answered with st.
func (s *Session) CancelIncoming(st *wire.Status) {
	s.in.cut.Store(st)
	s.in.cancelCalls()
}

// CutIncoming answers all calls that still run with st. What their handlers
// return later is discarded.
func (s *Session) CutIncoming(st *wire.Status) {
	s.in.each(func(c *Context) {
		s.w.Lock()
		defer s.w.Unlock()
		if c.answered || s.w.ClosedLocked() {
			return
		}
		s.in.clearLocked(c)
		s.putErrorLocked(c.id, st, "")
	})
}

// Leave writes what is left, closes its direction and then the connection. It waits for
// the peer to close first, but not longer than patience: closing while bytes of the peer
// are on their way could discard the last replies before the peer has read them.
func (s *Session) Leave(patience time.Duration) {
	t := time.NewTimer(patience)
	defer t.Stop()
	s.rouse()
	s.w.Flush()
	for !s.w.Seal() {
		select {
		case <-s.closed:
			return
		case <-t.C:
			s.fail(closedHere())
			return
		case <-time.After(time.Millisecond):
		}
	}
	if c, ok := s.conn.(interface{ CloseWrite() error }); ok && c.CloseWrite() == nil {
		select {
		case <-s.closed:
		case <-t.C:
		}
	}
	s.fail(closedHere())
}

func closedHere() *wire.Status {
	return &wire.Status{Code: wire.Canceled, Message: "connection closed by this side"}
}

// goAway takes a GOAWAY frame.
func (rd *reader) goAway(h wire.Header, payload []byte) error {
	s := rd.s
	if h.Flags&wire.FlagAck != 0 {
		if !s.drain.begun.Load() || !s.drain.ackOf.CompareAndSwap(false, true) {
			return errors.New("the answer to a goaway that was not sent")
		}
		close(s.drain.need().acked)
		return nil
	}
	message := string(payload[:min(len(payload), maxGoAway)])
	if code := wire.Code(h.Code); code != wire.Unavailable && code != wire.OK {
		s.fail(&wire.Status{Code: code, Message: "the peer closed the connection: " + message})
		return nil
	}
	if !s.drain.peer.CompareAndSwap(false, true) {
		return nil
	}
	if f := s.reading.gone; f != nil {
		f()
	}
	s.w.Lock()
	s.out.goneAway, s.out.barred = true, true
	var calls []*Call
	if !s.w.ClosedLocked() {
		calls = s.withdrawLocked()
		s.w.FrameLocked(wire.Header{Type: wire.TypeGoAway, Flags: wire.FlagAck}, nil)
	}
	st := s.mayOpenLocked()
	s.w.Unlock()
	for _, c := range calls {
		copied := *st
		c.Status = &copied
		s.complete(c)
	}
	rd.dirty = true
	return nil
}

// withdrawLocked takes back the large requests of which nothing was sent: after the ack
// of a GOAWAY none may begin. It is called with the writer's lock held, and returns
// the calls to be completed.
func (s *Session) withdrawLocked() (calls []*Call) {
	for _, id := range s.w.Large.DropUnsent() {
		if c := s.out.slot(wire.Slot(id)).call.Swap(nil); c != nil {
			calls = append(calls, c)
		}
		s.out.release(id)
	}
	if s.out.open == 0 {
		s.drain.wake()
	}
	return calls
}
