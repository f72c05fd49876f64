package session

import (
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/weftrpc/weft/codec"
	"github.com/weftrpc/weft/compress"
	"github.com/weftrpc/weft/internal/restore"
	"github.com/weftrpc/weft/internal/wire"
)

// Request is a call as its method runs it. It is valid until Serve returns.
type Request struct {
	Ctx   *Context
	Codec codec.Codec
	Sizer codec.Sizer
	Body  []byte // valid until Serve returns; not shared meanwhile
	// Compress is how the reply is compressed; nil for not at all.
	Compress compress.Compressor

	// Sampled says that the running time of this call should be recorded.
	Sampled bool
	// Started is when a worker began with the call, on the clock of Nanos; 0: it is not known.
	Started int64
	// Ended is when the handler had returned and its reply was encoded, if Sampled, on
	// the clock of Nanos. A small reply is encoded later, while it is written.
	Ended int64
	// Replied is how many bytes the body of the reply has on the wire, once it was answered well.
	Replied int

	scratch    scratch
	reader     *reader // what it runs on; nil for a worker, which may wait
	oneway     bool
	compressed bool
	answered   bool
	refused    bool
	first      bool  // it is counted among the first calls of its method
	expects    int64 // bytes of its reply that are counted for it while its handler runs
	restored   int64 // bytes that the body has after its compression was undone, counted for the session
}

// scratch is used again for the next request of the same reader or job: memory for replies that are bytes, which is the session's own, since what a
// handler returns may be shared, or be the request itself; and what Kept is for.
type scratch struct {
	mem  []byte
	want int // how long the longest reply was
	kept any
}

// keepScratch is the largest memory kept for the next reply, in bytes.
const keepScratch = 64 << 10

// Scratched returns empty memory that a reply given to ReplyBytes may be put into. It is not shared until Serve returns.
func (r *Request) Scratched() []byte {
	if x := &r.scratch; cap(x.mem) < x.want {
		x.mem = make([]byte, 0, x.want)
	}
	return r.scratch.mem
}

// Kept is for a value of the method's owner, which the next requests of the same reader or job find there.
func (r *Request) Kept() *any { return &r.scratch.kept }

// Oneway reports whether the caller waits for no reply.
func (r *Request) Oneway() bool { return r.oneway }

// Refused reports whether the call was answered with a refusal.
func (r *Request) Refused() bool { return r.refused }

// Open undoes the compression of the body, if any. It is called before Body is used, and after the caller was authorized.
func (r *Request) Open() *wire.Status {
	if !r.compressed {
		return nil
	}
	r.compressed = false
	s := r.Ctx.Session
	// What a body becomes counts like one that came as it is, before there is memory for it.
	var b []byte
	var full *wire.Status
	turn := func(f func() error) error { return s.cfg.inTurn(r.Ctx, f) }
	err := restore.Within(len(r.Body), s.cfg.Limits.MaxMessage, turn, func(limit int) (err error) {
		if full = s.in.roomFor(int64(limit) - r.restored); full == nil {
			r.restored = int64(limit)
			b, err = s.cfg.decompress(r.Body, limit)
		}
		return err
	})
	if full != nil {
		return full
	}
	if err == nil {
		s.in.hold(int64(cap(b))-r.restored, 0) // its memory may be longer than the limit
		r.restored = int64(cap(b))
	}
	if err != nil {
		st := &wire.Status{Code: wire.InvalidArgument, Outcome: wire.Refused, Reason: wire.ReasonDecompress, Message: err.Error()}
		switch {
		case r.Ctx.Err() != nil:
			st = fromContext(r.Ctx)
			st.Outcome, st.Message = wire.Refused, "the call ended before its request was restored"
		case errors.Is(err, compress.ErrTooLarge):
			st = s.cfg.Limits.tooLong(wire.TypeRequest)
			st.Outcome = wire.Refused
		}
		return st
	}
	r.Body = b
	return nil
}

func tooMuchMemory() *wire.Status {
	return &wire.Status{Code: wire.ResourceExhausted, Outcome: wire.Refused, Reason: wire.ReasonTooManyBytes,
		Message: "the peer holds as many bytes for all its connections as it may (ServerConfig.MaxMemory); try again later"}
}

// tooMuchHeld is why the connection ends for which most is held.
func tooMuchHeld() *wire.Status {
	return &wire.Status{Code: wire.ResourceExhausted, Reason: wire.ReasonTooManyBytes,
		Message: "far too many bytes are held for all connections, and most for this one (ServerConfig.MaxMemory)"}
}

func tooManyBytes() *wire.Status {
	return &wire.Status{Code: wire.ResourceExhausted, Outcome: wire.Refused, Reason: wire.ReasonTooManyBytes,
		Message: "the requests in flight on this connection have too many bytes (Limits.MaxCallBytes of the peer); try again later"}
}

// message is the message of the answer, which waits for the peer on a worker.
func (r *Request) message() (m message) {
	if r.reader == nil {
		m.of = r
	}
	return m
}

// Reply ends the call successfully, with v as its result.
func (r *Request) Reply(v any) {
	r.returned()
	m := r.message()
	if r.oneway {
		r.end(&m)
		return
	}
	if st := r.Ctx.Session.w.prepare(&m, r.Codec, r.Sizer, v, r.Compress); st != nil {
		st.Outcome = wire.Executed
		r.Fail(st)
		return
	}
	r.prepared(&m)
	r.end(&m)
}

// ReplyBytes ends the call successfully, with a body that is encoded already.
func (r *Request) ReplyBytes(b []byte) {
	r.returned()
	r.scratch.want = max(r.scratch.want, min(len(b), keepScratch))
	m := r.message()
	if r.oneway {
		r.end(&m)
		return
	}
	if st := r.Ctx.Session.w.prepared(&m, b, r.Compress); st != nil {
		st.Outcome = wire.Executed
		r.Fail(st)
		return
	}
	r.prepared(&m)
	r.end(&m)
}

// returned notes when the handler returned: what comes after it, such as waiting for the writer's lock, is not the method's time.
func (r *Request) returned() {
	if r.Sampled && r.Ended == 0 {
		r.Ended = now()
	}
}

// expect counts the reply that the handler is going to return, if such replies are long. It returns
// false if there is no memory for it. While no reply of the method is known it may wait.
func (r *Request) expect() bool {
	m := r.Ctx.Method
	r.first = !r.oneway && m.first.Begin()
	n := m.expects()
	if n == 0 {
		return true
	}
	if !r.Ctx.Session.in.account.Expect(n) {
		return false
	}
	r.expects = n
	return true
}

// Counted is how many bytes of the reply are counted while its handler runs.
func (r *Request) Counted() int64 { return r.expects }

// Done is closed when the call has ended.
func (r *Request) Done() <-chan struct{} { return r.Ctx.Done() }

// UsualReply is about how many bytes a reply of the method has that was not encoded yet.
func (r *Request) UsualReply() int64 { return r.Ctx.Method.UsualReply() }

// left ends what expect has begun, when the call was answered.
func (r *Request) left() {
	if r.first {
		r.first = false
		r.Ctx.Method.first.End(r.answered && !r.refused)
	}
	r.unexpect()
}

// unexpect ends the count of the reply, which is counted elsewhere or gone.
func (r *Request) unexpect() {
	if r.expects > 0 {
		r.Ctx.Session.in.account.Add(-r.expects)
		r.expects = 0
	}
}

// prepared notes when a reply was ready that had to be encoded, compressed or copied first: a method with megabytes to send holds its reader up as
// a slow one does. The length of its replies is known. A buffer with more room than was expected is counted, or trimmed: many would end the session.
func (r *Request) prepared(m *message) {
	r.Ctx.Method.first.Learn()
	if r.Sampled && m.buf != nil {
		r.Ended = now()
	}
	if m.size <= wire.MaxPayload { // it has no buffer, or is copied
		return
	}
	if takes := int64(cap(m.buf.B)); takes <= r.expects || r.Ctx.Session.in.account.Expect(takes-r.expects) {
		r.expects = max(r.expects, takes)
	} else {
		m.buf = m.buf.Trim()
		m.bytes = m.buf.B
	}
}

// end appends the REPLY. A reply that is too large or cannot be encoded becomes an ERROR.
func (r *Request) end(m *message) {
	c, s, size := r.Ctx, r.Ctx.Session, m.size
	m.meta = c.ReplyMeta()
	if m.of != nil && s.in.backlog.Crowded() {
		if st := s.w.awaitTurn(m); st != nil {
			r.Fail(st)
			return
		}
	}
	r.answered = true
	c.end(finished)
	s.w.Lock()
	for r.reader == nil && !s.w.ClosedLocked() && s.w.FullLocked() {
		s.in.backlog.Crowd()
		s.w.Unlock()
		s.w.AwaitRoom()
		s.w.Lock()
	}
	if !s.w.ClosedLocked() && s.in.clearLocked(c) {
		h := wire.Header{Type: wire.TypeReply, Flags: wire.FlagAnswer, ID: c.id}
		if len(m.meta) > int(s.peer.takes().MaxMetadata) {
			st := s.peer.tooMuchMeta(len(m.meta))
			st.Outcome = wire.Executed
			s.w.putErrorLocked(c.id, st, "")
		} else if st := s.w.putLocked(h, m); st != nil {
			st.Outcome = wire.Executed
			s.w.putErrorLocked(c.id, st, m.meta)
		} else {
			r.Replied = size
		}
		r.unexpect() // it is counted with what waits to be written
		s.w.NoteReplyLocked()
	}
	s.w.Unlock()
	m.release()
	c.SetReplyMeta("") // a context that is kept does not hold it, nor do those of its slab
}

// Fail ends the call with an error.
func (r *Request) Fail(st *wire.Status) {
	r.returned()
	c, s := r.Ctx, r.Ctx.Session
	r.answered, r.refused = true, st.Outcome == wire.Refused
	st = r.verdict(st)
	if r.reader == nil && s.in.backlog.Crowded() && (len(st.Message) > briefMessage || len(st.Details) > 0 || c.ReplyMeta() != "") {
		m := r.message()
		defer m.release()
		if s.w.awaitTurn(&m) != nil {
			st = brief(st)
			c.SetReplyMeta("")
		}
	}
	c.end(finished)
	s.w.Lock()
	if !s.w.ClosedLocked() && s.in.clearLocked(c) {
		s.w.putErrorLocked(c.id, st, c.ReplyMeta())
		s.w.NoteReplyLocked()
	}
	s.w.Unlock()
	c.SetReplyMeta("") // a context that is kept does not hold it, nor do those of its slab
}

// briefMessage is the longest message of an ERROR that does not wait for a peer that reads slowly.
const briefMessage = 512

// brief is what is left of a status for a peer that does not read.
func brief(st *wire.Status) *wire.Status {
	return &wire.Status{Code: st.Code, Outcome: st.Outcome, Reason: st.Reason, Message: st.Message[:min(len(st.Message), briefMessage)]}
}

// verdict is the status that a call that failed with st is answered with: for one that was canceled on this side, the reason.
func (r *Request) verdict(st *wire.Status) *wire.Status {
	if st.Code != wire.Canceled {
		return st
	}
	if stream := r.Ctx.Stream(); stream != nil {
		// It may have ended before its handler has.
		if _, why := stream.state.Ended(); why != nil {
			return why
		}
	}
	cut := r.Ctx.Session.in.cut.Load()
	if cut == nil {
		return st
	}
	told := *cut
	if st.Outcome == wire.Refused {
		told.Outcome = wire.Refused // its handler never ran
	}
	return &told
}

// turnAway answers a request that will not be run.
func (s *Session) turnAway(id uint32, st *wire.Status) {
	st.Outcome = wire.Refused
	s.refused(st)
	s.w.Lock()
	if !s.w.ClosedLocked() {
		s.w.putErrorLocked(id, st, "")
	}
	s.w.Unlock()
}

// refused tells the owner of a call that was refused before it reached its method.
func (s *Session) refused(st *wire.Status) {
	if s.cfg.Refused != nil {
		s.cfg.Refused(s, st)
	}
}

// run lets the method serve the request and ensures that it is answered exactly once, whatever the handler does.
func (r *Request) run() {
	defer r.rescue()
	r.Ctx.Method.Serve(r)
	if !r.answered {
		r.Fail(&wire.Status{Code: wire.Internal, Outcome: wire.Executed, Message: "the method gave no answer"})
	}
}

// rescue turns a panic into an error for the caller. The stack and the arguments are not sent; they go to the log on this side.
func (r *Request) rescue() {
	p := recover()
	if p == nil && r.answered {
		return
	}
	if p == nil {
		r.Fail(&wire.Status{Code: wire.Internal, Outcome: wire.Executed, Message: "the handler ended its goroutine"})
		if r.reader != nil {
			r.reader.exited()
		}
		return
	}
	st := r.Panicked(p)
	if !r.answered {
		r.Fail(st)
	}
}

// Panicked logs a panic of the handler and returns the status for the caller. It is
// called by the function that recovered, so that the stack is still there.
func (r *Request) Panicked(p any) *wire.Status {
	if cfg := r.Ctx.Session.cfg; cfg.Panicked != nil {
		cfg.Panicked(r, p)
	} else {
		cfg.Logger.Error("handler panicked", "method", r.Ctx.Method.Name,
			"peer", r.Ctx.Session.conn.RemoteAddr().String(), "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
	}
	return &wire.Status{Code: wire.Internal, Outcome: wire.Executed, Reason: wire.ReasonPanic, Message: "the handler panicked"}
}
