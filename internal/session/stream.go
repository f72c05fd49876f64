package session

import (
	"context"
	"errors"

	"github.com/weftrpc/weft/codec"
	"github.com/weftrpc/weft/compress"
	"github.com/weftrpc/weft/internal/bulk"
	"github.com/weftrpc/weft/internal/restore"
	"github.com/weftrpc/weft/internal/streams"
	"github.com/weftrpc/weft/internal/turns"
	"github.com/weftrpc/weft/internal/wire"
)

// Stream is one end of a streaming call. One goroutine may send while another receives; two must not do the same at once.
type Stream struct {
	state  streams.State
	s      *Session
	id     uint32
	opener bool
	ctx    context.Context // of the call: ends waits

	codec codec.Codec
	sizer codec.Sizer
	comp  compress.Compressor

	call *Call // of the opener
}

// streamOwner is a stream as its state sees it.
type streamOwner Stream

func (o *streamOwner) Count(bytes, memory int) bool { return o.s.in.queue(bytes, memory) }

// Lapsed has the reader let go of what it has of the unfinished message.
func (o *streamOwner) Lapsed() {
	o.s.reading.parts.lapsed.Add(o.id, o.opener)
	interruptRead(o.s.conn)
}

// newStream returns a stream on which this side may send credit bytes ahead.
func newStream(s *Session, opener bool, ctx context.Context, credit int) *Stream {
	st := &Stream{s: s, opener: opener, ctx: ctx}
	st.state.Init((*streamOwner)(st), s.cfg.Limits.StreamWindow, credit)
	return st
}

// OpenStream opens a stream for the call c, whose Reply and Args are not used.
func (s *Session) OpenStream(ctx context.Context, c *Call) (*Stream, *wire.Status) {
	st := newStream(s, true, ctx, 0) // it gets credit when it is open
	st.codec, st.comp, st.call = c.Codec, c.Compress, c
	st.sizer, _ = c.Codec.(codec.Sizer)
	c.stream = st
	m := message{meta: c.Meta}
	if m.length() > wire.InitialMessage {
		if status := s.Meet(ctx, c); status != nil {
			return nil, status
		}
	}
	if status := s.open(ctx, c, wire.FlagStream, &m, 0); status != nil {
		return nil, status
	}
	return st, nil
}

// credit gives a stream the credit that each one begins with.
func (st *Stream) credit(peer *wire.Hello) {
	_ = st.state.Allow(peer.StreamWindow) // which is no more than streams.MaxCredit
}

func (st *Stream) flags() wire.Flags {
	if st.opener {
		return 0
	}
	return wire.FlagAnswer
}

// Send sends one message. It waits while the peer has not made room, until ctx, the context of the call, ends. A status with the code OK
// says that the call has ended well and takes no more. A message that the opener cannot send ends the call.
func (st *Stream) Send(v any) *wire.Status {
	if status := st.waitCredit(); status != nil {
		return status
	}
	s, at := st.s, now()
	var m message
	if status := s.w.prepare(&m, st.codec, st.sizer, v, st.comp); status != nil {
		return st.failed(status)
	}
	defer m.release()
	w := &s.w
	w.Lock()
	if w.FullLocked() {
		var due int64
		if st.opener {
			due = st.call.Deadline
		}
		if status := w.roomUntilLocked(st.ctx, due); status != nil {
			if st.Over() {
				return st.waitCredit() // which says how it ended
			}
			return status
		}
	}
	if !st.maySendLocked() {
		w.Unlock()
		return st.tooLate()
	}
	if status := w.putLocked(wire.Header{Type: wire.TypeData, Flags: st.flags(), ID: st.id}, &m); status != nil {
		w.Unlock()
		return st.failed(status)
	}
	w.NoteLocked()
	if st.state.Sent(m.size, at) {
		w.FlushBehindAndUnlock()
		return nil
	}
	w.FlushCallAndUnlock(true, 0)
	st.state.Wrote(now()) // the write has taken its time
	return nil
}

// maySendLocked reports whether this side may send on the call: the opener may not once it has sent a CANCEL or got the final frame, the
// answerer not once it has sent the final frame. It is called with the writer's lock held.
func (st *Stream) maySendLocked() bool {
	switch c, _ := st.ctx.(*Context); {
	case st.s.w.ClosedLocked():
		return false
	case st.opener:
		return st.s.out.Slot(wire.Slot(st.id)).Call.Load() == st.call
	default:
		return !c.answered
	}
}

// tooLate is the status of a message that may not be sent any more.
func (st *Stream) tooLate() *wire.Status {
	if !st.opener && !st.Over() {
		if st.s.failed.Load() != nil {
			return st.end()
		}
		return &wire.Status{Code: wire.FailedPrecondition, Outcome: wire.NotSent, Message: "send on a stream whose call was answered"}
	}
	st.state.AwaitEnd() // the goroutine that has ended the call is about to set its status
	return st.waitCredit()
}

// failed ends the opener's call because of a message that it cannot send or use.
func (st *Stream) failed(status *wire.Status) *wire.Status {
	if st.opener {
		whole := *status
		if whole.Outcome == wire.NotSent {
			whole.Outcome = wire.OutcomeUnknown // the message was not sent; the call was
		}
		st.Cancel(&whole)
	}
	return status
}

// waitCredit waits until a message may be sent.
func (st *Stream) waitCredit() *wire.Status {
	switch st.state.AwaitCredit(st.ctx) {
	case streams.Ready:
		return nil
	case streams.Closed:
		return &wire.Status{Code: wire.FailedPrecondition, Outcome: wire.NotSent, Message: "send on a stream whose sending side was closed"}
	case streams.Left:
		return st.gaveUp()
	}
	if status := st.end(); status != nil {
		return status
	}
	return &wire.Status{Code: wire.OK, Message: "the call has ended"}
}

// CloseSend tells the peer that no more messages will come. Only the opener may call it; the peer ends the stream by ending the call.
func (st *Stream) CloseSend() *wire.Status {
	if !st.state.CloseSend() {
		return nil
	}
	s := st.s
	s.w.Lock()
	if !st.maySendLocked() {
		s.w.Unlock()
		return nil // it has ended, which Recv will tell
	}
	h := wire.Header{Type: wire.TypeData, Flags: st.flags() | wire.FlagEnd, ID: st.id}
	if s.w.Large.Has(st.id, st.flags()) {
		s.w.Large.Add(&bulk.Message{Head: h}) // behind the large message that is still on its way
	} else {
		s.w.FrameLocked(h, nil)
	}
	s.w.FlushCallAndUnlock(false, 0)
	return nil
}

// Recv receives the next message into v. more is false at the end of the stream: then the status tells whether it ended well.
func (st *Stream) Recv(v any) (more bool, status *wire.Status) {
	m, give, outcome := st.state.Next(st.ctx)
	switch outcome {
	case streams.Closed:
		return false, nil
	case streams.Over:
		return false, st.end()
	case streams.Left:
		return false, st.gaveUp()
	}
	if give > 0 {
		st.giveCredit(give)
	}
	err := st.decode(m, v)
	m.Release()
	if err != nil {
		return false, st.failed(st.unusable(err))
	}
	return true, nil
}

// decode restores and decodes a message that has come. A large one waits for its turn, and is counted meanwhile.
func (st *Stream) decode(m streams.Message, v any) error {
	s, n := st.s, len(m.Body)
	if !m.Compressed && n <= turns.Small {
		return Decode(st.codec, m.Body, v)
	}
	s.in.account.Add(int64(m.Memory()))
	defer s.in.account.Add(-int64(m.Memory()))
	turn := func(f func() error) error { return s.cfg.inTurn(st.ctx, f) }
	if !m.Compressed {
		return turn(func() error { return Decode(st.codec, m.Body, v) })
	}
	return restore.Within(n, s.cfg.Limits.MaxMessage, turn, func(limit int) error {
		s.in.account.Add(int64(limit))
		defer s.in.account.Add(-int64(limit))
		body, err := s.cfg.decompress(m.Body, limit)
		if err == nil {
			err = Decode(st.codec, body, v)
		}
		return err
	})
}

// unusable is the status of a stream with a message that cannot be restored or decoded.
func (st *Stream) unusable(err error) *wire.Status {
	status := &wire.Status{Code: wire.InvalidArgument, Outcome: wire.Executed, Reason: wire.ReasonDecode,
		Message: "decode a message of the stream with codec " + st.codec.Name() + ": " + err.Error()}
	switch {
	case !st.opener && st.ctx.Err() != nil:
		return fromContext(st.ctx) // it may not have had its turn
	case errors.Is(err, compress.ErrTooLarge):
		return st.s.cfg.Limits.tooLong(wire.TypeData)
	case st.opener:
		status.Code = wire.Internal
	}
	return status
}

func (st *Stream) giveCredit(n int) {
	s := st.s
	s.w.Lock()
	if !st.maySendLocked() {
		s.w.Unlock()
		return
	}
	s.w.FrameLocked(wire.Header{Type: wire.TypeCredit, Flags: st.flags(), ID: st.id, Arg: uint32(n)}, nil)
	s.w.FlushCallAndUnlock(false, 0)
}

// end is the status of a stream that is over, or whose session has ended; nil when it ended well.
func (st *Stream) end() *wire.Status {
	if over, status := st.state.Ended(); over {
		return status
	}
	return st.lost()
}

// lost is the status of a stream whose session has ended.
func (st *Stream) lost() *wire.Status {
	if why := st.s.failed.Load(); why != nil {
		copied := *why
		return &copied
	}
	return unavailable("the stream is gone")
}

// gaveUp ends the wait of a Send or Recv whose context has ended.
func (st *Stream) gaveUp() *wire.Status {
	status := fromContext(st.ctx)
	if st.opener {
		st.Cancel(status)
	}
	return status
}

// ContextEnded gives the stream up because the context of the call has ended.
func (st *Stream) ContextEnded() { st.gaveUp() }

// Cancel gives the stream up: the peer's handler is canceled, and this side gets status from now on. Only the opener may call it.
func (st *Stream) Cancel(status *wire.Status) {
	s := st.s
	defer st.state.Forget()
	sl := s.out.Slot(wire.Slot(st.id))
	if !sl.Call.CompareAndSwap(st.call, nil) {
		return
	}
	s.w.Lock()
	if !s.w.ClosedLocked() {
		s.out.cancelLocked(st.id, status.Code)
		s.w.RelieveLocked() // it may be a sender on this stream that writes
	}
	s.w.FlushElsewhereAndUnlock()
	st.state.End(status, "")
}

// Meta is the inside of the metadata block of the final frame, once it has come.
func (st *Stream) Meta() string { return st.state.Meta() }

// Over reports whether the call has ended.
func (st *Stream) Over() bool { return st.state.Over() }

// StreamBytes is how many bytes the messages have, on the wire, that were sent on a stream and that have come.
func StreamBytes(st *Stream) (sent, came int) { return st.state.Bytes() }

// SetCompress sets how this side's messages are compressed. It is called before the first Send.
func (st *Stream) SetCompress(c compress.Compressor) { st.comp = c }

// Context is the context that ends the stream's waits.
func (st *Stream) Context() context.Context { return st.ctx }
