package weft

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/weftrpc/weft/internal/session"
)

// TappedCall is a call that a server has answered, as the functions given to Server.Tap see it. It
// and all that it refers to are valid until the function returns, and must not be changed.
type TappedCall struct {
	Info     *CallInfo
	Context  context.Context // of the call: its metadata, principal and deadline
	Request  any             // a pointer; nil of a stream, and when it was not decoded
	Reply    any             // a pointer; nil of a stream, and of a call that failed
	Err      error           // nil when the call went well
	Began    time.Time       // when the request was read
	Duration time.Duration   // until it was answered
	// RequestSize and ReplySize are how many bytes the messages that came and those that were sent have on the
	// wire, compressed where they are: without headers, metadata and errors. A door may not count all.
	RequestSize, ReplySize int
	Received, Sent         int64 // messages of a stream
}

// tapped is a call that taps will see.
type tapped struct {
	TappedCall
	received, sent atomic.Int64
}

// Tap has f called for every call that the server has answered, until stop is called. A call that was refused before it reached a method,
// for its name or for overload, is not among them: see ServerStats.Refused. f is called on the goroutines that serve the calls,
// concurrently, before they go on to other calls: it must not wait. A call that is under way when stop is called may still be shown. While
// there is no tap, calls cost what they cost without this method.
func (s *Server) Tap(f func(*TappedCall)) (stop func()) {
	if f == nil {
		panic("weft: the function of Tap is nil")
	}
	return s.host.taps.Add(f)
}

// serveTapped is serve for a call that taps see.
func (a *arrival) serveTapped(all []*func(*TappedCall)) error {
	t := &tapped{TappedCall: TappedCall{Info: a.info, Context: a.ctx}}
	a.tapped = t
	err := a.serveAll()
	t.Duration = time.Duration(session.Nanos() - a.ctx.Received())
	t.Began = time.Now().Add(-t.Duration)
	t.Request, t.Received, t.Sent = a.req, t.received.Load(), t.sent.Load()
	t.RequestSize, t.ReplySize = a.sizes()
	for _, f := range all {
		a.h.fence.Run("the function of Tap", peerOf(a.ctx).Addr(), func() { (*f)(&t.TappedCall) })
	}
	return err
}

// sizes are how many bytes the messages of the call have on the wire, once it was answered.
func (a *arrival) sizes() (request, reply int) {
	in, ok := a.in.(native)
	if !ok {
		return a.in.(*answeredOnce).sizes(a.size)
	}
	if stream := in.r.Ctx.Stream(); stream != nil {
		reply, request = session.StreamBytes(stream)
		return request, reply
	}
	return a.size, in.r.Replied
}

// note notes how a call ended.
func (t *tapped) note(reply any, err error) {
	if t == nil {
		return
	}
	if t.Err = err; err == nil && !t.Info.Stream {
		t.Reply = reply
	}
}

// around counts the messages of a stream.
func (t *tapped) around(s RawStream) RawStream {
	if t == nil {
		return s
	}
	return &countedStream{s, t}
}

// countedStream counts the messages of a stream that is tapped.
type countedStream struct {
	RawStream
	t *tapped
}

func (c *countedStream) Send(msg any) error {
	err := c.RawStream.Send(msg)
	if err == nil {
		c.t.sent.Add(1)
	}
	return err
}

func (c *countedStream) Recv(msg any) error {
	err := c.RawStream.Recv(msg)
	if err == nil {
		c.t.received.Add(1)
	}
	return err
}
