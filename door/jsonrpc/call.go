package jsonrpc

import (
	"context"
	"errors"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/http"
	"github.com/weftrpc/weft/door/internal/errtext"
	"github.com/weftrpc/weft/door/jsonrpc/internal/envelope"
	"github.com/weftrpc/weft/internal/buffer"
)

// call is one call. It implements weft.Inbound.
type call struct {
	weft.DoorCall
	s      *server
	to     sink
	r      envelope.Request
	method *weft.DoorMethod // nil: there is none
	pace   pace
	size   int // of the reply
}

// pace is when an answer is written.
type pace uint8

const (
	alone    pace = iota // at once, when there is room
	together             // soon, by the goroutine that answers, when there is room
	dropped              // at once, also without room: it is the error of a reply that was dropped
)

// sink takes what answers a value.
type sink interface {
	// answer is called once, with what is answered, or nil; b is not kept. It waits while the peer does not read, unless
	// p is dropped.
	answer(b []byte, p pace)
}

// Stalled implements jobs.Call.
func (x *call) Stalled() { x.method.Stalled() }

// Alone implements jobs.Call.
func (x *call) Alone() { x.pace = alone }

// Decode implements weft.Inbound.
func (x *call) Decode(v any) error {
	d := x.s.d
	return d.decode(&x.r, v, func(body []byte, v any) error { return x.DecodeBody(d.codec, body, v) })
}

// Reply implements weft.Inbound.
func (x *call) Reply(v any, m weft.Metadata) error {
	if x.r.Notification() {
		x.to.answer(nil, x.pace)
		return nil
	}
	if _, err := x.AwaitTurn(0, nil); err != nil {
		if e, ok := errors.AsType[*weft.Error](err); ok && e.Reason == weft.ReasonSlowReader {
			x.pace = dropped
		}
		return err
	}
	defer x.s.Replies().GiveTurn()
	d := x.s.d
	buf := buffer.Take()
	defer buf.ReleaseSmall()
	b := envelope.BeginResult(buf.B, &x.r)
	from := len(b)
	b, err := d.codec.Append(b, v)
	buf.B = b // which may have grown
	n, limit := len(b)-from, x.s.Limits().MaxMessage
	switch {
	case err != nil:
		return weft.Errorf(weft.Internal, "encode the reply: %w", err).WithReason(weft.ReasonEncode)
	case n > limit:
		return weft.Errorf(weft.ResourceExhausted, "the reply has %d bytes, Limits.MaxMessage of the server allows %d", n, limit).
			WithReason(weft.ReasonMessageTooLarge)
	case int64(n)+x.s.held.Load() > 4*int64(limit):
		return weft.Errorf(weft.ResourceExhausted, "the replies of batches that are not complete have more than four times Limits.MaxMessage of the server").
			WithReason(weft.ReasonTooManyBytes)
	}
	buf.B = envelope.EndResult(b, &x.r)
	x.Encoded(n)
	x.size = n
	x.setMetadata(m)
	x.s.Hold(n) // until it counts with what waits to be written
	x.to.answer(buf.B, x.pace)
	x.s.Hold(-n)
	return nil
}

// Bytes implements weft.InboundSizer.
func (x *call) Bytes() (request, reply int) { return 0, x.size }

// maxNamed is how many bytes the name of a method has that an error repeats.
const maxNamed = 255

// Fail implements weft.Inbound.
func (x *call) Fail(e *weft.Error, m weft.Metadata) {
	if x.r.Notification() {
		x.to.answer(nil, x.pace)
		return
	}
	named := *e
	if named.Method = x.r.Method; len(named.Method) > maxNamed {
		named.Method, named.Reason = "", ""
	}
	x.setMetadata(m)
	x.to.answer(envelope.Error(&x.r, failureOf(e), errtext.Of(&named)), x.pace)
}

// setMetadata puts that of a reply into the header of the answer. Only the answer to one call by POST has a place for it.
func (x *call) setMetadata(m weft.Metadata) {
	if p, ok := x.to.(*post); ok {
		http.SetMetadata(p.w.Header(), m)
	}
}

// Stream is never called: no Head of this door opens a stream.
func (x *call) Stream(context.Context) weft.RawStream { return nil }
