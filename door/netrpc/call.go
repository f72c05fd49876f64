package netrpc

import (
	"context"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/internal/errtext"
	"github.com/weftrpc/weft/door/netrpc/internal/header"
)

// call is one call.
type call struct {
	weft.DoorCall
	s      *serverConn
	seq    uint64
	name   string
	method *weft.DoorMethod // nil: there is none
	body   []byte
	batch  bool // the goroutine that runs it writes later
	size   int  // of the reply
}

// Stalled implements jobs.Call.
func (x *call) Stalled() { x.method.Stalled() }

// Alone implements jobs.Call.
func (x *call) Alone() { x.batch = false }

// Decode implements weft.Inbound.
func (x *call) Decode(v any) error { return x.s.codec.Decode(x.body, v) }

// maxEncoded is how many replies of a connection may be encoded and wait for room, which a peer
// that does not read could otherwise make as many as its calls.
const maxEncoded = 16

// Reply implements weft.Inbound.
func (x *call) Reply(v any, _ weft.Metadata) error {
	s := x.s
	s.turns.Take(maxEncoded)
	defer s.turns.Give()
	if s.out.Failure() != nil { // nothing can be sent
		s.open.Leave()
		return nil
	}
	body, err := s.codec.Append(nil, v)
	if err != nil {
		return weft.Errorf(weft.Internal, "encode the reply: %w", err).WithReason(weft.ReasonEncode)
	}
	if limit := s.Limits().MaxMessage; len(body) > limit {
		return weft.Errorf(weft.ResourceExhausted, "the reply has %d bytes, Limits.MaxMessage of the server allows %d", len(body), limit).
			WithReason(weft.ReasonMessageTooLarge)
	}
	x.size = len(body)
	x.send("", body)
	s.open.Leave()
	return nil
}

// Bytes implements weft.InboundSizer.
func (x *call) Bytes() (request, reply int) { return 0, x.size }

// Fail implements weft.Inbound.
func (x *call) Fail(e *weft.Error, _ weft.Metadata) {
	x.respond(e)
	x.s.open.Leave()
}

// respond sends an error.
func (x *call) respond(e *weft.Error) {
	named := *e
	named.Method = x.name
	body, err := x.s.codec.Append(nil, struct{}{})
	if err == nil {
		x.send(errtext.Of(&named), body)
	}
}

// send writes a response. An error of it is that of the connection, which reading finds.
func (x *call) send(text string, body []byte) {
	h := header.Response{ServiceMethod: x.name, Seq: x.seq, Error: text}
	head, err := x.s.codec.Append(nil, &h)
	switch {
	case err != nil:
	case x.batch:
		_ = x.s.out.Add(head, body)
	default:
		_ = x.s.out.Send(head, body)
	}
}

// Stream is never called: no Head of this door opens a stream.
func (x *call) Stream(context.Context) weft.RawStream { return nil }
