package session

import (
	"fmt"

	"github.com/weftrpc/weft/internal/wire"
)

// vacant reports what is wrong with a request on this id: its slot must be one
// that was offered, and free.
func (rd *reader) vacant(id uint32) error {
	s := rd.s
	if int(wire.Slot(id)) >= s.cfg.Limits.MaxCalls {
		return fmt.Errorf("call %#x is beyond the %d slots allowed (Limits.MaxCalls)", id, s.cfg.Limits.MaxCalls)
	}
	used := false
	if p := s.in.at(id); p != nil {
		used = p.Load() != nil
	}
	if parts := &s.reading.parts; len(parts.open) > 0 {
		m := parts.open[assemblyKey{slot: wire.Slot(id)}]
		used = used || m != nil && m.head.Type == wire.TypeRequest
	}
	if used {
		return fmt.Errorf("call %#x began before the last one in its slot had ended", id)
	}
	return nil
}

// beyond turns away a request on a slot that was not offered, but that a peer may use
// before it has read the offer. It reports whether it did.
func (rd *reader) beyond(id uint32) bool {
	s := rd.s
	if n := int(wire.Slot(id)); n < s.cfg.Limits.MaxCalls || n >= wire.InitialCalls {
		return false
	}
	s.turnAway(id, &wire.Status{Code: wire.ResourceExhausted, Reason: wire.ReasonTooManyCalls,
		Message: fmt.Sprintf("this side takes %d calls at a time (Limits.MaxCalls)", s.cfg.Limits.MaxCalls)})
	rd.dirty = true
	return true
}

// begin takes the first frame of a large message. Only messages of open calls are
// put together, so that this side never holds more of them than there are slots.
func (rd *reader) begin(h wire.Header, payload []byte) error {
	s := rd.s
	if len(payload) == 0 {
		return fmt.Errorf("an empty frame of type %d with more behind it", h.Type)
	}
	answer := h.Flags&wire.FlagAnswer != 0
	var bind Binding
	var stream *Stream
	var pl *queued
	switch h.Type {
	case wire.TypeRequest:
		s.reading.control.Earn(&h, s.cfg.Limits.MaxMessage, s.cfg.Limits.StreamWindow)
		if rd.beyond(h.ID) {
			return nil // its chunks will find nothing to go on with
		}
		if err := rd.vacant(h.ID); err != nil {
			return err
		}
		b, err := s.in.binding(h.Code)
		if err != nil {
			return err
		}
		bind = *b // the number may get another meaning before the request is whole
		if st := s.in.admit(len(payload), len(payload), false); st != nil {
			s.turnAway(h.ID, st) // its chunks will find nothing to go on with
			rd.dirty = true
			return nil
		}
		if ordered(h) {
			var st *wire.Status
			if pl, st = s.in.reserve(payload); st != nil {
				s.turnAway(h.ID, st)
				rd.dirty = true
				return nil
			}
		}
		s.in.arriving.Add(1)
	case wire.TypeData:
		if stream = s.streamOf(h.ID, answer); stream == nil {
			return charged(s.reading.control.Skip(rd.at)) // its chunks will find nothing to go on with
		}
	default:
		if err := rd.isOpen(h); err != nil {
			return err
		}
	}
	if err := rd.interrupt(h); err != nil {
		return err
	}
	if rd.spare(len(payload)) {
		m := s.reading.parts.begin(h, payload, rd.at)
		m.bind, m.queued = bind, pl
		if stream != nil {
			m.stream = stream
			stream.state.Began()
		}
		return nil
	}
	switch h.Type {
	case wire.TypeRequest:
		err := rd.tooLong(h) // its chunks will find nothing to go on with
		takeUp(s, s.in.sequences.Leave(pl), nil, rd)
		s.in.arrived()
		return err
	case wire.TypeData:
		if !answer {
			return rd.tooLong(h) // likewise
		}
	}
	s.reading.parts.skip(s.reading.parts.begin(h, nil, rd.at))
	if h.Type == wire.TypeData {
		return rd.tooLong(h)
	}
	return nil
}

// isOpen reports what is wrong with the first frame of an answer.
func (rd *reader) isOpen(h wire.Header) error {
	if h.Flags&wire.FlagAnswer == 0 {
		return fmt.Errorf("frame of type %d for a call of its own sender", h.Type)
	}
	// The calls that have ended in this batch are not open.
	if err := rd.free(); err != nil {
		return err
	}
	rd.s.w.Lock()
	defer rd.s.w.Unlock()
	if !rd.s.out.Holds(h.ID) {
		return fmt.Errorf("answer to call %#x, which is not open", h.ID)
	}
	return nil
}

// interrupt reports a message that begins before the last one of its call and
// direction has ended. An ERROR may: the unfinished message is dropped.
func (rd *reader) interrupt(h wire.Header) error {
	parts := &rd.s.reading.parts
	answer := h.Flags&wire.FlagAnswer != 0
	if parts.find(h.ID, answer) == nil {
		return nil
	}
	if h.Type != wire.TypeError {
		return fmt.Errorf("a message began on call %#x before the last one had ended", h.ID)
	}
	parts.drop(h.ID, answer)
	return nil
}

// chunk handles a part of a large message. One that has no beginning was given
// up, on this side or at the peer.
func (rd *reader) chunk(h wire.Header, payload []byte) (owner bool, err error) {
	s := rd.s
	last := h.Flags&wire.FlagMore == 0
	if len(payload) == 0 && !last {
		return true, fmt.Errorf("an empty frame of type %d with more behind it", h.Type)
	}
	parts, answer := &s.reading.parts, h.Flags&wire.FlagAnswer != 0
	m := parts.find(h.ID, answer)
	if m == nil {
		return true, charged(s.reading.control.Skip(rd.at))
	}
	data := m.head.Type == wire.TypeData
	switch {
	case m.skip:
	case parts.extend(m, payload, s.cfg.Limits.longest(&m.head), s.cfg.Limits.unfinished()):
	case !answer: // a request, or data of the opener
		parts.drop(h.ID, answer)
		err := rd.tooLong(m.head)
		if m.head.Type == wire.TypeRequest {
			takeUp(s, s.in.sequences.Leave(m.queued), nil, rd)
			s.in.arrived()
		}
		return true, err
	default:
		parts.skip(m)
		if data {
			err = rd.tooLong(m.head)
		}
	}
	if !last || err != nil {
		return true, err
	}
	parts.drop(h.ID, answer)
	switch {
	case m.skip && data: // its stream has ended
		return true, nil
	case m.skip:
		return true, rd.tooLong(m.head)
	case m.head.Type == wire.TypeRequest:
		owner, err := rd.request(m.head, m.buf.B, m)
		s.in.arrived()
		return owner, err
	default:
		return true, rd.message(m.head, m.buf.B, true)
	}
}

// longest is how long a message may be that begins with this frame. How much of it
// is metadata is known only when it is complete.
func (l *Limits) longest(h *wire.Header) int {
	n := l.MaxMessage
	if h.Type == wire.TypeError {
		n = wire.MaxStatus
	}
	if h.Flags&wire.FlagMeta != 0 {
		n += 2 + l.MaxMetadata
	}
	return n
}

// spare reports whether n more bytes may be held of unfinished messages.
func (rd *reader) spare(n int) bool { return rd.s.reading.parts.size+n <= rd.s.cfg.Limits.unfinished() }

// unfinished is how many bytes may be held of unfinished messages. A sender begins one while others, up to outbuf.MaxBulk, are on their way.
func (l *Limits) unfinished() int { return maxAssembly + l.MaxMessage + l.MaxMetadata }

// tooLong ends the call whose message is longer than allowed. For a final frame it is
// called when all of it has been received: until then the slot is taken.
func (rd *reader) tooLong(h wire.Header) error {
	s := rd.s
	st := s.cfg.Limits.tooLong(h.Type)
	switch h.Type {
	case wire.TypeRequest:
		s.turnAway(h.ID, st)
		rd.dirty = true
	case wire.TypeData:
		if str := s.streamOf(h.ID, h.Flags&wire.FlagAnswer != 0); str != nil {
			str.overrun(st)
		}
	case wire.TypeError:
		h.Flags &^= wire.FlagMeta
		st = &wire.Status{Message: "an error that is too long to be read"}
		return rd.message(h, wire.AppendStatus(nil, st), true)
	default:
		h = wire.Header{Type: wire.TypeError, Flags: h.Flags & wire.FlagAnswer, Code: uint16(st.Code), ID: h.ID}
		return rd.message(h, wire.AppendStatus(nil, st), true)
	}
	return nil
}

// tooLong is the status of a message that is longer than this side takes. That of a
// request, and of a stream's message, is sent to the peer.
func (l *Limits) tooLong(t wire.Type) *wire.Status {
	text := "the message is larger than the %d bytes that its receiver takes (Limits.MaxMessage)"
	switch t {
	case wire.TypeRequest:
		text = "the request is larger than the %d bytes that the server takes (its Limits.MaxMessage)"
	case wire.TypeReply:
		text = "the reply is larger than the %d bytes that this caller takes (its own Limits.MaxMessage)"
	}
	return &wire.Status{Code: wire.ResourceExhausted, Outcome: wire.Executed, Reason: wire.ReasonMessageTooLarge,
		Message: fmt.Sprintf(text, l.MaxMessage)}
}
