package rpcx

import (
	"context"
	"errors"
	nethttp "net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/codec"
	"github.com/weftrpc/weft/compress"
	"github.com/weftrpc/weft/compress/gzip"
	"github.com/weftrpc/weft/door/http"
	"github.com/weftrpc/weft/door/internal/httpbody"
	"github.com/weftrpc/weft/door/internal/httpconn"
	"github.com/weftrpc/weft/internal/buffer"
)

// The headers of rpcx's HTTP gateway.
const (
	headerPrefix   = "X-RPCX-"
	headerVersion  = headerPrefix + "Version"
	headerPath     = headerPrefix + "ServicePath"
	headerMethod   = headerPrefix + "ServiceMethod"
	headerSerial   = headerPrefix + "SerializeType"
	headerCompress = headerPrefix + "CompressType"
	headerID       = headerPrefix + "MessageID"
	headerMeta     = headerPrefix + "Meta"
	headerOneway   = headerPrefix + "Oneway"
	headerBeat     = headerPrefix + "Heartbeat"
	headerStatus   = headerPrefix + "MessageStatusType"
	headerError    = headerPrefix + "ErrorMessage"
)

// Handler returns a handler of requests in the form of rpcx's HTTP gateway, whose headers begin with X-RPCX-, for the
// Handler of an http.Config of package door/http. It answers them as the gateway does, but that bad requests
// have a status of their own. Requests without such a header go to next; nil: 404 Not Found.
func Handler(cfg *Config, next nethttp.Handler) nethttp.Handler {
	if cfg == nil {
		cfg = &Config{}
	}
	if next == nil {
		next = nethttp.NotFoundHandler()
	}
	return &gateway{names: serialNames(cfg.Codecs), gzip: gzip.New(), wrong: checkNumbers(cfg.Codecs, nil), next: next}
}

// gateway is rpcx's HTTP gateway.
type gateway struct {
	names [serials]string
	gzip  compress.Compressor
	wrong error
	next  nethttp.Handler
}

// ServeHTTP answers one request.
func (g *gateway) ServeHTTP(w nethttp.ResponseWriter, r *nethttp.Request) {
	if r.Header.Get(headerMethod) == "" && r.Header.Get(headerSerial) == "" && r.Header.Get(headerPath) == "" && r.Header.Get(headerBeat) == "" {
		g.next.ServeHTTP(w, r)
		return
	}
	x := &webCall{w: w, r: r}
	if err := g.fill(x); err != nil {
		x.fail(err)
		return
	}
	if r.Header.Get(headerBeat) != "" {
		x.echo()
		return
	}
	if x.call = x.conn.Begin(x.head, x); x.call == nil {
		return
	}
	defer httpconn.Begin(r, x.call).Stop()
	httpconn.Run(w, x.call)
}

// webCall is a call by the gateway.
type webCall struct {
	w     nethttp.ResponseWriter
	r     *nethttp.Request
	conn  *weft.DoorConn
	head  weft.Head
	codec codec.Codec
	call  *weft.DoorCall
	zip   compress.Compressor // of the body; nil: it is not compressed
	came  int                 // bytes of the body
	size  int                 // of the reply
}

// fill takes over what a request says.
func (g *gateway) fill(x *webCall) error {
	h := x.r.Header
	if x.conn = http.ConnFrom(x.r.Context()); x.conn == nil {
		return weft.Errorf(weft.Internal, "rpcx: the handler is not that of a door: put it into the Handler of an http.Config")
	}
	if g.wrong != nil {
		return g.wrong
	}
	switch x.r.Method {
	case nethttp.MethodPost, nethttp.MethodGet, nethttp.MethodPut:
	default:
		return refusal(weft.InvalidArgument, weft.ReasonProtocol, "rpcx's gateway is called by POST, GET and PUT")
	}
	var err error
	if x.head, err = http.HeadOf(x.r); err != nil {
		return err
	}
	if id := h.Get(headerID); id != "" {
		if _, err := strconv.ParseUint(id, 10, 64); err != nil {
			return badHeader(headerID, id, "a number")
		}
	}
	if h.Get(headerBeat) != "" {
		return nil
	}
	path := h.Get(headerPath)
	if path == "" {
		path = strings.Trim(x.r.URL.Path, "/")
	}
	method, serial := h.Get(headerMethod), h.Get(headerSerial)
	switch {
	case path == "":
		return badHeader(headerPath, path, "the name of a service, which may stand in the URL's path too")
	case method == "":
		return badHeader(headerMethod, method, "the name of a method")
	}
	n, err := strconv.ParseUint(serial, 10, 4)
	if err != nil {
		return badHeader(headerSerial, serial, "the number of a serialization, 0 to 15")
	}
	name := g.names[n]
	c := x.conn.Codec(name)
	if name == "" || c == nil {
		return refusal(weft.Unimplemented, weft.ReasonNoCodec, "%s%d", textNoCodec, n)
	}
	x.codec = asRpcx(c)
	x.head.Method, x.head.Codec = path+"."+method, name
	x.head.Oneway = h.Get(headerOneway) != ""
	if err := x.metadata(h.Get(headerMeta)); err != nil {
		return err
	}
	return g.form(x)
}

func badHeader(name, value, want string) error {
	return refusal(weft.InvalidArgument, weft.ReasonProtocol, "header %s is %q, want %s", name, value[:min(len(value), 64)], want)
}

// metadata takes over the pairs of a header.
func (x *webCall) metadata(text string) error {
	if text == "" {
		return nil
	}
	if limit := x.conn.Limits().MaxMetadata; len(text) > limit {
		return refusal(weft.ResourceExhausted, weft.ReasonMetadataTooLarge, "the metadata has %d bytes, Limits.MaxMetadata of the server allows %d", len(text), limit)
	}
	values, err := url.ParseQuery(text)
	if err != nil {
		return badHeader(headerMeta, text, "pairs as in a URL's query")
	}
	m := x.head.Metadata
	count := m.Len()
	for key, all := range values {
		switch {
		case key == keyAuth && m.Get(authorization) == "":
			key = authorization
		case key == keyAuth, key == keyError, key == keyServer, key == keyAlias, key == keyTimeout, strings.HasPrefix(key, ownPrefix):
			continue
		}
		m = m.With(key, all[len(all)-1])
		count++
	}
	if m.Len() != count {
		return refusal(weft.ResourceExhausted, weft.ReasonMetadataTooLarge, "the metadata has too many pairs, or a key that cannot be")
	}
	x.head.Metadata = m
	return nil
}

// form takes over what the header says of the body, which is read when the call has a place and its caller was authenticated.
func (g *gateway) form(x *webCall) error {
	packed := strings.EqualFold(x.r.Header.Get("Content-Encoding"), "gzip")
	switch kind := x.r.Header.Get(headerCompress); kind {
	case "", "0":
	case "1":
		packed = true
	default:
		return badHeader(headerCompress, kind, "0 or 1, which is gzip")
	}
	if packed {
		x.zip = g.gzip
	}
	limit := x.conn.Limits().MaxMessage
	switch n := x.r.ContentLength; {
	case n > int64(limit):
		return tooLarge(limit)
	case n < 0:
		x.head.Size = limit
	default:
		x.head.Size = int(n)
	}
	return nil
}

func tooLarge(limit int) error {
	return refusal(weft.ResourceExhausted, weft.ReasonMessageTooLarge, "the request has more than %d bytes, which Limits.MaxMessage of the server allows", limit)
}

// read reads the body. The caller releases it.
func (x *webCall) read() (*buffer.Buffer, error) {
	limit := x.conn.Limits().MaxMessage
	body, err := httpbody.Read(x.r.Body, x.r.ContentLength, limit)
	switch {
	case errors.Is(err, httpbody.ErrTooLarge):
		return nil, tooLarge(limit)
	case err != nil:
		return nil, refusal(weft.InvalidArgument, weft.ReasonDecode, "the body of the request cannot be read: %v", err)
	}
	http.BodyRead(x.w)
	x.came = len(body.B)
	return body, nil
}

// Decode implements weft.Inbound.
func (x *webCall) Decode(v any) error {
	body, err := x.read()
	if err != nil {
		return err
	}
	defer body.Release()
	b := body.B
	if x.zip != nil {
		if b, err = restored(x.call.Restoring(x.zip), b, x.conn.Limits().MaxMessage, "the server"); err != nil {
			return err
		}
	}
	return x.call.DecodeBody(x.codec, b, v)
}

// contentType is the type of a body.
func contentType(codecName string) string {
	switch codecName {
	case "json":
		return "application/json"
	case "msgpack":
		return "application/msgpack"
	case "protobuf":
		return "application/protobuf"
	}
	return "application/octet-stream"
}

// Reply implements weft.Inbound.
func (x *webCall) Reply(v any, m weft.Metadata) error {
	if x.head.Oneway {
		x.echo()
		return nil
	}
	if _, err := x.call.AwaitTurn(0, nil); err != nil { // over HTTP/2 a client may have many calls, and read no reply
		return err
	}
	defer x.conn.Replies().GiveTurn()
	if x.r.Context().Err() != nil { // nothing can be sent
		return nil
	}
	limit := x.conn.Limits().MaxMessage
	body, err := x.codec.Append(nil, v)
	switch {
	case err != nil:
		return weft.Errorf(weft.Internal, "encode the reply: %w", err).WithReason(weft.ReasonEncode)
	case len(body) > limit:
		return weft.Errorf(weft.ResourceExhausted, "the reply has %d bytes, Limits.MaxMessage of the server allows %d", len(body), limit).
			WithReason(weft.ReasonMessageTooLarge)
	}
	x.call.Encoded(len(body))
	x.setMetadata(m)
	h := x.w.Header()
	h.Set("Content-Type", contentType(x.codec.Name()))
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	x.echo()
	x.size = len(body)
	_, _ = x.w.Write(body) // an error is that of the connection
	return nil
}

// Bytes implements weft.InboundSizer.
func (x *webCall) Bytes() (request, reply int) { return x.came - x.head.Size, x.size }

// setMetadata puts metadata into the header.
func (x *webCall) setMetadata(m weft.Metadata) {
	values := make(url.Values)
	for key, value := range m.All() {
		values.Set(key, value)
	}
	if len(values) > 0 {
		x.w.Header().Set(headerMeta, values.Encode())
	}
}

// echo sends the header of an answer that is no error.
func (x *webCall) echo() {
	x.repeat()
	x.w.WriteHeader(nethttp.StatusOK)
}

// repeat puts into the header what the gateway repeats of the request.
func (x *webCall) repeat() {
	for _, name := range []string{headerVersion, headerPath, headerMethod, headerSerial, headerID} {
		if value := x.r.Header.Get(name); value != "" {
			x.w.Header().Set(name, value)
		}
	}
}

// Fail implements weft.Inbound.
func (x *webCall) Fail(e *weft.Error, m weft.Metadata) {
	if x.head.Oneway {
		x.echo()
		return
	}
	x.setMetadata(m)
	x.fail(e)
}

// maxHeader is how many bytes of an error's text stand in a header.
const maxHeader = 1 << 10

// fail answers with an error, as the gateway does and as door/http does.
func (x *webCall) fail(err error) {
	text := err.Error()
	if e, ok := errors.AsType[*weft.Error](err); ok {
		text = textOf(e)
	}
	clean := strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text[:min(len(text), maxHeader)], ""))
	x.repeat()
	x.w.Header().Set(headerStatus, "Error")
	x.w.Header().Set(headerError, clean)
	http.WriteError(x.w, err)
}

// Stream is never called: no Head of the gateway opens a stream.
func (x *webCall) Stream(context.Context) weft.RawStream { return nil }
