package grpc

import (
	"context"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/grpc/internal/pace"
	"github.com/weftrpc/weft/internal/session"
)

// inbox is the server's end of a streaming call.
type inbox struct {
	mailbox
	x    *call
	ctx  context.Context
	stop func() bool // the watch over ctx; of the handler's goroutine
	pace pace.Pace   // of what the handler sends
	sent bool        // the header was, for the handler's goroutine
}

// stream begins a streaming call.
func (s *serverConn) stream(x *call, end bool) {
	in := &inbox{x: x}
	in.mailbox = mailbox{side: theServer, limit: s.limits.MaxMessage, alone: x.route.Kind == weft.ServerStream, ended: end,
		hold: s.hold,
		give: func(n int, later bool) {
			if later {
				s.conn.GiveLater(&x.st, n)
			} else {
				s.conn.Give(&x.st, n)
			}
		}}
	if x.restore != nil {
		in.restore = x.Restoring(x.restore)
	}
	in.init()
	x.in, x.st.Apart = in, true
	if !x.start(0, false) {
		return
	}
	s.release(x)
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
		conn.WakeLocked(&in.x.st)
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
	return in.receive(in.ctx, func(b []byte) error { return in.x.DecodeBody(in.x.replies.codec, b, msg) })
}

// Send implements weft.RawStream.
func (in *inbox) Send(msg any) error {
	x := in.x
	s := x.c
	var leading weft.Metadata
	if !in.sent {
		leading = x.divide(x.ReplyMetadata()).leading
	}
	size := 0 // with the prefix, as far as it is known
	if z := x.replies.sizer; z != nil && x.compress == nil {
		n, ok := z.Size(msg)
		if ok && n <= s.limits.MaxMessage {
			size = prefixSize + n
		}
		if size > 0 && n <= small {
			s.conn.Lock()
			s.conn.AwaitTurnLocked(in.ctx, &x.st, size)
			if err := in.openOrUnlock(); err != nil {
				return err
			}
			x.beginLocked(leading)
			in.sent = true
			if s.conn.FitsLocked(&x.st, prefixSize+n) {
				err := x.putLocked(msg, n)
				in.flushAndUnlock()
				return err
			}
			s.conn.Unlock()
		}
	}
	// Nothing is encoded before its turn: a client that does not open its windows would have one message of each stream kept.
	s.conn.Lock()
	s.conn.TakeTurnLocked(in.ctx, &x.st, size)
	defer s.conn.Encoding.Give()
	if err := in.openOrUnlock(); err != nil {
		return err
	}
	s.conn.Unlock()
	b, err := appendMessage(nil, x.replies.codec, msg, x.compress, s.limits.CompressAbove, theServer, s.limits.MaxMessage)
	if err != nil {
		return err
	}
	s.conn.Lock()
	s.conn.AwaitRoomLocked(in.ctx) // and not for the windows of this stream: it would keep the turn of others
	if err := in.openOrUnlock(); err != nil {
		return err
	}
	x.size.Add(int64(len(b) - prefixSize))
	x.beginLocked(leading)
	in.sent = true
	if s.conn.FitsLocked(&x.st, len(b)) {
		s.conn.StartDataLocked(&x.st, len(b), false)
		s.conn.SetBufferLocked(append(s.conn.BufferLocked(), b...))
	} else {
		s.conn.QueueDataLocked(&x.st, b, false, nil)
	}
	in.flushAndUnlock()
	return nil
}

// flushAndUnlock has a message written: by another goroutine if more are likely to come at once, so that they leave together.
func (in *inbox) flushAndUnlock() {
	conn := in.x.c.conn
	if in.pace.Next(session.Nanos()) {
		conn.FlushBehindAndUnlock()
		return
	}
	conn.FlushAndUnlock(conn.StreamsLocked() > 1)
}

// openOrUnlock is nil if a message can be sent. After an error the lock is not held.
func (in *inbox) openOrUnlock() error {
	conn := in.x.c.conn
	err := in.ctx.Err()
	if err == nil && conn.OpenLocked(&in.x.st) {
		return nil
	}
	conn.Unlock()
	if err == nil {
		err = context.Canceled
	}
	return weft.Errorf(weft.CodeOf(err), "%w", err)
}

// CloseSend implements weft.RawStream.
func (in *inbox) CloseSend() error { return nil }

// Close implements weft.RawStream.
func (in *inbox) Close() error { return nil }
