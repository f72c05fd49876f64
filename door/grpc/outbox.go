package grpc

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/compress"
)

// outbox is the client's end of a streaming call.
type outbox struct {
	mailbox
	x    *exchange
	ctx  context.Context
	call *weft.WireCall
	stop func() bool
	told sync.Once // the metadata of the reply
	gone atomic.Bool
	sent atomic.Int64 // bytes of messages
}

// OpenStream implements weft.WireStreamer.
func (c *clientConn) OpenStream(ctx context.Context, w *weft.WireCall) (weft.RawStream, error) {
	if err := checkMetadata(w.Metadata); err != nil {
		return nil, notSent(weft.InvalidArgument, "", "%w", err)
	}
	x := &exchange{c: c}
	x.due, _ = ctx.Deadline()
	o := &outbox{x: x, ctx: ctx, call: w}
	o.mailbox = mailbox{side: theClient, limit: c.limits.MaxMessage, hold: func(int) bool { return true },
		give: func(n int, later bool) {
			if later {
				c.conn.GiveLater(&x.st, n)
			} else {
				c.conn.Give(&x.st, n)
			}
		}}
	o.init()
	x.st.Owner, x.st.Apart, x.inbox = x, true, o
	c.conn.Lock()
	if err := c.openLocked(ctx, x); err != nil {
		c.conn.Unlock()
		return nil, err
	}
	at := c.conn.StartHeadersLocked(&x.st, false)
	c.headLocked(w, timeLeft(ctx))
	c.conn.EndHeadersLocked(at)
	c.conn.FlushSoonAndUnlock(c.conn.StreamsLocked() > 1)
	o.stop = context.AfterFunc(ctx, func() {
		o.leave(weft.Errorf(weft.CodeOf(ctx.Err()), "%w before the call had ended", ctx.Err()))
	})
	return o, nil
}

// leave ends the call on this side.
func (o *outbox) leave(why *weft.Error) {
	if o.x.ended.CompareAndSwap(false, true) {
		o.fail(why)
		o.x.c.reset(&o.x.st)
	}
	conn := o.x.c.conn
	conn.Lock()
	conn.WakeLocked(&o.x.st)
	conn.Unlock()
}

// finished ends the call on the server's word, or with the connection.
func (o *outbox) finished(err *weft.Error) {
	o.gone.Store(true)
	if err == nil {
		o.finish(nil)
	} else {
		o.finish(err)
	}
}

func (o *outbox) setRestore(z compress.Compressor) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.restore = z
}

// Context implements weft.RawStream.
func (o *outbox) Context() context.Context { return o.ctx }

// Send implements weft.RawStream.
func (o *outbox) Send(msg any) error {
	c, st := o.x.c, &o.x.st
	b, err := appendMessage(nil, o.call.Codec, msg, c.with, c.limits.CompressAbove, theClient, c.limits.MaxMessage)
	if err != nil {
		e, _ := errors.AsType[*weft.Error](err)
		o.leave(e)
		return o.over(e)
	}
	c.conn.Lock()
	c.conn.AwaitSentLocked(o.ctx, st)
	c.conn.AwaitRoomSoonLocked(o.ctx)
	if o.ctx.Err() != nil || !c.conn.OpenLocked(st) {
		c.conn.Unlock()
		return o.ending()
	}
	if c.conn.FitsLocked(st, len(b)) {
		c.conn.StartDataLocked(st, len(b), false)
		c.conn.SetBufferLocked(append(c.conn.BufferLocked(), b...))
	} else {
		c.conn.QueueDataLocked(st, b, false, nil)
	}
	o.sent.Add(int64(len(b) - prefixSize))
	c.conn.FlushSoonAndUnlock(c.conn.StreamsLocked() > 1)
	return nil
}

// ending is why nothing more can be sent: io.EOF if the call has ended well.
func (o *outbox) ending() error {
	o.mu.Lock()
	err := o.err
	if err == nil {
		err = o.last
	}
	o.mu.Unlock()
	switch {
	case err == nil && o.ctx.Err() != nil:
		err = weft.Errorf(weft.CodeOf(o.ctx.Err()), "%w before the call had ended", o.ctx.Err())
	case err == nil:
		return io.EOF
	}
	return o.over(err)
}

// over notes the end of the call for its caller.
func (o *outbox) over(err error) error {
	o.told.Do(func() {
		o.stop()
		if o.gone.Load() && len(o.x.result.reply) > 0 {
			o.call.ReplyMetadata = weft.NewMetadata(o.x.result.reply...)
		}
	})
	return err
}

// Recv implements weft.RawStream.
func (o *outbox) Recv(msg any) error {
	err := o.receive(o.ctx, func(b []byte) error {
		if err := o.call.Codec.Decode(b, msg); err != nil {
			e := weft.Errorf(weft.Internal, "decode a message: %w", err).WithReason(weft.ReasonDecode)
			o.leave(e)
			return e
		}
		return nil
	})
	if err == nil {
		return nil
	}
	return o.over(err)
}

// Bytes implements weft.WireStreamSizer.
func (o *outbox) Bytes() (sent, received int) { return int(o.sent.Load()), o.bytes() }

// CloseSend implements weft.RawStream.
func (o *outbox) CloseSend() error {
	c, st := o.x.c, &o.x.st
	c.conn.Lock()
	if o.ctx.Err() != nil || !c.conn.OpenLocked(st) {
		c.conn.Unlock()
		return nil // Recv tells why
	}
	c.conn.QueueDataLocked(st, nil, true, nil)
	c.conn.FlushSoonAndUnlock(c.conn.StreamsLocked() > 1)
	return nil
}

// Close implements weft.RawStream.
func (o *outbox) Close() error {
	o.leave(&weft.Error{Code: weft.Canceled, Message: "the stream was closed by the caller"})
	_ = o.over(nil)
	return nil
}
