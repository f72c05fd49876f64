package grpc

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/codec"
	"github.com/weftrpc/weft/compress"
	"github.com/weftrpc/weft/door/internal/http2"
	"github.com/weftrpc/weft/internal/due"
	"github.com/weftrpc/weft/internal/fit"
	"github.com/weftrpc/weft/internal/session"
)

// exchange is one call of a client. With thousands of calls open every line of the processor's cache costs: what the goroutine that reads
// touches for most replies stands together, and in front.
type exchange struct {
	st http2.Stream

	ended    atomic.Bool // by the goroutine that then sets what follows from it
	begun    bool        // the header of the response has come
	oneway   bool
	queued   bool           // the request has waited for the windows
	over     bool           // nothing refers to the stream any more
	early    bool           // the reply of call was decoded where it was read
	received uint32         // bytes of the reply that was decoded
	inbox    *outbox        // nil: the call is unary
	call     *weft.WireCall // unary, whose caller waits for done
	done     chan struct{}  // of a unary call; has room for one
	framed   []byte         // a whole message, framed, where it was read; see near

	c       *clientConn
	body    []byte // of a unary call: its message, framed, as far as it has come and is not in framed
	restore compress.Compressor
	meta    []string
	due     time.Time
	owed    int // bytes of a unary reply that came and were not given back

	result result
	alarm  due.Alarm // of the goroutine that waits for the call
}

// result is how a call has ended.
type result struct {
	err   *weft.Error
	reply []string // the metadata of the reply
}

// finish ends the call, once. reply is the metadata that has come.
func (x *exchange) finish(err *weft.Error, reply []string) {
	if x.ended.CompareAndSwap(false, true) {
		x.settle(err, reply)
	}
}

// settle is the rest of finish, for the goroutine that has set ended. What stays as it was is not written.
func (x *exchange) settle(err *weft.Error, reply []string) {
	if err != nil {
		x.result.err = err
	}
	if len(reply) > 0 {
		x.result.reply = reply
	}
	switch {
	case x.inbox != nil:
		x.inbox.finished(err)
	case x.oneway:
		<-x.c.oneway
	default:
		x.done <- struct{}{}
	}
}

// notSent is the error of a call that was not sent.
func notSent(code weft.Code, reason, format string, args ...any) *weft.Error {
	e := weft.Errorf(code, format, args...).WithReason(reason)
	e.Outcome = weft.NotSent
	return e
}

// unsent makes the error of a call that was not sent of what kept it from that.
func unsent(ctx context.Context, err error) *weft.Error {
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return notSent(weft.CodeOf(err), "", "%w before the request was sent", err)
	}
	e := *connError(err)
	e.Outcome = weft.NotSent
	return &e
}

// timeLeft is how long a call may take; 0: as long as it takes.
func timeLeft(ctx context.Context) time.Duration {
	if d, ok := ctx.Deadline(); ok {
		return max(time.Until(d), 1)
	}
	return 0
}

// Check implements weft.WireChecker.
func (c *clientConn) Check(with codec.Codec, msg any) error { return fit.Carries(with, msg) }

// Call implements weft.WireConn.
func (c *clientConn) Call(ctx context.Context, w *weft.WireCall) error {
	if err := checkMetadata(w.Metadata); err != nil {
		return notSent(weft.InvalidArgument, "", "%w", err)
	}
	if w.Oneway {
		return callOneway(ctx, c, w)
	}
	x := c.spare.take()
	x.c, x.call, x.st.Owner, x.st.Reads = c, w, x, true
	x.due, _ = ctx.Deadline()
	if err := c.send(ctx, x, w); err != nil {
		return err
	}
	http2.ReadFor(ctx, c.conn, x.done)
	if _, ok := due.Receive(ctx, &x.alarm, x.done); !ok {
		if x.ended.CompareAndSwap(false, true) {
			c.reset(&x.st)
			return weft.Errorf(weft.CodeOf(ctx.Err()), "%w before the reply came", ctx.Err())
		}
		<-x.done
	}
	if len(x.result.reply) > 0 {
		w.ReplyMetadata = weft.NewMetadata(x.result.reply...)
	}
	if x.result.err == nil && !x.early {
		x.result.err = x.decode(x.body)
	}
	w.Received = int(x.received)
	if x.result.err != nil {
		return x.result.err
	}
	c.spare.give(x)
	return nil
}

// callOneway makes a call whose reply is thrown away.
func callOneway(ctx context.Context, c *clientConn, w *weft.WireCall) error {
	if err := c.waitOneway(ctx); err != nil {
		return err
	}
	x := &exchange{c: c, oneway: true}
	x.st.Owner = x
	x.due, _ = ctx.Deadline()
	err := c.send(ctx, x, w)
	if err != nil {
		<-c.oneway
	}
	return err
}

// decode decodes the reply of a call that went well.
func (x *exchange) decode(framed []byte) *weft.Error {
	w, b := x.call, framed[prefixSize:]
	x.received = uint32(len(b))
	var err error
	if e := flagError(framed[0], x.restore); e != nil {
		err = e
	} else if framed[0] == 1 {
		b, err = restored(x.restore, b, theClient, x.c.limits.MaxMessage)
	}
	if err == nil && w.Reply != nil {
		err = session.Decode(w.Codec, b, w.Reply)
	}
	if err == nil {
		return nil
	}
	e := weft.Errorf(weft.Internal, "decode the reply: %w", err).WithReason(weft.ReasonDecode)
	if known, ok := errors.AsType[*weft.Error](err); ok {
		*e = *known
	}
	e.Outcome = weft.Executed
	return e
}

// waitOneway waits until one more one-way call may be under way.
func (c *clientConn) waitOneway(ctx context.Context) error {
	select {
	case c.oneway <- struct{}{}:
		return nil
	default: // to wait for ctx costs a timer
	}
	select {
	case c.oneway <- struct{}{}:
		return nil
	case <-c.conn.Done():
		return unsent(ctx, c.conn.Err())
	case <-ctx.Done():
		return notSent(weft.CodeOf(ctx.Err()), "", "%w: as many one-way calls are under way as may be", ctx.Err())
	}
}

// reset tells the server that its answer is not waited for.
func (c *clientConn) reset(st *http2.Stream) {
	c.conn.Lock()
	c.conn.ResetLocked(st, http2.Cancel)
	// The caller has no time left: the goroutine writes that has some.
	c.exec.Go(c.flush)
	c.conn.Unlock()
}

// flush writes what was appended.
func (c *clientConn) flush() {
	c.conn.Lock()
	c.conn.FlushAndUnlock(false)
}

// send sends a unary request.
func (c *clientConn) send(ctx context.Context, x *exchange, w *weft.WireCall) error {
	size := -1
	if z := sizerOf(w.Codec); z != nil && c.with == nil {
		if n, ok := z.Size(w.Args); ok {
			size = n
		}
	}
	if size > c.limits.MaxMessage {
		e := tooLong(size, theClient, c.limits.MaxMessage)
		e.Outcome = weft.NotSent
		return e
	}
	var framed []byte
	if size < 0 || size > small {
		var err error
		if framed, err = c.frame(w); err != nil {
			return err
		}
		size = len(framed) - prefixSize
	}
	w.Sent = size
	c.conn.Lock()
	if err := c.openLocked(ctx, x); err != nil {
		c.conn.Unlock()
		return err
	}
	var failed error
	if framed == nil && !c.conn.FitsLocked(&x.st, prefixSize+size) {
		// Another message waits for the windows: this one does so behind it.
		framed, failed = c.frame(w)
	}
	at := c.conn.StartHeadersLocked(&x.st, false)
	c.headLocked(w, timeLeft(ctx))
	c.conn.EndHeadersLocked(at)
	switch {
	case failed != nil:
	case framed == nil:
		failed = c.putLocked(x, w, size)
	default:
		x.queued = true
		c.conn.QueueDataLocked(&x.st, framed, true, nil)
	}
	if failed != nil {
		c.conn.ResetLocked(&x.st, http2.Cancel)
	}
	c.conn.FlushSoonAndUnlock(c.conn.StreamsLocked() > 1)
	return failed
}

// frame encodes a request apart.
func (c *clientConn) frame(w *weft.WireCall) ([]byte, error) {
	b, err := appendMessage(nil, w.Codec, w.Args, c.with, c.limits.CompressAbove, theClient, c.limits.MaxMessage)
	if err != nil {
		e, _ := errors.AsType[*weft.Error](err)
		unsent := *e
		unsent.Outcome = weft.NotSent
		return nil, &unsent
	}
	return b, nil
}

// openLocked opens the stream of a call, when there is room for its request.
func (c *clientConn) openLocked(ctx context.Context, x *exchange) error {
	if c.conn.FullLocked() {
		stop := context.AfterFunc(ctx, func() {
			c.conn.Lock()
			c.conn.WakeLocked(&x.st)
			c.conn.Unlock()
		})
		c.conn.AwaitRoomSoonLocked(ctx)
		stop()
		if err := ctx.Err(); err != nil {
			return unsent(ctx, err)
		}
	}
	if err := c.conn.NewStreamLocked(ctx, &x.st); err != nil {
		return unsent(ctx, err)
	}
	return nil
}

// putLocked encodes a small request where it is sent from.
func (c *clientConn) putLocked(x *exchange, w *weft.WireCall, n int) (err error) {
	b := c.conn.BufferLocked()
	at := len(b)
	defer func() {
		if p := recover(); p != nil {
			err = notSent(weft.InvalidArgument, weft.ReasonEncode, "encode the request with codec %s: %v", w.Codec.Name(), p)
		}
		if err != nil {
			c.conn.SetBufferLocked(b[:at])
		}
	}()
	b = append(b, make([]byte, http2.FrameRoom+prefixSize)...)
	p := b[at+http2.FrameRoom:]
	p[1], p[2], p[3], p[4] = byte(n>>24), byte(n>>16), byte(n>>8), byte(n)
	out, err := sizerOf(w.Codec).AppendSized(b, w.Args, n)
	if err != nil {
		return notSent(weft.InvalidArgument, weft.ReasonEncode, "encode the request with codec %s: %w", w.Codec.Name(), err)
	}
	c.conn.SetBufferLocked(out)
	c.conn.PutDataLocked(&x.st, at, prefixSize+n, true)
	return nil
}

// Open implements http2.Handler. A server opens no streams.
func (c *clientConn) Open() *http2.Stream { return new(http2.Stream) }

// Headers implements http2.Handler.
func (c *clientConn) Headers(st *http2.Stream, b http2.Block) (stays bool) {
	x := st.Owner.(*exchange)
	r := &c.res
	if x.ended.Load() {
		return true
	}
	if b.TooLarge {
		x.breakOff(&weft.Error{Code: weft.ResourceExhausted, Reason: weft.ReasonMetadataTooLarge, Message: "the header of the reply has more bytes than Limits.MaxMetadata allows"})
		return true
	}
	alone := !x.begun
	if !x.begun {
		if b.Status && r.http >= 100 && r.http < 200 && !b.End {
			return true // it announces the response
		}
		x.begun = true
		if e := r.notGRPC(b.End); e != nil {
			x.breakOff(e)
			return true
		}
		if r.encoding != "" {
			x.setRestore(compressorNamed(c.restore, r.encoding))
		}
	} else if !b.End {
		x.breakOff(&weft.Error{Code: weft.Internal, Message: "the server sent HEADERS within the reply"})
		return true
	}
	if len(r.pairs.all) > 0 {
		x.meta = append(x.meta, r.pairs.all...)
	}
	if !b.End {
		return true
	}
	e := r.failure(alone)
	switch {
	case e == nil && x.inbox == nil:
		e = x.incomplete()
	case e != nil && x.canceledLate(e):
		e.Code = weft.DeadlineExceeded
	}
	x.over = b.Over && !x.queued
	if x.ended.CompareAndSwap(false, true) { // before the reply is decoded: a caller that gives up later waits for that
		if e == nil && c.near.x == x && b.Open > 0 { // a lone caller is awake at once
			e = c.near.decode()
		} else {
			c.near.keep()
		}
		x.settle(e, x.meta)
	}
	if !b.Over {
		x.letGo(http2.NoError)
	}
	return true
}

// setRestore sets what the messages of the response are compressed with.
func (x *exchange) setRestore(z compress.Compressor) {
	if x.restore = z; z != nil && x.inbox != nil {
		x.inbox.setRestore(z)
	}
}

// letGo ends a stream on this side, if it has not ended: where the server has ended a call early it need not reset the stream.
func (x *exchange) letGo(code http2.ErrCode) {
	conn := x.c.conn
	conn.Lock()
	conn.ResetLocked(&x.st, code)
	conn.Unlock()
}

// incomplete tells what a unary reply lacks.
func (x *exchange) incomplete() *weft.Error {
	if x.framed != nil {
		return nil
	}
	if len(x.body) == 0 {
		return &weft.Error{Code: weft.Unimplemented, Outcome: weft.Executed, Message: "the server ended the call well and sent no reply"}
	}
	if len(x.body) < prefixSize || len(x.body)-prefixSize < sizeOf(x.body) {
		return &weft.Error{Code: weft.Internal, Outcome: weft.Executed, Message: "the server ended the call well and sent no whole reply"}
	}
	return nil
}

// breakOff ends a call in which the server did something wrong.
func (x *exchange) breakOff(e *weft.Error) {
	x.letGo(http2.Cancel)
	x.finish(e, nil)
}

// Data implements http2.Handler.
func (c *clientConn) Data(st *http2.Stream, p []byte, end bool) (stays bool) {
	x := st.Owner.(*exchange)
	switch {
	case x.ended.Load():
		return true
	case !x.begun:
		x.breakOff(&weft.Error{Code: weft.Internal, Message: "the server sent a reply without a header"})
		return true
	case x.inbox != nil:
		x.inbox.push(p, false)
	case c.near.stays(x, p):
	case !c.gather(x, p, end):
		return true
	}
	if end {
		x.breakOff(&weft.Error{Code: weft.Internal, Message: "the server ended the call without trailers"})
	}
	return true
}

// gather takes a piece of a unary reply. It returns false if that has ended the call.
func (c *clientConn) gather(x *exchange, p []byte, end bool) bool {
	c.near.keep()
	x.body = append(x.body, p...)
	if len(x.body) >= prefixSize {
		if n := sizeOf(x.body); n > c.limits.MaxMessage {
			e := tooLong(n, theClient, c.limits.MaxMessage)
			e.Outcome = weft.Executed
			x.breakOff(e)
			return false
		} else if len(x.body)-prefixSize > n {
			x.breakOff(&weft.Error{Code: weft.Unimplemented, Outcome: weft.Executed, Message: "the server sent more than one reply to a unary call"})
			return false
		}
	}
	if x.owed += len(p); x.owed >= small && !end {
		c.conn.GiveLater(&x.st, x.owed)
		x.owed = 0
	}
	return true
}

// Closed implements http2.Handler.
func (c *clientConn) Closed(st *http2.Stream, why *http2.Ending) {
	x := st.Owner.(*exchange)
	e := endingError(why)
	if why.Reset && x.canceledLate(e) {
		e.Code, e.Message = weft.DeadlineExceeded, "the server reset the stream at the call's deadline"
	}
	x.finish(e, nil)
}

// canceledLate reports whether the server says Canceled of a call whose deadline has passed. grpc-go's server resets such a call, or its
// handler answers so, and either may be read before the caller's own timer has fired.
func (x *exchange) canceledLate(e *weft.Error) bool {
	return e.Code == weft.Canceled && !x.due.IsZero() && !time.Now().Before(x.due)
}
