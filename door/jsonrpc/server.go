package jsonrpc

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/internal/errtext"
	"github.com/weftrpc/weft/door/jsonrpc/internal/envelope"
	"github.com/weftrpc/weft/internal/turns"
)

// server answers values, whatever carries them.
type server struct {
	*weft.DoorConn
	d     *door
	turns turns.Turns  // of replies that are encoded and wait for room
	held  atomic.Int64 // bytes of the replies of batches that are not complete
	watch context.Context
}

// valid reports whether a value is JSON.
func valid(value []byte) bool { return utf8.Valid(value) && json.Valid(value) }

func unreadable(why string) []byte {
	return envelope.Error(&envelope.Request{}, &envelope.Failure{Code: envelope.ParseError, Message: "Parse error",
		Data: &envelope.Data{Code: weft.InvalidArgument.String(), Outcome: weft.Refused.String(), Message: why}}, "")
}

func invalid(r *envelope.Request, why string) []byte {
	return envelope.Error(&envelope.Request{ID: r.ID}, &envelope.Failure{Code: envelope.InvalidRequest, Message: "Invalid Request",
		Data: &envelope.Data{Code: weft.InvalidArgument.String(), Outcome: weft.Refused.String(), Message: why}}, "")
}

func tooLarge(limit int) []byte {
	return envelope.Error(&envelope.Request{}, failureOf(&weft.Error{Code: weft.ResourceExhausted, Outcome: weft.Refused, Reason: weft.ReasonMessageTooLarge,
		Message: fmt.Sprintf("a request has more than %d bytes, which Limits.MaxMessage of the server allows", limit)}), "")
}

// handle has the calls of a valid value run. done is called once, when all have ended, with what
// is answered, or nil. head is what all calls have in common; refused is why none is to run.
func (s *server) handle(value []byte, head weft.Head, refused *weft.Error, done func(answer []byte)) {
	if value[0] != '[' {
		r := envelope.ReadRequest(value, false)
		s.begin(&r, head, refused, done)
		return
	}
	elements := envelope.Elements(value, s.d.cfg.MaxBatch)
	switch n := len(elements); {
	case n == 0:
		done(invalid(&envelope.Request{}, "the batch is empty"))
		return
	case n > s.d.cfg.MaxBatch:
		done(invalid(&envelope.Request{}, fmt.Sprintf("the batch has more than %d requests", s.d.cfg.MaxBatch)))
		return
	}
	b := &batch{s: s, left: len(elements), done: done}
	for _, e := range elements {
		r := envelope.ReadRequest(e, true)
		s.begin(&r, head, refused, b.add)
	}
}

// sizeOf is how many bytes a request has, without the brackets of params that are an array: a client
// puts them around a request that is no object.
func sizeOf(r *envelope.Request) int {
	if len(r.Params) > 0 && r.Params[0] == '[' {
		return len(r.Params) - len("[]")
	}
	return len(r.Params)
}

// begin has one call run.
func (s *server) begin(r *envelope.Request, head weft.Head, refused *weft.Error, done func(answer []byte)) {
	in := &inbound{s: s, r: r, done: done}
	switch {
	case r.Wrong != "":
		done(invalid(r, r.Wrong))
		return
	case refused == nil && sizeOf(r) > s.Limits().MaxMessage:
		refused = &weft.Error{Code: weft.ResourceExhausted, Outcome: weft.Refused, Reason: weft.ReasonMessageTooLarge,
			Message: fmt.Sprintf("the request has %d bytes, Limits.MaxMessage of the server allows %d", sizeOf(r), s.Limits().MaxMessage)}
	}
	if refused != nil {
		in.Fail(refused, weft.Metadata{})
		return
	}
	head.Method = r.Method
	if !strings.Contains(r.Method, ".") && s.d.cfg.Service != "" {
		head.Method = s.d.cfg.Service + "." + r.Method
	}
	head.Codec, head.Oneway, head.Size = "json", r.Notification(), len(r.Params)
	call := s.Begin(head, in)
	if call == nil {
		return
	}
	if s.watch == nil {
		s.Go(call.Run)
		return
	}
	stop := context.AfterFunc(s.watch, call.Cancel)
	s.Go(func() {
		defer stop()
		call.Run()
	})
}

// batch collects the answers of a batch.
type batch struct {
	s    *server
	done func(answer []byte)

	mu     sync.Mutex
	answer []byte
	left   int
}

// add takes one answer, or nil.
func (b *batch) add(answer []byte) {
	b.mu.Lock()
	if answer != nil {
		c := byte(',')
		if b.answer == nil {
			c = '['
		}
		b.answer = append(append(b.answer, c), answer...)
		b.s.held.Add(int64(len(answer) + 1))
	}
	b.left--
	last := b.left == 0
	b.mu.Unlock()
	if !last {
		return
	}
	if b.answer != nil {
		b.s.held.Add(int64(len(b.answer)) * -1)
		b.answer = append(b.answer, ']')
	}
	b.done(b.answer)
}

// inbound is one call.
type inbound struct {
	s    *server
	r    *envelope.Request
	done func(answer []byte)
	size int // of the reply
}

// Decode implements weft.Inbound.
func (in *inbound) Decode(v any) error { return in.s.d.decode(in.r, v) }

// maxEncoded is how many replies of a connection may be encoded and wait for room, which a peer
// that does not read could otherwise make as many as its calls.
const maxEncoded = 16

// Reply implements weft.Inbound.
func (in *inbound) Reply(v any, _ weft.Metadata) error {
	if in.r.Notification() {
		in.done(nil)
		return nil
	}
	in.s.turns.Take(maxEncoded)
	defer in.s.turns.Give()
	limit := in.s.Limits().MaxMessage
	body, err := in.s.d.codec.Append(nil, v)
	switch {
	case err != nil:
		return weft.Errorf(weft.Internal, "encode the reply: %w", err).WithReason(weft.ReasonEncode)
	case len(body) > limit:
		return weft.Errorf(weft.ResourceExhausted, "the reply has %d bytes, Limits.MaxMessage of the server allows %d", len(body), limit).
			WithReason(weft.ReasonMessageTooLarge)
	case int64(len(body))+in.s.held.Load() > 4*int64(limit):
		return weft.Errorf(weft.ResourceExhausted, "the replies of batches that are not complete have more than four times Limits.MaxMessage of the server").
			WithReason(weft.ReasonTooManyBytes)
	}
	in.size = len(body)
	in.done(envelope.Result(in.r, body))
	return nil
}

// Bytes implements weft.InboundSizer.
func (in *inbound) Bytes() (request, reply int) { return 0, in.size }

// maxNamed is how many bytes the name of a method has that an error repeats.
const maxNamed = 255

// Fail implements weft.Inbound.
func (in *inbound) Fail(e *weft.Error, _ weft.Metadata) {
	if in.r.Notification() {
		in.done(nil)
		return
	}
	named := *e
	if named.Method = in.r.Method; len(named.Method) > maxNamed {
		named.Method, named.Reason = "", ""
	}
	in.done(envelope.Error(in.r, failureOf(e), errtext.Of(&named)))
}

// Stream is never called: no Head of this door opens a stream.
func (in *inbound) Stream(context.Context) weft.RawStream { return nil }
