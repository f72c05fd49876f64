package thrift

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/internal/combine"
	"github.com/weftrpc/weft/door/internal/pending"
	"github.com/weftrpc/weft/door/thrift/internal/header"
	"github.com/weftrpc/weft/door/thrift/internal/plan"
	"github.com/weftrpc/weft/door/thrift/internal/protocol"
)

// link is one connection to a server.
type link struct {
	*pending.Calls[answer]
	c     *clientConn
	out   *combine.Writer
	calls int           // that have no reply yet, under the lock of c
	sent  atomic.Uint64 // the largest number of a call
	limit int
}

// answer is what ends a call. An answer that was read has a name of its own memory.
type answer struct {
	kind    protocol.Kind
	compact bool
	armored bool // the body has been translated from the JSON protocol
	body    []byte
	pairs   []string // of THeader
}

func newLink(c *clientConn, conn net.Conn) *link {
	out := combine.New(conn, c.cfg.Limits.WriteBuffer, c.cfg.Limits.WriteTimeout, func(buf, message []byte) ([]byte, error) { return append(buf, message...), nil })
	return &link{Calls: pending.New[answer](conn, out), c: c, out: out, limit: c.cfg.Limits.MaxMessage}
}

// request is a call as it will be sent.
type request struct {
	w        *wire
	name     string
	method   *plan.Method
	body     []byte
	pairs    []string
	deadline time.Time
}

// request encodes the arguments of a call.
func (w *wire) request(call *weft.WireCall, limit int) (*request, error) {
	q := &request{w: w, method: w.method(call.Method)}
	service, name := split(call.Method)
	if q.name = name; w.cfg.Multiplexed {
		q.name = service + ":" + name
	}
	var out protocol.Writer
	out.Reset(nil, w.cfg.Protocol == Compact)
	out.Armored = w.cfg.Protocol == JSON
	if err := q.method.WriteArgs(&out, call.Args); err != nil {
		return nil, pending.NotSent(weft.InvalidArgument, weft.ReasonEncode, "encode the request: %w", err)
	}
	if q.body = out.Buf; len(q.body) > limit {
		return nil, pending.NotSent(weft.ResourceExhausted, weft.ReasonMessageTooLarge, "the request has %d bytes, Limits.MaxMessage of the client allows %d", len(q.body), limit)
	}
	if w.cfg.Framing == THeader {
		for k, v := range call.Metadata.All() {
			if !strings.HasPrefix(k, reserved) {
				q.pairs = append(q.pairs, k, v)
			}
		}
	}
	return q, nil
}

// form is that of the messages of a protocol.
func (p Protocol) form() protocol.Form {
	switch p {
	case BinaryOld:
		return protocol.Old
	case Compact:
		return protocol.Compact
	case JSON:
		return protocol.JSON
	}
	return protocol.Binary
}

// message is the whole message of a request.
func (q *request) message(kind protocol.Kind, seq int32) ([]byte, error) {
	cfg := &q.w.cfg
	plain := func(b []byte) ([]byte, error) {
		b = protocol.AppendHead(b, cfg.Protocol.form(), q.name, kind, seq)
		if cfg.Protocol == JSON {
			b, err := protocol.AppendJSON(b, q.body)
			return append(b, ']'), err
		}
		return append(b, q.body...), nil
	}
	b := make([]byte, 0, len(q.body)+len(q.name)+24)
	switch cfg.Framing {
	case Unframed:
		return plain(b)
	case THeader:
		h := header.Header{Seq: seq, Compact: cfg.Protocol == Compact, Pairs: q.pairs}
		if !q.deadline.IsZero() {
			ms := max(time.Until(q.deadline).Milliseconds(), 1)
			h.Pairs = append(h.Pairs[:len(h.Pairs):len(h.Pairs)], timeoutKey, strconv.FormatInt(ms, 10))
		}
		return h.Append(b, plain)
	}
	b, err := plain(append(b, 0, 0, 0, 0))
	binary.BigEndian.PutUint32(b, uint32(len(b)-4))
	return b, err
}

// call makes a call.
func (l *link) call(ctx context.Context, q *request, w *weft.WireCall) error {
	w.Sent = len(q.body)
	if w.Oneway {
		return l.oneway(ctx, q)
	}
	a, err := l.Do(ctx, false, func(seq uint64) ([][]byte, error) {
		for sent := l.sent.Load(); sent < seq && !l.sent.CompareAndSwap(sent, seq); sent = l.sent.Load() {
		}
		b, err := q.message(protocol.Call, int32(uint32(seq)))
		return [][]byte{b}, err
	})
	if err != nil {
		return err
	}
	return l.finish(q, a, w)
}

// oneway sends a call that has no answer. Its number is that of no other call.
func (l *link) oneway(ctx context.Context, q *request) error {
	b, err := q.message(protocol.Oneway, 0)
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
func (l *link) finish(q *request, a answer, w *weft.WireCall) error {
	var told map[string]string
	if len(a.pairs) > 0 {
		told = make(map[string]string)
		var pairs []string
		for i := 0; i+1 < len(a.pairs); i += 2 {
			if k := a.pairs[i]; strings.HasPrefix(k, reserved) {
				told[k] = a.pairs[i+1]
			} else if k != "" {
				pairs = append(pairs, k, a.pairs[i+1])
			}
		}
		w.ReplyMetadata = weft.NewMetadata(pairs...)
	}
	var r protocol.Reader
	r.Reset(a.body, a.compact)
	r.Armored = a.armored
	if a.kind == protocol.Exception {
		code, text := readException(&r)
		if r.Err() != nil {
			return undecoded(r.Err())
		}
		return refine(errorOf(code, text), told)
	}
	w.Received = len(a.body)
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
		if code.String() == told[codeKey] {
			e.Code = code
		}
	}
	for _, o := range []weft.Outcome{weft.OutcomeUnknown, weft.Refused, weft.Executed} {
		if o.String() == told[outcomeKey] {
			e.Outcome = o
		}
	}
	if reason, ok := told[reasonKey]; ok {
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
	f := replyReader{conn: l.Conn(), limit: l.limit, want: l.c.wire.cfg}
	for {
		head, a, err := f.next()
		if err != nil {
			return err
		}
		if head.Kind != protocol.Reply && head.Kind != protocol.Exception {
			return fmt.Errorf("the server sent a message of the kind %d", head.Kind)
		}
		a.kind = head.Kind
		a.body = bytes.Clone(a.body)
		l.c.release(l)
		l.Answer(l.number(head.Seq), a)
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

var errReply = errors.New("the server sent what is no reply of Thrift, or one in another protocol or framing than the wire has: see thrift.WireConfig")
