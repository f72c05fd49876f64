package session

import (
	"fmt"

	"github.com/weftrpc/weft/internal/budget"
	"github.com/weftrpc/weft/internal/keepalive"
	"github.com/weftrpc/weft/internal/wire"
)

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
			takeUp(s, s.in.sequences.Leave(m.queued), nil, rd)
			s.in.arrived()
			rd.dirty = true
			return nil
		}
	}
	c := s.in.find(h.ID)
	if c == nil || c.state.Load() != live {
		// It has just been answered, or waits in this batch's job, or never was, or has been canceled.
		return charged(s.reading.control.Skip(rd.at))
	}
	state := canceled
	if wire.Code(h.Code) == wire.DeadlineExceeded {
		state = expired
	}
	c.end(state)
	if rd.share.measured {
		rd.share.Charge(cancelWork)
	}
	return nil
}

// charged is the error of a peer that has sent more frames than its budget has room for, if ok is false.
func charged(ok bool) error {
	if ok {
		return nil
	}
	return &breach{wire.ResourceExhausted, fmt.Sprintf("more than %d control frames in a second", budget.ControlPerSecond)}
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
		return charged(s.reading.control.Spend(rd.at))
	}
	if err := charged(s.reading.control.Spend(rd.at)); err != nil {
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
