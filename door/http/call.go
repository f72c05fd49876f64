package http

import (
	"context"
	"encoding/json"
	"hash/fnv"
	nethttp "net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/http/internal/params"
	"github.com/weftrpc/weft/door/internal/httpbody"
	"github.com/weftrpc/weft/door/internal/httpconn"
	"github.com/weftrpc/weft/door/internal/httpfield"
	"github.com/weftrpc/weft/door/internal/webjson"
	"github.com/weftrpc/weft/door/internal/websock"
	"github.com/weftrpc/weft/internal/buffer"
)

// inbound is one call.
type inbound struct {
	x    *connection
	tab  *table
	a    *address
	w    nethttp.ResponseWriter
	r    *nethttp.Request
	in   media
	out  media
	end  ending         // of a streaming call
	call *weft.DoorCall // own, once it has begun
	own  weft.DoorCall
	came *buffer.Buffer // the body of the request, while it is decoded
	held httpbody.Held  // the same of a streaming call, of which Head.Size counts nothing
	size atomic.Int64   // of the messages of the reply
	read atomic.Int64   // of the messages of the request, beside Head.Size
	web  bool           // the call is one by WebSocket
	cut  atomic.Bool    // the answer, of which a part was sent, is cut off
}

// ending is the server's end of a streaming call, by a body of lines or events or by WebSocket.
type ending interface {
	weft.RawStream
	begin(ctx context.Context)
	finish(m weft.Metadata) error
	fail(e *weft.Error, m weft.Metadata) (told bool)
	rest()
}

// call has a request run as a call.
func (x *connection) call(t *table, a *address, w nethttp.ResponseWriter, r *nethttp.Request) {
	in := &inbound{x: x, tab: t, a: a, w: w, r: r, web: websock.Asked(r)}
	head, err := in.head()
	if err != nil {
		writeProblem(w, err)
		return
	}
	if !x.BeginIn(&in.own, &head, in) {
		return
	}
	in.call = &in.own
	// A client that has gone cancels its call.
	defer httpconn.Begin(r, in.call).Stop()
	if in.end != nil {
		defer in.held.Release()
		defer in.end.rest()
	}
	httpconn.Run(w, in.call)
	if in.cut.Load() {
		panic(nethttp.ErrAbortHandler) // so net/http ends the connection, and no client takes the part for the whole
	}
}

// head is what is known of the call before its body is read.
func (in *inbound) head() (weft.Head, *weft.Error) {
	check := in.x.d.cors.CheckCall
	if in.a.r != nil && !in.web { // the method was given an address for this verb
		check = in.x.d.cors.Check
	}
	if err := samePage(check, in.r); err != nil {
		return weft.Head{}, err
	}
	head, err := in.x.headOf(in.r)
	if err != nil {
		return head, err
	}
	head.Method, head.Found = in.a.name, in.a.method.Of(in.x.DoorConn, in.a.name)
	head.Stream = in.streaming()
	if in.web {
		err := in.headOfSocket(&head)
		return head, err
	}
	if err := in.medias(); err != nil {
		return head, err
	}
	head.Codec = in.in.codec.Name()
	if head.Stream {
		in.held.R, in.held.Conn = in.r.Body, in.x.DoorConn
		in.end = newStream(in)
		return head, nil
	}
	limit := int64(in.x.Limits().MaxMessage)
	switch n := in.r.ContentLength; {
	case n > limit:
		return head, refusal(weft.ResourceExhausted, weft.ReasonMessageTooLarge,
			"the request has %d bytes, Limits.MaxMessage of the server allows %d", n, limit)
	case n < 0:
		head.Size = int(limit)
	default:
		head.Size = int(n)
	}
	in.read.Store(-int64(head.Size)) // it is counted when it has come
	return head, nil
}

// headOfSocket completes the head of a call by WebSocket.
func (in *inbound) headOfSocket(head *weft.Head) *weft.Error {
	switch {
	case !head.Stream:
		in.w.Header().Set("Allow", nethttp.MethodPost)
		return refusal(weft.Unimplemented, reasonVerb, "%s has no stream: it is called by POST, not by WebSocket", in.a.name)
	case in.x.draining():
		return refusal(weft.Unavailable, weft.ReasonDraining, "the server is shutting down; call another server")
	}
	if err := websock.Check(in.w.Header(), in.r); err != nil {
		return refusal(weft.InvalidArgument, "", "%v", err)
	}
	in.in = in.tab.medias[typeJSON]
	in.out = in.lines()
	head.Codec = in.in.codec.Name()
	in.end = newSocket(in)
	return nil
}

// headOf is what a header says of a call.
func (x *connection) headOf(r *nethttp.Request) (head weft.Head, err *weft.Error) {
	if head.Metadata, err = x.d.metadata(r.Header, x.Limits().MaxMetadata); err != nil {
		return head, err
	}
	if websock.Asked(r) && head.Metadata.Get("authorization") == "" {
		if text := websock.Authorization(r); isText(text) && text != "" {
			head.Metadata = head.Metadata.With("authorization", text)
		}
	}
	if head.Priority, err = priority(r.Header); err != nil {
		return head, err
	}
	head.Timeout, err = timeout(r.Header)
	return head, err
}

// samePage refuses requests that a browser sends for a page which may not call.
func samePage(check func(*nethttp.Request) error, r *nethttp.Request) *weft.Error {
	if err := check(r); err != nil {
		return refusal(weft.PermissionDenied, "", "%v", err)
	}
	return nil
}

// medias finds the codecs of request and reply.
func (in *inbound) medias() *weft.Error {
	in.in = in.tab.medias[typeJSON]
	if in.hasBody() {
		text := in.r.Header.Get("Content-Type")
		known, there := in.tab.medias[text] // as most clients have it
		if !there {
			kind, ok := typeOf(text)
			if ok && in.streaming() && (kind == typeNDJSON || kind == "application/jsonl") {
				kind = typeJSON
			}
			known, there = in.tab.medias[kind]
			there = there && ok
		}
		if !there {
			in.w.Header().Set("Accept-Post", strings.Join(in.tab.order, ", "))
			if text == "" {
				return refusal(weft.Unimplemented, weft.ReasonNoCodec, "the request has a body and no Content-Type; there are %s", strings.Join(in.tab.order, ", "))
			}
			return refusal(weft.Unimplemented, weft.ReasonNoCodec, "there is no codec for the Content-Type %q; there are %s", httpfield.Clip(text), strings.Join(in.tab.order, ", "))
		}
		in.in = known
	}
	in.out = in.in
	if in.streaming() {
		if err := in.mediasOfStream(); err != nil {
			return err
		}
	}
	fields := in.r.Header.Values("Accept")
	if len(fields) == 0 {
		return nil
	}
	if httpfield.Accepts(fields, in.takes) {
		return nil
	}
	return refusal(weft.InvalidArgument, reasonNotAcceptable, "none of the types in Accept is here; there are %s", strings.Join(in.tab.order, ", "))
}

// mediasOfStream chooses what the messages of a stream are if Accept does not tell: lines, or bytes as they are.
func (in *inbound) mediasOfStream() *weft.Error {
	m := in.a.t
	in.out = in.lines()
	if octets, ok := in.tab.medias[typeBytes]; ok && m.bytesOut && (m.Kind != weft.ClientStream || in.in.kind == typeBytes) {
		in.out = octets
	}
	switch encoding := in.r.Header.Get("Content-Encoding"); {
	case m.Kind == weft.ServerStream, in.in.kind == typeJSON:
	case in.in.kind != typeBytes || !m.bytesIn:
		return refusal(weft.Unimplemented, weft.ReasonNoCodec, "the messages of a stream are one JSON value a line (%s), not %s", typeNDJSON, in.in.kind)
	case encoding != "" && !strings.EqualFold(encoding, "identity"):
		return refusal(weft.Unimplemented, weft.ReasonNoCodec, "the bytes of a stream have the Content-Encoding %q, want none", httpfield.Clip(encoding))
	}
	return nil
}

// lines are messages that are JSON.
func (in *inbound) lines() media {
	return media{kind: typeNDJSON, codec: in.tab.medias[typeJSON].codec}
}

// takes chooses the codec of the reply if it is one of a media range.
func (in *inbound) takes(mediaRange string) bool {
	if in.streaming() {
		switch mediaRange {
		case typeSSE, typeNDJSON, "application/jsonl", typeJSON:
			if in.out = in.lines(); mediaRange == typeSSE {
				in.out.kind = typeSSE
			}
			return true
		case typeBytes:
			octets, ok := in.tab.medias[typeBytes]
			if ok = ok && in.a.t.bytesOut; ok {
				in.out = octets
			}
			return ok
		}
	}
	switch mediaRange {
	case "*/*", "application/*", problemType:
		return true
	}
	if in.streaming() {
		return false
	}
	if m, ok := in.tab.medias[mediaRange]; ok {
		in.out = m
		return true
	}
	return false
}

// streaming reports whether the method sends or receives many messages.
func (in *inbound) streaming() bool { return in.a.t != nil && in.a.t.Kind != weft.Unary }

func (in *inbound) hasBody() bool { return in.r.ContentLength != 0 }

// Decode implements weft.Inbound.
func (in *inbound) Decode(v any) error {
	body, err := in.body()
	defer in.release()
	if err != nil {
		return err
	}
	params, err := in.params()
	if err != nil {
		return err
	}
	field := ""
	if in.a.r != nil {
		field = in.a.r.Body
	}
	switch {
	case field != "" && len(body) > 0:
		if in.in.kind != typeJSON {
			return refusal(weft.Unimplemented, weft.ReasonNoCodec, "the body is field %s of the request, which only JSON can carry", field)
		}
		if !json.Valid(body) { // what stands behind a value would be further fields
			return refusal(weft.InvalidArgument, weft.ReasonDecode, "the body is not one JSON value")
		}
		name, _ := in.in.codec.Append(nil, &field)
		body = slices.Concat([]byte("{"), name, []byte(":"), body, []byte("}"))
	case len(body) == 0 && in.in.kind == typeJSON:
		body = []byte("{}") // no body is a request whose fields are not set
	}
	if _, raw := v.(*[]byte); raw && len(body) == 2 && !in.hasBody() {
		body = []byte("null")
	}
	if err := in.call.DecodeBody(in.in.codec, body, v); err != nil {
		return err
	}
	if params == nil {
		return nil
	}
	return webjson.Merge(params, v)
}

// params are the fields in path and query.
func (in *inbound) params() ([]byte, error) {
	if in.r.URL.RawQuery == "" && len(in.a.vars) == 0 {
		return nil, nil
	}
	query, err := parseQuery(in.r.URL.RawQuery)
	if err != nil {
		return nil, refusal(weft.InvalidArgument, weft.ReasonDecode, "the query cannot be read: %v", err)
	}
	object, e := params.Object(in.a.t.params(), in.a.vars, query)
	if e != nil {
		return nil, e
	}
	return object, nil
}

// maxEncoded is how many replies of a connection of HTTP/2 may be encoded and wait for room, which a peer that does not read could
// otherwise make as many as its calls.
const maxEncoded = 16

// Reply implements weft.Inbound.
func (in *inbound) Reply(v any, m weft.Metadata) error {
	in.x.lastIfDraining(in.w)
	if in.end != nil {
		return in.end.finish(m)
	}
	in.x.turns.Take(maxEncoded)
	defer in.x.turns.Give()
	b := buffer.Take()
	defer b.ReleaseSmall()
	body, err := in.encode(b.B, v)
	if err != nil {
		return err
	}
	b.B = body // which may have grown
	if r := in.a.r; r != nil && r.Reply != "" && in.out.kind == typeJSON {
		whole := len(body)
		if body, err = webjson.Member(body, r.Reply, in.tab.zeroOf(in.a.t, r.Reply)); err != nil {
			return weft.Errorf(weft.Internal, "take the answer out of the reply: %w", err).WithReason(weft.ReasonEncode)
		}
		in.size.Add(int64(len(body) - whole))
	}
	in.answer(body, m)
	return nil
}

// encode encodes a message within the limit, into the memory of dst if it has room.
func (in *inbound) encode(dst []byte, v any) ([]byte, error) {
	body, err := in.out.codec.Append(dst, v)
	if err != nil {
		return nil, weft.Errorf(weft.Internal, "encode the reply: %w", err).WithReason(weft.ReasonEncode)
	}
	if limit := in.x.Limits().MaxMessage; len(body) > limit {
		return nil, weft.Errorf(weft.ResourceExhausted, "the reply has %d bytes, Limits.MaxMessage of the server allows %d", len(body), limit).
			WithReason(weft.ReasonMessageTooLarge)
	}
	in.size.Add(int64(len(body)))
	return body, nil
}

// Bytes implements weft.InboundSizer.
func (in *inbound) Bytes() (request, reply int) { return int(in.read.Load()), int(in.size.Load()) }

// answer sends a reply.
func (in *inbound) answer(body []byte, m weft.Metadata) {
	h := in.w.Header()
	setMetadata(h, "", m)
	h["Content-Type"] = in.out.field
	h["X-Content-Type-Options"] = in.x.d.nosniff
	if h["Vary"] == nil {
		h["Vary"] = in.x.d.vary
	} else {
		h.Add("Vary", in.x.d.vary[0])
	}
	if in.r.Method == nethttp.MethodGet || in.r.Method == nethttp.MethodHead {
		tag := tagOf(body)
		h.Set("ETag", tag)
		if in.r.Header.Get("If-None-Match") == tag {
			in.size.Store(0) // nothing of it is sent
			in.w.WriteHeader(nethttp.StatusNotModified)
			return
		}
	}
	body = in.compress(body)
	in.size.Store(int64(len(body)))
	if len(body) == 0 || len(body) >= httpbody.Unsent || in.r.Method == nethttp.MethodHead {
		h.Set("Content-Length", strconv.Itoa(len(body)))
	}
	if in.r.Method == nethttp.MethodHead {
		in.size.Store(0)
	}
	in.w.WriteHeader(nethttp.StatusOK)
	_, _ = in.w.Write(body) // an error is that of the connection
}

// tagOf is the ETag of a reply. It is weak, since the reply may be compressed.
func tagOf(body []byte) string {
	sum := fnv.New128a()
	_, _ = sum.Write(body)
	return `W/"` + strconv.Itoa(len(body)) + "-" + hexOf(sum.Sum(nil)) + `"`
}

// Fail implements weft.Inbound.
func (in *inbound) Fail(e *weft.Error, m weft.Metadata) {
	in.x.lastIfDraining(in.w)
	if in.end != nil && in.end.fail(e, m) {
		return
	}
	setMetadata(in.w.Header(), "", m)
	writeProblem(in.w, e)
}

// Stream implements weft.Inbound.
func (in *inbound) Stream(ctx context.Context) weft.RawStream {
	in.end.begin(ctx)
	return in.end
}
