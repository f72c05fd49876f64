package grpc

import (
	"context"
	"io"
	"sync"

	"github.com/weftrpc/weft"
)

// inbox holds the messages of a streaming call that have come and were not received. It is
// the server's end of the call as well.
type inbox struct {
	x   *call
	ctx context.Context

	mu      sync.Mutex
	more    sync.Cond
	buf     []byte // framed messages
	owed    int    // bytes of buf that the client may not send again yet
	whole   bool   // buf begins with a whole message
	ended   bool   // no more will come
	err     error
	stopped func() bool
	taken   int // messages
}

// stream begins a streaming call.
func (s *serverConn) stream(x *call, end bool) {
	x.in = &inbox{x: x, ended: end}
	x.in.more.L = &x.in.mu
	if !x.start(0) {
		return
	}
	s.Go(func() {
		defer x.in.stop()
		x.Run()
	})
}

// push takes a piece of the body, on the goroutine that reads.
func (in *inbox) push(p []byte, end bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	s := in.x.c
	if in.err != nil || in.ended {
		return
	}
	s.held.Add(int64(len(p)))
	in.buf = append(in.buf, p...)
	in.owed += len(p)
	in.ended = end
	in.lookLocked()
	if s.held.Load() > int64(s.limits.MaxCallBytes) {
		in.failLocked(weft.Errorf(weft.ResourceExhausted, "the streams of this connection hold too many bytes that were not received (the server's Limits.MaxCallBytes)").
			WithReason(weft.ReasonTooManyBytes))
		return
	}
	if !in.whole && !end && in.owed > 0 {
		// The rest of the message must have room, however long it is.
		s.conn.GiveLater(&in.x.st, in.owed)
		in.owed = 0
	}
	in.more.Broadcast()
}

// lookLocked finds out whether the first message is whole, and what is wrong with it.
func (in *inbox) lookLocked() {
	in.whole = false
	if len(in.buf) < prefixSize {
		if in.ended && len(in.buf) > 0 {
			in.failLocked(weft.Errorf(weft.Internal, "the stream ended within a message"))
		}
		return
	}
	n := sizeOf(in.buf)
	switch limit := in.x.c.limits.MaxMessage; {
	case n > limit:
		in.failLocked(tooLong(n, limit))
	case in.x.checkFlag(in.buf[0]) != nil:
		in.failLocked(in.x.checkFlag(in.buf[0]))
	case len(in.buf)-prefixSize >= n:
		in.whole = true
	case in.ended:
		in.failLocked(weft.Errorf(weft.Internal, "the stream ended within a message"))
	}
}

func (in *inbox) failLocked(err error) {
	if in.err == nil {
		in.err = err
		in.x.c.held.Add(-int64(len(in.buf)))
		in.buf, in.whole = nil, false
		in.more.Broadcast()
	}
}

func (in *inbox) close(err error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.failLocked(err)
}

// serve is the server's end of the call.
func (in *inbox) serve(ctx context.Context) weft.RawStream {
	in.ctx = ctx
	stop := context.AfterFunc(ctx, func() {
		in.mu.Lock()
		in.more.Broadcast()
		in.mu.Unlock()
		conn := in.x.c.conn
		conn.Lock()
		conn.WakeLocked()
		conn.Unlock()
	})
	in.mu.Lock()
	in.stopped = stop
	in.mu.Unlock()
	return in
}

// stop ends what serve has begun, when the handler has returned.
func (in *inbox) stop() {
	in.close(weft.Errorf(weft.Canceled, "the call has ended"))
	in.mu.Lock()
	stop := in.stopped
	in.mu.Unlock()
	if stop != nil {
		stop()
	}
}

// Context implements weft.RawStream.
func (in *inbox) Context() context.Context { return in.ctx }

// Recv implements weft.RawStream.
func (in *inbox) Recv(msg any) error {
	b, compressed, err := in.next()
	if err != nil {
		return err
	}
	defer in.x.c.held.Add(-int64(len(b) + prefixSize))
	if compressed {
		if b, err = restored(in.x.restore, b, in.x.c.limits.MaxMessage); err != nil {
			return err
		}
	}
	if err := in.x.replies.codec.Decode(b, msg); err != nil {
		return weft.Errorf(weft.InvalidArgument, "decode a message with codec %s: %w", in.x.replies.name, err).WithReason(weft.ReasonDecode)
	}
	return nil
}

// next waits for a message and takes it out.
func (in *inbox) next() (b []byte, compressed bool, err error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	alone := in.x.route.kind == weft.ServerStream // the client sends one message and no more
	for in.err == nil && in.ctx.Err() == nil && !(in.whole && (!alone || in.ended || len(in.buf) > prefixSize+sizeOf(in.buf))) && !(in.ended && len(in.buf) == 0) {
		in.more.Wait()
	}
	switch {
	case in.err != nil:
		return nil, false, in.err
	case in.ctx.Err() != nil:
		return nil, false, weft.Errorf(weft.CodeOf(in.ctx.Err()), "%w", in.ctx.Err())
	case !in.whole:
		return nil, false, io.EOF
	}
	n := prefixSize + sizeOf(in.buf)
	if alone && len(in.buf) > n {
		in.failLocked(weft.Errorf(weft.Internal, "more than one message came for a method that takes one"))
		return nil, false, in.err
	}
	compressed, b = in.buf[0] == 1, in.buf[prefixSize:n:n]
	if in.buf = in.buf[n:]; len(in.buf) == 0 {
		in.buf = nil
	}
	in.lookLocked()
	if give := min(n, in.owed); give > 0 && !in.ended {
		in.owed -= give
		in.mu.Unlock()
		in.x.c.conn.Give(&in.x.st, give)
		in.mu.Lock()
	}
	return b, compressed, nil
}

// Send implements weft.RawStream.
func (in *inbox) Send(msg any) error {
	x := in.x
	s := x.c
	b, err := appendMessage(nil, x.replies.codec, msg, x.compress, s.limits.CompressAbove, s.limits.MaxMessage)
	if err != nil {
		return err
	}
	s.conn.Lock()
	s.conn.AwaitSentLocked(in.ctx, &x.st)
	s.conn.AwaitRoomLocked()
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
