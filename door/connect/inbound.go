package connect

import (
	"context"
	"errors"
	"io"
	nethttp "net/http"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/compress"
	"github.com/weftrpc/weft/door/grpc"
	"github.com/weftrpc/weft/door/internal/httpbody"
	"github.com/weftrpc/weft/door/internal/httpconn"
	"github.com/weftrpc/weft/door/internal/httpfield"
	"github.com/weftrpc/weft/internal/buffer"
)

// inbound is one call. It implements weft.Inbound.
type inbound struct {
	form
	x       *connection
	w       nethttp.ResponseWriter
	r       *nethttp.Request
	control nethttp.ResponseController
	*method
	kind weft.Kind
	call *weft.DoorCall // own, once it has begun
	own  weft.DoorCall

	restore compress.Compressor // of the request's messages; nil: they are not compressed
	pack    compress.Compressor // of the reply's
	read    atomic.Int64        // of the messages of the request, beside Head.Size
	came    *buffer.Buffer      // the body of a unary request, while it is decoded
	held    atomic.Int64        // bytes of the request that are counted in connection.held
	size    atomic.Int64        // of the messages of the reply
	out     *stream             // of a protocol with envelopes
}

// serve answers the request.
func (in *inbound) serve() {
	if in.r.ContentLength != 0 {
		// It also bounds how long net/http waits for a body that is not read.
		_ = in.control.SetReadDeadline(time.Now().Add(in.x.d.cfg.BodyTimeout))
	}
	if in.protocol != unary {
		in.out = &stream{in: in, body: &counted{in, in.r.Body}}
		if in.text {
			in.out.body = &textReader{r: in.out.body}
		}
	}
	head, err := in.head()
	if err != nil {
		in.Fail(err, weft.Metadata{})
		return
	}
	if !in.x.BeginIn(&in.own, &head, in) {
		return
	}
	in.call = &in.own
	// A client that has gone cancels its call.
	defer httpconn.Begin(in.r, in.call).Stop()
	defer in.release()
	if in.out != nil {
		defer in.out.rest()
	}
	httpconn.Run(in.w, in.call)
}

// head is what is known of the call before its body is read.
func (in *inbound) head() (head weft.Head, _ *weft.Error) {
	h := in.r.Header
	if err := in.x.d.cors.CheckCall(in.r); err != nil {
		return head, refusal(weft.PermissionDenied, "", "%v", err)
	}
	if err := in.encodings(); err != nil {
		return head, err
	}
	var err *weft.Error
	if head.Timeout, err = in.timeout(); err != nil {
		return head, err
	}
	if err = in.version(); err != nil {
		return head, err
	}
	if head.Metadata, err = metadataOf(h, in.x.Limits().MaxMetadata); err != nil {
		return head, err
	}
	if text := h.Get(headerPriority); text != "" && head.Priority.UnmarshalText([]byte(text)) != nil {
		return head, refusal(weft.InvalidArgument, "", "header %s is %q, want default, critical or sheddable", headerPriority, httpfield.Clip(text))
	}
	if text := h.Get(headerAttempts); text != "" {
		if n, err := strconv.Atoi(text); err == nil && n > 0 {
			head.Attempt = n
		}
	}
	head.Method, head.Found, head.Codec, head.Stream = in.method.name, in.found.Of(in.x.DoorConn, in.method.name), in.codec.Name(), in.kind != weft.Unary
	if limit := int64(in.x.Limits().MaxMessage); !head.Stream {
		n := in.r.ContentLength
		if n > limit && in.protocol == unary {
			return head, tooLong(n, theServer, int(limit))
		}
		head.Size = int(min(max(n, 0), limit))
		in.read.Store(-int64(head.Size)) // it is counted when it has come
	}
	return head, nil
}

// version checks the version of Connect.
func (in *inbound) version() *weft.Error {
	if in.protocol == grpcWeb {
		return nil
	}
	got, want, where := in.r.Header.Get(headerVersion), version, "header "+headerVersion
	if in.get {
		got, want, where = in.r.URL.Query().Get("connect"), "v"+version, "parameter connect"
	}
	if got == want || got == "" && !in.x.d.cfg.RequireVersion {
		return nil
	}
	return refusal(weft.InvalidArgument, "", "%s is %q, want %q", where, httpfield.Clip(got), want)
}

// timeout is the time that the client gives its call; 0: none is named.
func (in *inbound) timeout() (time.Duration, *weft.Error) {
	if in.protocol == grpcWeb {
		text := in.r.Header.Get(headerGRPCTimeout)
		if text == "" {
			return 0, nil
		}
		d, ok := grpc.Timeout(text)
		if !ok {
			return 0, refusal(weft.InvalidArgument, "", "header %s is %q, want digits and a unit", headerGRPCTimeout, httpfield.Clip(text))
		}
		return min(max(d, 1), httpfield.MaxTimeout), nil
	}
	text := in.r.Header.Get(headerTimeout)
	if text == "" {
		return 0, nil
	}
	ms, err := strconv.ParseUint(text, 10, 63)
	if err != nil || len(text) > 10 {
		return 0, refusal(weft.InvalidArgument, "", "header %s is %q, want milliseconds of at most ten digits", headerTimeout, httpfield.Clip(text))
	}
	return max(time.Duration(min(ms, uint64(httpfield.MaxTimeout/time.Millisecond)))*time.Millisecond, 1), nil
}

// encodings finds the compressors of request and reply.
func (in *inbound) encodings() *weft.Error {
	h, name, accepted := in.r.Header, "", []string(nil)
	answer := "Accept-Encoding"
	switch {
	case in.get:
		name, accepted = in.r.URL.Query().Get("compression"), h["Accept-Encoding"]
	case in.protocol == unary:
		name, accepted = h.Get("Content-Encoding"), h["Accept-Encoding"]
	case in.protocol == streaming:
		name, accepted, answer = h.Get(headerEncoding), h[headerAccept], headerAccept
	default:
		name, accepted, answer = h.Get(headerGRPCEnc), h[headerGRPCAccept], headerGRPCAccept
	}
	for _, z := range in.x.d.cfg.Compressors {
		if httpfield.Accepts(accepted, func(name string) bool { return strings.EqualFold(name, z.Name()) }) {
			in.pack = z
			break
		}
	}
	if name == "" || strings.EqualFold(name, "identity") {
		return nil
	}
	var names []string
	for _, z := range in.x.d.cfg.Compressors {
		if strings.EqualFold(z.Name(), name) {
			in.restore = z
			return nil
		}
		names = append(names, z.Name())
	}
	set(in.w.Header(), answer, strings.Join(names, ","))
	return refusal(weft.Unimplemented, weft.ReasonDecompress, "there is no compression %q here; there are %s", httpfield.Clip(name), strings.Join(append(names, "identity"), ", "))
}

// Decode implements weft.Inbound.
func (in *inbound) Decode(v any) error {
	b, err := in.request()
	defer in.drop()
	if err != nil {
		return err
	}
	if len(b) == 0 && in.form.name == "json" && in.protocol == unary && !in.get {
		// Stock servers take no body for a request whose fields are not set only in binary.
		return refusal(weft.InvalidArgument, weft.ReasonDecode, "the body is empty, want a JSON value such as {}")
	}
	return in.call.DecodeBody(in.codec, b, v)
}

// request reads the request of a unary method. It may be used until drop is called.
func (in *inbound) request() ([]byte, error) {
	limit := in.x.Limits().MaxMessage
	if in.get {
		return in.query(limit)
	}
	if at, ok := in.call.Context().Deadline(); ok && time.Until(at) < in.x.d.cfg.BodyTimeout {
		_ = in.control.SetReadDeadline(at)
	}
	if in.protocol != unary {
		in.out.alone = true
		b, err := in.out.next()
		if err == io.EOF {
			err = refusal(weft.Unimplemented, weft.ReasonProtocol, "no message came for a unary method, which takes one")
		}
		if err == nil {
			_ = in.control.SetReadDeadline(time.Time{})
		}
		return b, err
	}
	body := io.Reader(in.r.Body)
	if in.r.ContentLength < 0 {
		body = &counted{in, body}
	}
	came, err := httpbody.Read(body, in.r.ContentLength, limit)
	if err == httpbody.ErrTooLarge {
		return nil, refusal(weft.ResourceExhausted, weft.ReasonMessageTooLarge, "the request has more than %d bytes, which Limits.MaxMessage of the server allows", limit)
	}
	if err != nil {
		return nil, in.bodyError(err)
	}
	in.came = came
	in.read.Add(int64(len(came.B)))
	b := came.B
	// From now on net/http reads to notice that the client has gone.
	_ = in.control.SetReadDeadline(time.Time{})
	if in.restore == nil || len(b) == 0 {
		return b, nil
	}
	return restored(in.call.Restoring(in.restore), b, theServer, limit)
}

// drop gives the memory of the request back.
func (in *inbound) drop() {
	if in.came != nil {
		in.came.Release()
		in.came = nil
	}
}

// query is the request of a GET.
func (in *inbound) query(limit int) ([]byte, error) {
	q := in.r.URL.Query()
	if !q.Has("message") {
		return nil, refusal(weft.InvalidArgument, weft.ReasonDecode, "the query has no parameter message")
	}
	b := []byte(q.Get("message"))
	if q.Get("base64") == "1" {
		var err error
		if b, err = unbase64(string(b)); err != nil {
			return nil, refusal(weft.InvalidArgument, weft.ReasonDecode, "the parameter message is no base64")
		}
	}
	in.read.Add(int64(len(b)))
	if in.restore != nil {
		return restored(in.call.Restoring(in.restore), b, theServer, limit)
	}
	return b, nil
}

// bodyError is the error of a body that cannot be read.
func (in *inbound) bodyError(err error) error {
	if known, ok := errors.AsType[*weft.Error](err); ok {
		return known
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		if ended := in.call.Context().Err(); ended != nil && !errors.Is(ended, context.DeadlineExceeded) {
			return weft.Errorf(weft.CodeOf(ended), "%w", ended)
		}
		return refusal(weft.DeadlineExceeded, "", "the request did not come in time")
	}
	if errors.Is(err, errWithin) || errors.Is(err, io.ErrUnexpectedEOF) {
		return refusal(weft.InvalidArgument, weft.ReasonDecode, "%v", err)
	}
	return refusal(weft.InvalidArgument, weft.ReasonDecode, "the body of the request cannot be read: %v", err)
}

// counted counts what is read of a request whose length was not told, and of the messages of a stream.
type counted struct {
	in *inbound
	r  io.Reader
}

// Read implements io.Reader.
func (c *counted) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	in := c.in
	if n <= 0 || in.r.ContentLength >= 0 && in.kind == weft.Unary {
		return n, err
	}
	in.held.Add(int64(n))
	room, all, limits := in.x.Hold(n), in.x.held.Add(int64(n)), in.x.Limits()
	switch {
	case in.kind == weft.Unary && (!room || all > int64(limits.MaxCallBytes)):
		return n, refusal(weft.ResourceExhausted, weft.ReasonTooManyBytes,
			"the requests in flight have too many bytes, on this connection (the server's Limits.MaxCallBytes) or on all (its MaxMemory); try again later")
	case in.kind != weft.Unary && (!room || all > int64(limits.MaxStreamBytes)):
		return n, refusal(weft.ResourceExhausted, weft.ReasonTooManyBytes,
			"the messages of streams have too many bytes, on this connection (the server's Limits.MaxStreamBytes) or on all (its MaxMemory); try again later")
	}
	return n, err
}

// release ends the counting of what was read.
func (in *inbound) release() {
	if n := in.held.Swap(0); n > 0 {
		in.x.Hold(-int(n))
		in.x.held.Add(-n)
	}
}

// maxEncoded is how many replies of a connection may be encoded and wait for room, which a peer that does not
// read could otherwise make as many as its calls.
const maxEncoded = 16

// Reply implements weft.Inbound.
func (in *inbound) Reply(v any, m weft.Metadata) error {
	in.lastIfDraining()
	if in.kind == weft.Unary { // the end of a stream may wait for the window of that stream
		in.x.turns.Take(maxEncoded)
		defer in.x.turns.Give()
	}
	if in.out != nil {
		if in.kind == weft.Unary {
			b, err := in.envelope(v)
			if err != nil {
				return err
			}
			in.out.end(b, nil, m)
			return nil
		}
		return in.out.finish(m)
	}
	buf := buffer.Take()
	defer buf.ReleaseSmall()
	b, err := in.codec.Append(buf.B, v)
	if err != nil {
		return weft.Errorf(weft.Internal, "encode the reply: %w", err).WithReason(weft.ReasonEncode)
	}
	buf.B = b // which may have grown
	limits := in.x.Limits()
	if len(b) > limits.MaxMessage {
		return weft.Errorf(weft.ResourceExhausted, "the reply has %d bytes, Limits.MaxMessage of the server allows %d", len(b), limits.MaxMessage).
			WithReason(weft.ReasonMessageTooLarge)
	}
	h := in.w.Header()
	in.addMetadata(m)
	h["Content-Type"] = in.field
	h["X-Content-Type-Options"] = in.x.d.nosniff
	if in.get {
		h.Add("Vary", "Accept-Encoding")
	}
	if in.pack != nil && len(b) >= limits.CompressAbove {
		if small, err := in.pack.Compress(nil, b); err == nil && len(small) < len(b) {
			set(h, "Content-Encoding", in.pack.Name())
			b = small
		}
	}
	if len(b) == 0 || len(b) >= httpbody.Unsent {
		set(h, "Content-Length", strconv.Itoa(len(b)))
	}
	in.size.Store(int64(len(b)))
	in.w.WriteHeader(nethttp.StatusOK)
	_, _ = in.w.Write(b) // an error is that of the connection
	return nil
}

// envelope encodes a message of the reply.
func (in *inbound) envelope(v any) ([]byte, error) {
	limits := in.x.Limits()
	b, err := appendEnvelope(nil, in.codec, v, in.pack, limits.CompressAbove, theServer, limits.MaxMessage)
	if err == nil {
		in.size.Add(int64(len(b) - prefixSize))
	}
	return b, err
}

// Bytes implements weft.InboundSizer.
func (in *inbound) Bytes() (request, reply int) { return int(in.read.Load()), int(in.size.Load()) }

// addMetadata adds the metadata of a unary reply to its header.
func (in *inbound) addMetadata(m weft.Metadata) {
	leading, trailing := in.divide(m, m.Len())
	addFields(in.w.Header(), "", leading)
	addFields(in.w.Header(), trailerPrefix, trailing)
}

// lastIfDraining tells a client of HTTP/1.1 to make no more requests on the connection, if the server
// shuts down.
func (in *inbound) lastIfDraining() {
	select {
	case <-in.x.Draining():
		set(in.w.Header(), "Connection", "close")
	default:
	}
}

// Fail implements weft.Inbound.
func (in *inbound) Fail(e *weft.Error, m weft.Metadata) {
	in.lastIfDraining()
	if in.out != nil {
		in.out.end(nil, e, m)
		return
	}
	in.addMetadata(m)
	in.refuseStatus(statusOf(e), e)
}

// refuseStatus answers a unary call with an error and an HTTP status.
func (in *inbound) refuseStatus(status int, e *weft.Error) {
	h := in.w.Header()
	set(h, "Content-Type", "application/json")
	set(h, "X-Content-Type-Options", "nosniff")
	set(h, "Cache-Control", "no-store")
	if d, ok := e.RetryAfter(); ok && d >= 0 {
		set(h, "Retry-After", strconv.FormatInt(int64((d+time.Second-1)/time.Second), 10))
	}
	addFields(h, "", marks(e))
	b := asJSON(failureOf(e))
	set(h, "Content-Length", strconv.Itoa(len(b)))
	in.w.WriteHeader(status)
	_, _ = in.w.Write(b) // an error is that of the connection
}

// Stream implements weft.Inbound.
func (in *inbound) Stream(ctx context.Context) weft.RawStream {
	in.out.begin(ctx)
	return in.out
}
