package netrpc

import (
	"context"
	"errors"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/internal/errtext"
	"github.com/weftrpc/weft/door/netrpc/internal/header"
	"github.com/weftrpc/weft/internal/buffer"
)

// call is one call.
type call struct {
	weft.DoorCall
	s      *serverConn
	seq    uint64
	method *method
	body   []byte
	batch  bool // the goroutine that runs it writes later
	size   int  // of the reply

	dropped bool // its reply was dropped, since too many wait for room
}

// Stalled implements jobs.Call.
func (x *call) Stalled() { x.method.found.Stalled() }

// Alone implements jobs.Call.
func (x *call) Alone() { x.batch = false }

// Decode implements weft.Inbound.
func (x *call) Decode(v any) error { return x.DecodeBody(x.s.codec, x.body, v) }

// Reply implements weft.Inbound.
func (x *call) Reply(v any, _ weft.Metadata) error {
	s := x.s
	if _, err := x.AwaitTurn(0, nil); err != nil {
		e, ok := errors.AsType[*weft.Error](err)
		x.dropped = ok && e.Reason == weft.ReasonSlowReader
		return err
	}
	defer s.Replies().GiveTurn()
	if s.out.AwaitRoom() != nil { // nothing can be sent
		s.open.Leave()
		return nil
	}
	buf := buffer.Take()
	defer buf.ReleaseSmall()
	b := x.head(buf.B, "")
	at := len(b)
	b, err := s.codec.Append(b, v)
	buf.B = b // which may have grown
	if err != nil {
		return weft.Errorf(weft.Internal, "encode the reply: %w", err).WithReason(weft.ReasonEncode)
	}
	n := len(b) - at
	if limit := s.Limits().MaxMessage; n > limit {
		return weft.Errorf(weft.ResourceExhausted, "the reply has %d bytes, Limits.MaxMessage of the server allows %d", n, limit).
			WithReason(weft.ReasonMessageTooLarge)
	}
	x.Encoded(n)
	x.size = n
	s.Hold(n) // until it counts with what waits to be written
	if x.batch {
		_ = s.out.Add(b[:at], b[at:]) // an error is that of the connection, which reading finds
	} else {
		_ = s.out.Send(b[:at], b[at:]) // the same
	}
	s.Hold(-n)
	s.open.Leave()
	return nil
}

// head appends the header of the response to a buffer.
func (x *call) head(b []byte, text string) []byte {
	return x.s.door.responses.Append(b[:0], &header.Response{ServiceMethod: x.method.name, Seq: x.seq, Error: text})
}

// Bytes implements weft.InboundSizer.
func (x *call) Bytes() (request, reply int) { return 0, x.size }

// Fail implements weft.Inbound.
func (x *call) Fail(e *weft.Error, _ weft.Metadata) {
	x.respond(e)
	x.s.open.Leave()
}

// respond sends an error. It waits for room, unless the reply of the call was dropped because there is none.
func (x *call) respond(e *weft.Error) {
	named := *e
	named.Method = x.method.name
	head, out := x.head(nil, errtext.Of(&named)), x.s.out
	switch {
	case x.dropped:
		_ = out.Tell(head, x.s.door.empty) // an error is that of the connection, which reading finds
	case x.batch:
		_ = out.Add(head, x.s.door.empty)
	default:
		_ = out.Send(head, x.s.door.empty)
	}
}

// Stream is never called: no Head of this door opens a stream.
func (x *call) Stream(context.Context) weft.RawStream { return nil }
