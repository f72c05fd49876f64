package thrift

import (
	"context"
	"encoding/binary"
	"errors"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/compress"
	"github.com/weftrpc/weft/door/thrift/internal/header"
	"github.com/weftrpc/weft/door/thrift/internal/plan"
	"github.com/weftrpc/weft/door/thrift/internal/protocol"
)

// call is one call that has come in. It implements weft.Inbound.
type call struct {
	weft.DoorCall
	s         *serverConn
	route     *route
	seq       int32
	dialect   protocol.Dialect
	header    *header.Header // of THeader; nil: there is none
	args      []byte
	packed    int // args is a message that THeader has compressed, and the arguments stand behind so many of its bytes; 0: it is not
	oneway    bool
	unordered bool // its reply may go out before those of calls before it
	later     bool // the goroutine that reads runs it, and has its reply written afterwards

	turn    *turn // nil: its reply is unordered
	size    int   // of the reply
	dropped bool  // its reply was dropped, since too many wait for room
}

// Stalled implements jobs.Call.
func (x *call) Stalled() { x.route.found.Stalled() }

// Alone implements jobs.Call. The calls of this door do not run together.
func (x *call) Alone() {}

// Decode implements weft.Inbound.
func (x *call) Decode(v any) error {
	if x.packed > 0 {
		if err := x.restore(); err != nil {
			return err
		}
	}
	return x.DecodeInTurn(len(x.args), func() error { return x.decode(v) })
}

// restore undoes the compression of a large message.
func (x *call) restore() error {
	b, err := x.Restoring(header.Zlib{}).Decompress(nil, x.args, x.s.mostFrame())
	if errors.Is(err, compress.ErrTooLarge) || err == nil && len(b)-x.packed > x.s.limits.MaxMessage {
		return x.s.tooLarge("too many")
	}
	if err == nil {
		x.args, x.packed = b[x.packed:], 0
	}
	return err
}

func (x *call) decode(v any) (err error) {
	args, armored := x.args, x.dialect.Form == protocol.JSON
	if armored {
		if args, err = protocol.FromJSON(args, x.s.limits.MaxMessage); err != nil {
			return err
		}
	}
	t := x.s.door.getTools()
	defer x.s.door.putTools(t)
	t.r.Reset(args, x.dialect.Form == protocol.Compact)
	t.r.Armored = armored
	return x.route.ReadArgs(&t.r, v)
}

// Reply implements weft.Inbound.
func (x *call) Reply(v any, m weft.Metadata) error {
	s := x.s
	var over bool // nothing can be sent
	var err error
	switch {
	case x.oneway:
		s.out.leave()
		return nil
	case x.unordered:
		_, err = x.awaitTurn(nil)
		if err == nil {
			defer s.Replies().GiveTurn()
		}
		over = s.out.ended()
	default:
		over, err = x.awaitOrder()
	}
	if err != nil {
		return err
	}
	if over {
		s.out.lose(x)
		return nil
	}
	t := s.door.getTools()
	body := 0
	err = x.encode(t, protocol.Reply, m, nil, func(w *protocol.Writer) error {
		from := len(w.Buf)
		err := x.route.WriteResult(w, v)
		body = len(w.Buf) - from
		return err
	})
	if err != nil {
		s.door.putTools(t)
		return weft.Errorf(weft.Internal, "encode the reply: %w", err).WithReason(weft.ReasonEncode)
	}
	if limit := s.limits.MaxMessage; body > limit {
		s.door.putTools(t)
		return weft.Errorf(weft.ResourceExhausted, "the reply has %d bytes, Limits.MaxMessage of the server allows %d", body, limit).
			WithReason(weft.ReasonMessageTooLarge)
	}
	x.Encoded(body)
	x.size = body
	s.web.tell(m, nil)
	s.out.deliver(x, t)
	return nil
}

// awaitTurn is AwaitTurn of a reply whose length is not known. It notes whether the reply is dropped.
func (x *call) awaitTurn(next <-chan struct{}) (taken bool, err error) {
	if taken, err = x.AwaitTurn(0, next); err != nil {
		e, ok := errors.AsType[*weft.Error](err)
		x.dropped = ok && e.Reason == weft.ReasonSlowReader
	}
	return taken, err
}

// awaitOrder waits until the reply may be encoded: when it is the next one, or few of those behind that are encoded. The turn
// that it takes in the second case is given back when the reply has been appended to what waits to be written. over: nothing can be sent.
func (x *call) awaitOrder() (over bool, err error) {
	first, over := x.s.out.await(x.turn)
	if first != nil {
		x.turn.taken, err = x.awaitTurn(first)
		over = x.s.out.ended()
	}
	return over, err
}

// Bytes implements weft.InboundSizer.
func (x *call) Bytes() (request, reply int) { return 0, x.size }

// encode makes a message in t.
func (x *call) encode(t *tools, k protocol.Kind, m weft.Metadata, more []string, body func(w *protocol.Writer) error) error {
	message := func(b []byte) ([]byte, error) {
		b = protocol.AppendHead(b, x.dialect.Form, x.route.bare, k, x.seq)
		if x.dialect.Form == protocol.JSON {
			t.w.Reset(nil, false)
			t.w.Armored = true
			if err := body(&t.w); err != nil {
				return b, err
			}
			b, err := protocol.AppendJSON(b, t.w.Buf)
			return append(b, ']'), err
		}
		t.w.Reset(b, x.dialect.Form == protocol.Compact)
		err := body(&t.w)
		return t.w.Buf, err
	}
	b := t.w.Buf[:0]
	var err error
	switch x.dialect.Framing {
	case protocol.Unframed:
		b, err = message(b)
	case protocol.Framed:
		if b, err = message(append(b, 0, 0, 0, 0)); err == nil {
			binary.BigEndian.PutUint32(b, uint32(len(b)-4))
		}
	case protocol.Headers:
		h := header.Header{Flags: x.header.Flags, Seq: x.header.Seq, Compact: x.header.Compact, Zlib: x.header.Zlib, Pairs: more}
		for k, v := range m.All() {
			h.Pairs = append(h.Pairs, k, v)
		}
		b, err = h.Append(b, message)
	}
	t.w.Buf = b
	return err
}

// Fail implements weft.Inbound.
func (x *call) Fail(e *weft.Error, m weft.Metadata) {
	if x.oneway {
		x.s.out.leave()
		return
	}
	x.s.web.tell(m, e)
	more := []string{header.Code, e.Code.String(), header.Outcome, e.Outcome.String()}
	if e.Reason != "" {
		more = append(more, header.Reason, e.Reason)
	}
	if thrown := thrownOf(e); thrown != nil {
		t := x.s.door.getTools()
		err := x.encode(t, protocol.Reply, m, more, func(w *protocol.Writer) error { return plan.WriteThrown(w, thrown) })
		if err == nil {
			x.s.out.deliver(x, t)
			return
		}
		x.s.door.putTools(t)
	}
	code, text := exceptionOf(e)
	for k, v := range m.All() {
		more = append(more, k, v)
	}
	x.failAs(code, text, more)
}

// failAs sends a TApplicationException.
func (x *call) failAs(code int32, text string, pairs []string) {
	t := x.s.door.getTools()
	body := func(w *protocol.Writer) error {
		writeException(w, code, text)
		return nil
	}
	if x.encode(t, protocol.Exception, weft.Metadata{}, pairs, body) != nil { // the header is too large
		_ = x.encode(t, protocol.Exception, weft.Metadata{}, nil, body) // this one is not
	}
	x.s.out.deliver(x, t)
}

// Stream is never called: no Head of this door opens a stream.
func (x *call) Stream(context.Context) weft.RawStream { return nil }
