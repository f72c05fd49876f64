package thrift

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/internal/combine"
	"github.com/weftrpc/weft/door/internal/pending"
	"github.com/weftrpc/weft/door/thrift/internal/header"
	"github.com/weftrpc/weft/door/thrift/internal/messages"
	"github.com/weftrpc/weft/door/thrift/internal/plan"
	"github.com/weftrpc/weft/door/thrift/internal/protocol"
)

// link is one connection to a server.
type link struct {
	*pending.Calls[messages.Reply]
	c     *clientConn
	out   *combine.Writer
	calls int           // that have no reply yet, under the lock of c
	sent  atomic.Uint64 // the largest number of a call
	limit int
}

func newLink(c *clientConn, conn net.Conn) *link {
	out := combine.New(conn, c.cfg.Limits.WriteBuffer, c.cfg.Limits.WriteTimeout, func(buf, message []byte) ([]byte, error) { return append(buf, message...), nil })
	return &link{Calls: pending.New[messages.Reply](conn, out), c: c, out: out, limit: c.cfg.Limits.MaxMessage}
}

// request is a call as it will be sent.
type request struct {
	messages.Request
	method *plan.Method
}

// request encodes the arguments of a call.
func (w *wire) request(call *weft.WireCall, limit int) (*request, error) {
	q := &request{method: w.method(call.Method)}
	q.Dialect = protocol.Dialect{Framing: w.cfg.Framing.kind(), Form: w.cfg.Protocol.form()}
	service, name := split(call.Method)
	if q.Name = name; w.cfg.Multiplexed {
		q.Name = service + ":" + name
	}
	var out protocol.Writer
	out.Reset(nil, w.cfg.Protocol == Compact)
	out.Armored = w.cfg.Protocol == JSON
	if err := q.method.WriteArgs(&out, call.Args); err != nil {
		return nil, pending.NotSent(weft.InvalidArgument, weft.ReasonEncode, "encode the request: %w", err)
	}
	if q.Body = out.Buf; len(q.Body) > limit {
		return nil, pending.NotSent(weft.ResourceExhausted, weft.ReasonMessageTooLarge, "the request has %d bytes, Limits.MaxMessage of the client allows %d", len(q.Body), limit)
	}
	if w.cfg.Framing == THeader {
		for k, v := range call.Metadata.All() {
			if !strings.HasPrefix(k, header.Reserved) {
				q.Pairs = append(q.Pairs, k, v)
			}
		}
	}
	return q, nil
}

// form is that of the messages of a protocol. Both types have one order.
func (p Protocol) form() protocol.Form { return protocol.Form(p) }

// kind is the framing as package protocol has it.
func (f Framing) kind() protocol.Framing {
	switch f {
	case Unframed:
		return protocol.Unframed
	case THeader:
		return protocol.Headers
	}
	return protocol.Framed
}

// call makes a call.
func (l *link) call(ctx context.Context, q *request, w *weft.WireCall) error {
	w.Sent = len(q.Body)
	if w.Oneway {
		return l.oneway(ctx, q)
	}
	a, err := l.Do(ctx, false, func(seq uint64) ([][]byte, error) {
		for sent := l.sent.Load(); sent < seq && !l.sent.CompareAndSwap(sent, seq); sent = l.sent.Load() {
		}
		b, err := q.Message(protocol.Call, int32(uint32(seq)))
		return [][]byte{b}, err
	})
	if err != nil {
		return err
	}
	return q.finish(a, w, l.limit)
}

// oneway sends a call that has no answer. Its number is that of no other call.
func (l *link) oneway(ctx context.Context, q *request) error {
	b, err := q.Message(protocol.Oneway, 0)
	if err != nil {
		return pending.NotSent(weft.Internal, weft.ReasonEncode, "%w", err)
	}
	appended, err := l.out.SendWithin(ctx, b)
	switch {
	case err == nil:
		return nil
	case appended:
		return weft.Errorf(weft.Unavailable, "write: %w", err)
	case ctx.Err() != nil:
		return pending.NotSent(weft.CodeOf(ctx.Err()), "", "%w before the request was written: the server does not read", ctx.Err())
	}
	return pending.NotSent(weft.Unavailable, "", "write: %w", err)
}

// finish makes a result of an answer.
func (q *request) finish(a messages.Reply, w *weft.WireCall, limit int) error {
	var told map[string]string
	var pairs []string
	if len(a.Pairs) > 0 {
		told = make(map[string]string)
	}
	for i := 0; i+1 < len(a.Pairs); i += 2 {
		if k := a.Pairs[i]; strings.HasPrefix(k, header.Reserved) {
			told[k] = a.Pairs[i+1]
		} else if k != "" {
			pairs = append(pairs, k, a.Pairs[i+1])
		}
	}
	if len(pairs) > 0 {
		w.ReplyMetadata = weft.NewMetadata(pairs...)
	}
	if a.TooLong > 0 {
		e := a.TooLongError(limit)
		if told[header.Code] != "" {
			e.Reason = "" // the call failed for another one, which is told or not
		}
		return refine(e, told)
	}
	var r protocol.Reader
	a.Reset(&r)
	if a.Kind == protocol.Exception {
		code, text := readException(&r)
		if r.Err() != nil {
			return undecoded(r.Err())
		}
		return refine(errorOf(code, text), told)
	}
	w.Received = len(a.Body)
	thrown, err := q.method.ReadResult(&r, w.Reply)
	if err != nil {
		return undecoded(err)
	}
	if thrown != nil {
		e := &weft.Error{Code: weft.Unknown, Outcome: weft.Executed, Message: fmt.Sprintf("the method threw its exception %d", thrown.ID)}
		return refine(withThrown(e, thrown), told)
	}
	return nil
}

func undecoded(err error) error {
	e := weft.Errorf(weft.Internal, "decode the reply: %w", err).WithReason(weft.ReasonDecode)
	e.Outcome = weft.Executed
	return e
}

// refine completes an error by what the header of its reply says.
func refine(e *weft.Error, told map[string]string) *weft.Error {
	if len(told) == 0 {
		return e
	}
	for code := weft.Canceled; code <= weft.Unauthenticated; code++ {
		if code.String() == told[header.Code] {
			e.Code = code
		}
	}
	for _, o := range []weft.Outcome{weft.OutcomeUnknown, weft.Refused, weft.Executed} {
		if o.String() == told[header.Outcome] {
			e.Outcome = o
		}
	}
	if reason, ok := told[header.Reason]; ok {
		e.Reason = reason
	}
	return e
}

// number is that of a call whose low half a message has.
func (l *link) number(seq int32) uint64 {
	sent := l.sent.Load()
	n := sent&^0xffffffff | uint64(uint32(seq))
	if n > sent && n >= 1<<32 {
		n -= 1 << 32
	}
	return n
}

// read takes replies off the connection until it ends.
func (l *link) read() {
	err := l.replies()
	why := l.Err()
	if why == nil {
		why = weft.Errorf(weft.Unavailable, "the server closed the connection")
		if !errors.Is(err, io.EOF) {
			why = weft.Errorf(weft.Unavailable, "read: %w", err)
		}
	}
	l.c.gone(l, why)
	l.Lost(err)
}

func (l *link) replies() error {
	f := messages.NewReader(l.Conn(), l.c.wire.cfg.Framing.kind(), l.limit)
	for {
		a, err := f.Next()
		if err != nil {
			return err
		}
		a.Body = bytes.Clone(a.Body)
		l.c.release(l)
		l.Answer(l.number(a.Seq), a)
	}
}

// hangUp ends the sending, when all has been written.
func (l *link) hangUp(done <-chan struct{}) {
	l.out.Settle(done)
	half, ok := l.Conn().(interface{ CloseWrite() error })
	if !ok || half.CloseWrite() != nil {
		l.Close()
	}
}
