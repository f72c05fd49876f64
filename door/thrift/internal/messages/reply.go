package messages

import (
	"errors"
	"fmt"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/thrift/internal/protocol"
)

// Reply is the answer to a call.
type Reply struct {
	Kind    protocol.Kind // protocol.Reply or protocol.Exception
	Seq     int32
	Body    []byte   // the struct of the result
	Pairs   []string // of THeader
	TooLong int      // how many bytes the reply has, if they are more than are allowed; it has no Body then

	compact bool
	armored bool // the body has been translated from the JSON protocol
}

// ErrReply is the error of bytes that are no reply.
var ErrReply = errors.New("the server sent what is no reply of Thrift, or one in another protocol or framing than the wire has: see thrift.WireConfig and thrift.HTTPConfig")

// Parse reads a reply without what stands before its message, whose struct may have limit bytes. The body is part of b
// unless it is of the JSON protocol.
func Parse(b []byte, limit int) (Reply, error) {
	p, n, form, err := parseHead(b)
	switch {
	case err != nil:
		return p, err
	case n == 0:
		return p, ErrReply
	case len(b)-n > limit:
		p.TooLong = len(b) - n
		return p, nil
	}
	p.compact, p.Body = form == protocol.Compact, b[n:]
	if form == protocol.JSON {
		p.armored = true
		p.Body, err = protocol.FromJSON(b[n:], limit)
	}
	return p, err
}

// ParseFramed is Parse of a reply with its length before it, if framed is true.
func ParseFramed(b []byte, framed bool, limit int) (Reply, error) {
	if framed {
		if len(b) < 4 || protocol.FrameSize(b) != len(b)-4 {
			return Reply{}, ErrReply
		}
		b = b[4:]
	}
	return Parse(b, limit)
}

// parseHead reads the beginning of a reply; n is 0 when it has not come as a whole.
func parseHead(b []byte) (p Reply, n int, form protocol.Form, err error) {
	if len(b) < 2 {
		return p, 0, form, nil
	}
	form, ok := protocol.FormOf(b)
	if !ok {
		return p, 0, form, ErrReply
	}
	h, n, err := protocol.ReadHead(b, form)
	if err == nil && n > 0 && h.Kind != protocol.Reply && h.Kind != protocol.Exception {
		err = fmt.Errorf("the server sent a message of the kind %d: %w", h.Kind, ErrReply)
	}
	p.Kind, p.Seq = h.Kind, h.Seq
	return p, n, form, err
}

// Reset makes r read the body.
func (p *Reply) Reset(r *protocol.Reader) {
	r.Reset(p.Body, p.compact)
	r.Armored = p.armored
}

// TooLongError is the error of a reply with more bytes than the client allows. An exception may say that the call was not run.
func (p *Reply) TooLongError(limit int) *weft.Error {
	what, outcome := "reply", weft.Executed
	if p.Kind == protocol.Exception {
		what, outcome = "exception", weft.OutcomeUnknown
	}
	e := weft.Errorf(weft.ResourceExhausted, "the %s has %d bytes, Limits.MaxMessage of the client allows %d", what, p.TooLong, limit).WithReason(weft.ReasonMessageTooLarge)
	e.Outcome = outcome
	return e
}
