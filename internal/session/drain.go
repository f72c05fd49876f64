package session

import (
	"errors"
	"time"

	"github.com/weftrpc/weft/internal/greeting"
	"github.com/weftrpc/weft/internal/stall"
	"github.com/weftrpc/weft/internal/wire"
)

// Drain asks the peer to open no more calls and waits until all that are open have ended, or until stop is closed; it does not close the
// session. It reports whether every call has ended.
func (s *Session) Drain(stop <-chan struct{}, message string) bool {
	if !s.Met() {
		select {
		case <-s.metSoon():
		case <-s.closed:
		case <-stop:
		}
	}
	if s.drain.Begin() {
		s.in.closing.Store(true)
		s.w.Lock()
		if !s.w.ClosedLocked() {
			s.w.FrameLocked(wire.Header{Type: wire.TypeGoAway, Code: uint16(wire.Unavailable)}, greeting.Reason(message))
		}
		s.w.FlushAndUnlock(false)
		s.direct.rouse()
		if !s.drain.AwaitAck(s.cfg.Limits.DrainWait, s.closed, stop) {
			return true
		}
		s.in.turned.Store(true)
		s.drain.Ready()
	} else if !s.drain.AwaitReady(s.closed, stop) {
		return true
	}
	return s.Settle(stop)
}

// Settle waits until no call is open in either direction, or until stop is closed, and reports whether none is.
func (s *Session) Settle(stop <-chan struct{}) bool {
	s.in.closing.Store(true)
	return s.drain.Settle(s.settled, s.closed, stop)
}

// settled reports whether no call is open. From then on none can be opened, since nothing would wait for its end.
func (s *Session) settled() bool {
	s.w.Lock()
	defer s.w.Unlock()
	run := s.reading.run.Load()
	if !s.in.none() || s.out.Open() > 0 || run != 0 && run != stall.Over {
		// What runs on the reader is in no table. reader.leave wakes this when it ends.
		return false
	}
	s.out.barLocked()
	return true
}

// CancelIncoming ends the contexts of all calls that this side answers. Those that now fail as canceled are answered with st.
func (s *Session) CancelIncoming(st *wire.Status) {
	s.in.cancel(st)
}

// CutIncoming answers all calls that still run with st. What their handlers return later is discarded.
func (s *Session) CutIncoming(st *wire.Status) {
	s.in.answer(st)
}

// Leave writes what is left, closes its direction and then the connection. It waits for the peer to close first, but not longer than
// patience: closing while bytes of the peer are on their way could discard the last replies before the peer has read them.
func (s *Session) Leave(patience time.Duration) {
	t := time.NewTimer(patience)
	defer t.Stop()
	s.direct.rouse()
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
		if !s.drain.Ack() {
			return errors.New("the answer to a goaway that was not sent")
		}
		return nil
	}
	message := string(payload[:min(len(payload), greeting.MaxReason)])
	if code := wire.Code(h.Code); code != wire.Unavailable && code != wire.OK {
		s.fail(&wire.Status{Code: code, Message: "the peer closed the connection: " + message})
		return nil
	}
	if !s.drain.PeerBegan() {
		return nil
	}
	if f := s.reading.gone; f != nil {
		f()
	}
	s.w.Lock()
	s.out.barLocked()
	var calls []*Call
	if !s.w.ClosedLocked() {
		calls = s.out.withdrawLocked()
		s.w.FrameLocked(wire.Header{Type: wire.TypeGoAway, Flags: wire.FlagAck}, nil)
	}
	st := s.out.mayOpenLocked()
	s.w.Unlock()
	for _, c := range calls {
		copied := *st
		c.Status = &copied
		s.out.complete(c)
	}
	rd.dirty = true
	return nil
}
