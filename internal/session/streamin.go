package session

import (
	"fmt"

	"github.com/weftrpc/weft/internal/streams"
	"github.com/weftrpc/weft/internal/wire"
)

// data takes a whole message of a stream, or its end. owned says that body may be kept.
func (rd *reader) data(h wire.Header, body []byte, owned bool) error {
	s := rd.s
	st := s.streamOf(h.ID, h.Flags&wire.FlagAnswer != 0)
	switch {
	case st == nil:
		return charged(s.reading.control.Skip(rd.at))
	case h.Flags&wire.FlagEnd != 0:
		if !st.state.CloseRecv() {
			return charged(s.reading.control.Skip(rd.at))
		}
		return nil
	case len(body) > s.cfg.Limits.MaxMessage:
		st.overrun(s.cfg.Limits.tooLong(wire.TypeData))
		return nil
	}
	switch st.state.Put(body, owned, h.Flags&wire.FlagCompressed != 0) {
	case streams.ErrCredit:
		return fmt.Errorf("stream %#x sends beyond its credit", st.id)
	case streams.ErrFull:
		st.overrun(tooManyUnread())
	}
	return nil
}

func tooManyUnread() *wire.Status {
	return &wire.Status{Code: wire.ResourceExhausted, Outcome: wire.Executed, Reason: wire.ReasonTooManyBytes,
		Message: "the streams of this connection have too many bytes that were not received (their receiver's Limits.MaxStreamBytes)"}
}

// credit takes a CREDIT frame.
func (rd *reader) credit(h wire.Header) error {
	st := rd.s.streamOf(h.ID, h.Flags&wire.FlagAnswer != 0)
	if st == nil || h.Arg == 0 {
		return charged(rd.s.reading.control.Skip(rd.at))
	}
	if err := st.state.Allow(h.Arg); err != nil {
		return fmt.Errorf("stream %#x gets %w", st.id, err)
	}
	return nil
}

// overrun ends a stream whose peer has sent more than may be held.
func (st *Stream) overrun(status *wire.Status) {
	if st.opener {
		st.Cancel(status)
		return
	}
	st.state.End(status, "")
	if c, ok := st.ctx.(*Context); ok {
		c.end(canceled) // its handler may not be receiving
	}
}

// broken ends the answering side's stream when the session has ended.
func (st *Stream) broken() { st.state.End(st.lost(), "") }

// streamOf finds the stream that a frame belongs to; nil when it is gone.
func (s *Session) streamOf(id uint32, answer bool) *Stream {
	if answer {
		if st := s.out.Stream(wire.Slot(id)); st != nil && st.id == id {
			return st
		}
		return nil
	}
	if c := s.in.find(id); c != nil {
		return c.Stream()
	}
	return nil
}

// startStream gathers a call of a streaming method, which gets a worker to itself.
func (rd *reader) startStream(c *Context, h wire.Header, b *Binding) error {
	s := rd.s
	st := newStream(s, false, c, int(s.peer.takes().StreamWindow))
	st.id, st.codec, st.sizer = h.ID, b.Codec, b.Sizer
	if h.Flags&wire.FlagEnd != 0 {
		st.state.CloseRecv()
	}
	c.need().stream = st
	if err := s.in.put(c); err != nil {
		c.drop()
		return err
	}
	r := &Request{Ctx: c, Codec: b.Codec, Sizer: b.Sizer}
	s.in.hold(int64(len(c.Meta())), 0)
	rd.ready = append(rd.ready, work{stream: r, f: func() {
		defer func() {
			st.state.End(&wire.Status{Code: wire.Canceled, Message: "the handler has returned"}, "")
			st.state.Forget()
			s.in.hold(-int64(len(c.Meta())), 0)
			if r.reader == nil {
				s.w.Flush()
			}
			s.in.left()
		}()
		r.runQueued()
	}})
	return nil
}
