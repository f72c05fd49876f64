package session

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/weftrpc/weft/codec"
	"github.com/weftrpc/weft/compress"
	"github.com/weftrpc/weft/internal/bulk"
	"github.com/weftrpc/weft/internal/wire"
)

// Stream is one end of a streaming call. One goroutine may send while another
// receives; two must not do the same at once.
type Stream struct {
	s      *Session
	id     uint32
	opener bool
	ctx    context.Context // of the call: ends waits

	codec codec.Codec
	sizer codec.Sizer
	comp  compress.Compressor

	mu       sync.Mutex
	inbox    inbox
	credit   int  // what may be sent; below zero, nothing
	peerDone bool // the peer sends no more messages
	sentDone bool // this side sends no more
	over     bool // the call has ended; status tells how
	flow     flow // of what this side sends
	status   *wire.Status
	meta     string // of the final frame

	arrived chan struct{} // something was queued, or the end came
	allowed chan struct{} // credit came, or the end

	call     *Call       // of the opener
	arriving atomic.Bool // a message of the peer is unfinished
}

// messageCost is what every message of a stream costs besides its bytes, so that
// empty ones cannot be sent without end either.
const messageCost = wire.HeaderSize

func newStream(s *Session, opener bool, ctx context.Context) *Stream {
	return &Stream{
		s: s, opener: opener, ctx: ctx, credit: int(s.peer.Load().StreamWindow),
		arrived: make(chan struct{}, 1), allowed: make(chan struct{}, 1),
	}
}

// OpenStream opens a stream for the call c, whose Reply and Args are not used.
func (s *Session) OpenStream(ctx context.Context, c *Call) (*Stream, *wire.Status) {
	st := newStream(s, true, ctx)
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

func (st *Stream) flags() wire.Flags {
	if st.opener {
		return 0
	}
	return wire.FlagAnswer
}

func wakeUp(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Send sends one message. It waits while the peer has not made room, until
// ctx, the context of the call, ends. A status with the code OK says that the call
// has ended well and takes no more. A message that the opener cannot send ends the
// call.
func (st *Stream) Send(v any) *wire.Status {
	if status := st.waitCredit(); status != nil {
		return status
	}
	s, at := st.s, now()
	var m message
	if status := s.prepare(&m, st.codec, st.sizer, v, st.comp); status != nil {
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
		if status := s.awaitRoomLocked(st.ctx, due); status != nil {
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
	if status := s.putLocked(wire.Header{Type: wire.TypeData, Flags: st.flags(), ID: st.id}, &m); status != nil {
		w.Unlock()
		return st.failed(status)
	}
	// Before the flush: the peer may give it back as soon as it has the message.
	st.mu.Lock()
	st.credit -= m.size + messageCost
	st.flow.bytes += m.size
	follows := st.flow.next(at)
	st.mu.Unlock()
	if follows {
		w.FlushBehindAndUnlock()
		return nil
	}
	w.FlushCallAndUnlock(true, 0)
	st.mu.Lock()
	st.flow.sent = now() // the write has taken its time
	st.mu.Unlock()
	return nil
}

// maySendLocked reports whether this side may send on the call: the opener may
// not once it has sent a CANCEL or got the final frame, the answerer not once it has
// sent the final frame. It is called with the writer's lock held.
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
	// The goroutine that has ended the call is about to set its status.
	for !st.Over() {
		<-st.allowed
	}
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
	for {
		st.mu.Lock()
		switch {
		case st.over:
			st.mu.Unlock()
			if status := st.end(); status != nil {
				return status
			}
			return &wire.Status{Code: wire.OK, Message: "the call has ended"}
		case st.sentDone:
			st.mu.Unlock()
			return &wire.Status{Code: wire.FailedPrecondition, Outcome: wire.NotSent, Message: "send on a stream whose sending side was closed"}
		case st.credit > 0:
			st.mu.Unlock()
			return nil
		}
		st.mu.Unlock()
		select {
		case <-st.allowed:
		case <-st.ctx.Done():
			if st.Over() {
				continue // the end of the call has ended the context
			}
			return st.gaveUp()
		}
	}
}

// CloseSend tells the peer that no more messages will come. Only the
// opener may call it; the peer ends the stream by ending the call.
func (st *Stream) CloseSend() *wire.Status {
	st.mu.Lock()
	if st.over || st.sentDone {
		st.mu.Unlock()
		return nil
	}
	st.sentDone = true
	st.mu.Unlock()
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

// Recv receives the next message into v. more is false at the end of the stream:
// then the status tells whether it ended well.
func (st *Stream) Recv(v any) (more bool, status *wire.Status) {
	a, more, status := st.next()
	if !more {
		return false, status
	}
	body, err := a.body, error(nil)
	if a.compressed {
		body, err = st.s.decompress(body, st.s.cfg.Limits.MaxMessage)
	}
	if err == nil {
		err = Decode(st.codec, body, v)
	}
	if a.buf != nil {
		a.buf.Release()
	}
	if err != nil {
		return false, st.failed(st.unusable(err))
	}
	return true, nil
}

// unusable is the status of a stream with a message that cannot be restored or decoded.
func (st *Stream) unusable(err error) *wire.Status {
	status := &wire.Status{Code: wire.InvalidArgument, Outcome: wire.Executed, Reason: wire.ReasonDecode,
		Message: "decode a message of the stream with codec " + st.codec.Name() + ": " + err.Error()}
	switch {
	case errors.Is(err, compress.ErrTooLarge):
		status.Code, status.Reason = wire.ResourceExhausted, "MESSAGE_TOO_LARGE"
	case st.opener:
		status.Code = wire.Internal
	}
	return status
}

// next waits for the next message.
func (st *Stream) next() (a arrival, more bool, status *wire.Status) {
	for {
		st.mu.Lock()
		if len(st.inbox.queue) > 0 {
			a = st.inbox.take()
			if len(st.inbox.queue) == 0 {
				st.flow.answer = true
			}
			st.s.in.queue(st.inbox.count(), 0)
			give := 0
			if !st.over && !st.peerDone {
				give = st.inbox.owed(st.s.cfg.Limits.StreamWindow / 2)
			}
			st.mu.Unlock()
			if give > 0 {
				st.giveCredit(give)
			}
			return a, true, nil
		}
		if st.over {
			st.mu.Unlock()
			return a, false, st.end()
		}
		if st.peerDone {
			st.mu.Unlock()
			return a, false, nil
		}
		st.flow.answer = true
		st.mu.Unlock()
		select {
		case <-st.arrived:
		case <-st.ctx.Done():
			if st.Over() {
				continue // there may still be messages
			}
			return a, false, st.gaveUp()
		}
	}
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

// end is the status of a stream that is over; nil when it ended well.
func (st *Stream) end() *wire.Status {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.over {
		return st.status
	}
	if why := st.s.failed.Load(); why != nil {
		lost := *why
		return &lost
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

// Cancel gives the stream up: the peer's handler is canceled, and
// this side gets status from now on. Only the opener may call it.
func (st *Stream) Cancel(status *wire.Status) {
	s := st.s
	defer st.forget()
	sl := s.out.Slot(wire.Slot(st.id))
	if !sl.Call.CompareAndSwap(st.call, nil) {
		return
	}
	s.w.Lock()
	if !s.w.ClosedLocked() {
		s.cancelFrameLocked(st.id, status.Code)
		s.w.RelieveLocked() // it may be a sender on this stream that writes
	}
	s.w.FlushElsewhereAndUnlock()
	st.ended(status, "")
}

// ended takes the end of the call. Messages that came before it can still be received.
func (st *Stream) ended(status *wire.Status, meta string) {
	st.mu.Lock()
	if !st.over {
		st.over, st.status, st.meta = true, status, meta
	}
	st.mu.Unlock()
	st.lapse()
	wakeUp(st.arrived)
	wakeUp(st.allowed)
}

// arrives notes that a message of the peer has begun that does not fit one frame.
func (st *Stream) arrives() {
	st.arriving.Store(true)
	if st.Over() {
		st.lapse()
	}
}

// lapse has the reader drop what it has of an unfinished message.
func (st *Stream) lapse() {
	if st.arriving.CompareAndSwap(true, false) {
		st.s.reading.parts.lapsed.add(st.id, st.opener)
	}
}

// Meta is the inside of the metadata block of the final frame, once it has come.
func (st *Stream) Meta() string {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.meta
}

// Over reports whether the call has ended.
func (st *Stream) Over() bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.over
}

// broke is why this side has ended the stream before its handler has; nil if it
// has not.
func (st *Stream) broke() *wire.Status {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.status
}

// broken ends the answering side's stream when the session has ended.
func (st *Stream) broken() {
	why := unavailable("the stream is gone")
	if f := st.s.failed.Load(); f != nil {
		copied := *f
		why = &copied
	}
	st.ended(why, "")
}

// data takes a DATA frame. It is called by the reader; owned says that body may be kept.
func (st *Stream) data(h wire.Header, body []byte, owned bool) error {
	if h.Flags&wire.FlagEnd != 0 {
		st.mu.Lock()
		st.peerDone = true
		st.mu.Unlock()
		wakeUp(st.arrived)
		return nil
	}
	limits := &st.s.cfg.Limits
	if len(body) > limits.MaxMessage {
		st.overrun(st.s.cfg.Limits.tooLong(wire.TypeData))
		return nil
	}
	full := false
	defer func() {
		if full {
			st.overrun(tooManyUnread())
		}
	}()
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.over || st.peerDone {
		return nil
	}
	if st.inbox.used() >= limits.StreamWindow {
		return fmt.Errorf("stream %#x sends beyond its credit", st.id)
	}
	st.inbox.put(body, owned, h.Flags&wire.FlagCompressed != 0)
	if !st.s.in.queue(st.inbox.count(), limits.MaxStreamBytes) {
		full = true
		return nil
	}
	wakeUp(st.arrived)
	return nil
}

func tooManyUnread() *wire.Status {
	return &wire.Status{Code: wire.ResourceExhausted, Outcome: wire.Executed, Reason: wire.ReasonTooManyBytes,
		Message: "the streams of this connection have too many bytes that were not received (their receiver's Limits.MaxStreamBytes)"}
}

// forget counts the messages no more that were not received: the application has given the stream
// up, or will receive them soon.
func (st *Stream) forget() {
	st.mu.Lock()
	n := st.inbox.forget()
	st.mu.Unlock()
	st.s.in.queue(n, 0)
}

// allow takes credit from the peer.
func (st *Stream) allow(n uint32) error {
	st.mu.Lock()
	defer st.mu.Unlock()
	if int64(n) > maxCredit-int64(st.credit) {
		return fmt.Errorf("stream %#x gets more credit than %d bytes", st.id, maxCredit)
	}
	st.credit += int(n)
	wakeUp(st.allowed)
	return nil
}

// maxCredit is the most a stream may be allowed to send ahead, in bytes.
const maxCredit = 1 << 30

// overrun ends a stream whose peer sent a message that is too large.
func (st *Stream) overrun(status *wire.Status) {
	if st.opener {
		st.Cancel(status)
		return
	}
	st.ended(status, "")
	if c, ok := st.ctx.(*Context); ok {
		c.end(canceled) // its handler may not be receiving
	}
}

// streamOf finds the stream that a frame belongs to; nil when it is gone.
func (s *Session) streamOf(id uint32, answer bool) *Stream {
	if answer {
		sl := s.out.Slot(wire.Slot(id))
		if sl == nil {
			return nil
		}
		if st := sl.Stream.Load(); st != nil && st.id == id {
			return st
		}
		return nil
	}
	if c := s.in.find(id); c != nil {
		return c.Stream()
	}
	return nil
}

// startStream runs a streaming method on a goroutine of its own.
func (rd *reader) startStream(c *Context, h wire.Header, b *Binding) error {
	s := rd.s
	st := newStream(s, false, c)
	st.id, st.codec, st.sizer = h.ID, b.Codec, b.Sizer
	st.peerDone = h.Flags&wire.FlagEnd != 0
	c.need().stream = st
	if err := s.in.put(c); err != nil {
		c.drop()
		return err
	}
	r := &Request{Ctx: c, Codec: b.Codec, Sizer: b.Sizer}
	s.in.hold(int64(len(c.Meta())))
	s.cfg.Exec.Go(func() {
		defer func() {
			st.ended(&wire.Status{Code: wire.Canceled, Message: "the handler has returned"}, "")
			st.forget()
			s.in.hold(-int64(len(c.Meta())))
			s.w.Flush()
			s.in.left()
		}()
		r.runQueued()
	})
	return nil
}

// StreamBytes is how many bytes the messages have, on the wire, that were sent on a stream and that have come.
func StreamBytes(st *Stream) (sent, came int) {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.flow.bytes, st.inbox.bytes
}

// SetCompress sets how this side's messages are compressed. It is called before
// the first Send.
func (st *Stream) SetCompress(c compress.Compressor) { st.comp = c }

// Context is the context that ends the stream's waits.
func (st *Stream) Context() context.Context { return st.ctx }
