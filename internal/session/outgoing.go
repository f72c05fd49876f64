package session

import (
	"fmt"

	"github.com/weftrpc/weft/internal/bindings"
	"github.com/weftrpc/weft/internal/calls"
	"github.com/weftrpc/weft/internal/wire"
)

// outgoing are the calls that this side has open, and whether it may open more. The writer's lock guards all of it,
// as package calls says: a caller holds it anyway. A call is taken out of its slot by the reader, a caller that gives up, the
// timer, or the end of the session.
type outgoing struct {
	calls.Table[Call, Stream]
	bindings bindings.Table
	goneAway bool // no more calls may be opened: one of the sides drains
	barred   bool // the same, or no call may be opened yet
}

// slot is the place of a call.
type slot = calls.Slot[Call, Stream]

// callsOwner is a session as its table of calls sees it.
type callsOwner Session

func (*callsOwner) Now() int64 { return now() }

func (o *callsOwner) Expire() { (*Session)(o).expire() }

// bindLocked returns the number for a method and a codec, and appends a BIND when the
// peer does not know it. It is called with the writer's lock held.
func (s *Session) bindLocked(codec, method string) (uint16, *wire.Status) {
	if n, ok := s.out.bindings.Last(codec, method); ok {
		return n, nil
	}
	return s.bindNewLocked(codec, method)
}

//go:noinline
func (s *Session) bindNewLocked(codec, method string) (uint16, *wire.Status) {
	o, k := &s.out, bindings.Key{Codec: codec, Method: method}
	n, ok := o.bindings.Find(k)
	if !ok {
		peer := s.peer.takes()
		if peer.MaxCalls == 0 || peer.MaxBindings == 0 {
			return 0, &wire.Status{Code: wire.Unimplemented, Outcome: wire.NotSent, Reason: wire.ReasonNoMethod,
				Message: "the peer serves no methods"}
		}
		// The peer would end the connection over such a name.
		err := wire.CheckMethod(method)
		if err == nil {
			if err = wire.CheckName(codec); err != nil {
				err = fmt.Errorf("codec has a %w", err)
			}
		}
		if err != nil {
			return 0, &wire.Status{Code: wire.InvalidArgument, Outcome: wire.NotSent, Message: err.Error()}
		}
		n = o.bindings.Bind(k, int(peer.MaxBindings))
		s.w.FinishLocked(wire.AppendBind(s.w.StartLocked(), codec, method), wire.Header{Type: wire.TypeBind, Code: n})
	}
	return n, nil
}

// expire ends the calls whose deadline has passed.
func (s *Session) expire() {
	w := &s.w
	w.Lock()
	var few [64]*Call
	late := few[:0]
	s.out.Expire(w.ClosedLocked(), func(c *Call) {
		late = append(late, c)
		s.cancelFrameLocked(c.id, wire.DeadlineExceeded)
	})
	if len(late) > 0 {
		w.RelieveLocked()
	}
	w.FlushElsewhereAndUnlock()
	for _, c := range late {
		c.Status = &wire.Status{Code: wire.DeadlineExceeded, Message: "deadline exceeded before the reply came"}
		s.complete(c)
	}
	if len(late) > 0 {
		s.direct.poke()
	}
}

// cancelFrameLocked tells the peer that a call was given up. It is called
// with the writer's lock held.
func (s *Session) cancelFrameLocked(id uint32, code wire.Code) {
	if s.w.Large.Drop(id) {
		// The peer does not know of the call and will not end it.
		s.out.Release(id)
		if s.out.Open() == 0 {
			s.drain.Wake()
		}
		return
	}
	s.w.FrameLocked(wire.Header{Type: wire.TypeCancel, Code: uint16(code), ID: id}, nil)
}

// abort completes every open call when the session has ended: those whose bytes
// never were handed to the connection as not sent, the others as unknown, unless st says
// that the peer has read none.
func (s *Session) abort(st *wire.Status) {
	w := &s.w
	w.Lock()
	sent := w.CloseLocked()
	s.keep.stopLocked()
	var ended []*Call
	s.out.End(func(c *Call, at uint64) {
		failed := *st
		if at >= sent {
			failed.Outcome = wire.NotSent
		} else if st.Outcome != wire.NotSent {
			failed.Outcome = wire.OutcomeUnknown
		}
		c.Status = &failed
		ended = append(ended, c)
	})
	w.Unlock()
	for _, c := range ended {
		s.complete(c)
	}
}
