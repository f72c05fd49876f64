package session

import (
	"errors"
	"net"
	"time"

	"github.com/weftrpc/weft/internal/bulk"
	"github.com/weftrpc/weft/internal/delivered"
	"github.com/weftrpc/weft/internal/greeting"
	"github.com/weftrpc/weft/internal/outbuf"
	"github.com/weftrpc/weft/internal/wire"
)

// writerOwner is a session as its writer sees it.
type writerOwner Session

func (o *writerOwner) OpenLocked() int { return o.out.Open() }

func (o *writerOwner) BindLocked(m *bulk.Message) {
	s := (*Session)(o)
	// The names have been bound before, so that this cannot fail.
	m.Head.Code, _ = s.out.bindLocked(m.Codec, m.Method)
	s.out.Mark(m.Head.ID, s.w.PositionLocked())
}

func (o *writerOwner) Go(f func()) { o.cfg.Exec.Go(f) }

// WriteFailed ends the session: for the reason that the peer sent before it closed the connection, if the reader finds
// one soon, or that reading has found already.
func (o *writerOwner) WriteFailed(err error, ended *wire.Status) {
	s := (*Session)(o)
	if s.failed.Load() != nil {
		return
	}
	if err == nil {
		s.fail(ended)
		return
	}
	st := unavailable("write: " + err.Error())
	if ne, ok := errors.AsType[net.Error](err); ok && ne.Timeout() {
		s.fail(st) // the peer can have given no reason
		return
	}
	if ended != nil {
		s.fail(ended)
		return
	}
	s.direct.rouse()
	time.AfterFunc(outbuf.Goodbye, func() { s.fail(st) })
}

// failAfterRead ends the session after a read that failed, or leaves it to a write that is under way, for a
// moment.
func (s *Session) failAfterRead(st *wire.Status) {
	switch later, refusing := s.w.ReadEnded(st); {
	case refusing:
	case later:
		time.AfterFunc(outbuf.Goodbye, func() { s.fail(st) })
	default:
		s.fail(st)
	}
}

// refuse ends the session because the peer broke the protocol, and tells
// the peer so first, as far as that is possible within outbuf.Goodbye. The current reader calls it, and reads no more. For a
// caller that reads its own reply a worker does it: the caller must not be held up beyond its context.
func (s *Session) refuse(st *wire.Status) {
	if s.direct.taken() {
		s.cfg.Exec.Go(func() { s.refuseNow(st) })
		return
	}
	s.refuseNow(st)
}

func (s *Session) refuseNow(st *wire.Status) {
	if s.w.WriteLast(wire.Header{Type: wire.TypeGoAway, Code: uint16(st.Code)}, greeting.Reason(st.Message)) {
		hangUp(s.conn)
	}
	s.fail(st)
}

// hangUp is delivered.HangUp within outbuf.Goodbye. It goes on when reading is interrupted: interruptRead moves the deadline of the connection.
func hangUp(conn net.Conn) {
	end := time.Now().Add(outbuf.Goodbye)
	for time.Now().Before(end) && conn.SetReadDeadline(end) == nil && delivered.HangUp(conn) {
	}
}

// refuseSoon has the current reader call refuse. hangUp reads: beside the reader it would take bytes
// from the middle of a frame, and the reader would take what follows for frames.
func (s *Session) refuseSoon(st *wire.Status) {
	s.reading.verdict.Store(st)
	s.direct.rouse()
	interruptRead(s.conn)
}

// flood is how many bytes may wait to be written before the peer, which makes
// more calls all the same, is taken for hostile. A slow peer has at most MaxCalls calls
// in flight.
func (l *Limits) flood() int {
	const (
		refusal = 512     // bytes of an ERROR that refuses a call
		slack   = 1 << 20 // for what is written in larger pieces than small buffers hold
	)
	return 4*l.WriteBuffer + refusal*l.MaxCalls + slack
}

func unavailable(why string) *wire.Status {
	return &wire.Status{Code: wire.Unavailable, Message: "connection lost: " + why}
}
