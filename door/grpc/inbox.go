package grpc

import (
	"context"

	"github.com/weftrpc/weft"
)

// inbox is the server's end of a streaming call.
type inbox struct {
	mailbox
	x    *call
	ctx  context.Context
	stop func() bool // the watch over ctx; of the handler's goroutine
}

// stream begins a streaming call.
func (s *serverConn) stream(x *call, end bool) {
	in := &inbox{x: x}
	in.mailbox = mailbox{side: theServer, limit: s.limits.MaxMessage, alone: x.route.kind == weft.ServerStream, restore: x.restore, ended: end,
		hold: func(n int) bool { return s.held.Add(int64(n)) <= int64(s.limits.MaxCallBytes) },
		give: func(n int, later bool) {
			if later {
				s.conn.GiveLater(&x.st, n)
			} else {
				s.conn.Give(&x.st, n)
			}
		}}
	in.init()
	x.in = in
	if !x.start(0) {
		return
	}
	s.Go(func() {
		defer in.over()
		x.Run()
	})
}

// serve begins the server's end, on the handler's goroutine.
func (in *inbox) serve(ctx context.Context) weft.RawStream {
	in.ctx = ctx
	in.stop = context.AfterFunc(ctx, func() {
		in.wake()
		conn := in.x.c.conn
		conn.Lock()
		conn.WakeLocked()
		conn.Unlock()
	})
	return in
}

// over ends what serve has begun, when the handler has returned.
func (in *inbox) over() {
	in.fail(weft.Errorf(weft.Canceled, "the call has ended"))
	if in.stop != nil {
		in.stop()
	}
}

// Context implements weft.RawStream.
func (in *inbox) Context() context.Context { return in.ctx }

// Recv implements weft.RawStream.
func (in *inbox) Recv(msg any) error {
	return in.receive(in.ctx, func(b []byte) error {
		if err := in.x.replies.codec.Decode(b, msg); err != nil {
			return weft.Errorf(weft.InvalidArgument, "decode a message with codec %s: %w", in.x.replies.name, err).WithReason(weft.ReasonDecode)
		}
		return nil
	})
}

// Send implements weft.RawStream.
func (in *inbox) Send(msg any) error {
	x := in.x
	s := x.c
	b, err := appendMessage(nil, x.replies.codec, msg, x.compress, s.limits.CompressAbove, theServer, s.limits.MaxMessage)
	if err != nil {
		return err
	}
	s.conn.Lock()
	s.conn.AwaitSentLocked(in.ctx, &x.st)
	s.conn.AwaitRoomLocked(in.ctx)
	if err := in.ctx.Err(); err != nil || !s.conn.OpenLocked(&x.st) {
		s.conn.Unlock()
		if err == nil {
			err = context.Canceled
		}
		return weft.Errorf(weft.CodeOf(err), "%w", err)
	}
	x.beginLocked(x.ReplyMetadata())
	if s.conn.FitsLocked(&x.st, len(b)) {
		s.conn.StartDataLocked(&x.st, len(b), false)
		s.conn.SetBufferLocked(append(s.conn.BufferLocked(), b...))
	} else {
		s.conn.QueueDataLocked(&x.st, b, false, nil)
	}
	s.conn.FlushAndUnlock(s.conn.StreamsLocked() > 1)
	return nil
}

// CloseSend implements weft.RawStream.
func (in *inbox) CloseSend() error { return nil }

// Close implements weft.RawStream.
func (in *inbox) Close() error { return nil }
