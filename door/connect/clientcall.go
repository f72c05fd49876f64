package connect

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"mime"
	nethttp "net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/codec"
	"github.com/weftrpc/weft/compress"
	"github.com/weftrpc/weft/door/internal/carriers"
	"github.com/weftrpc/weft/door/internal/httpfield"
	"github.com/weftrpc/weft/internal/fit"
	"github.com/weftrpc/weft/internal/httpstatus"
)

// codecOf is the codec of a call and its name in content types.
func codecOf(c *clientConn, w *weft.WireCall) (codec.Codec, string) {
	switch name := w.Codec.Name(); name {
	case "json":
		return c.json, name
	case "protobuf":
		return w.Codec, "proto"
	default:
		return w.Codec, name
	}
}

// Check implements weft.WireChecker.
func (c *clientConn) Check(with codec.Codec, msg any) error {
	if with.Name() == "json" {
		with = c.json
	}
	return fit.Carries(with, msg)
}

// request makes a request with what is common to all calls.
func (c *clientConn) request(ctx context.Context, w *weft.WireCall) (*nethttp.Request, error) {
	dot := strings.LastIndexByte(w.Method, '.')
	h := make(nethttp.Header)
	set(h, headerVersion, version)
	set(h, "User-Agent", "weft-go")
	if left := httpfield.Left(ctx); left != "" {
		set(h, headerTimeout, left)
	}
	for k, v := range w.Metadata.All() {
		switch k {
		case "weft-attempt":
			set(h, headerAttempts, v)
			continue
		case "weft-priority":
			set(h, headerPriority, v)
			continue
		}
		name, value, ok := fieldOf(k, v)
		if !ok {
			return nil, carriers.NotSent(weft.InvalidArgument, "", "metadata key %q cannot travel by HTTP: keys are letters, digits and -_. that HTTP and Connect do not reserve, values printable ASCII unless the key ends in -bin", k)
		}
		h.Add(name, value)
	}
	return c.Post(ctx, "/"+w.Method[:max(dot, 0)]+"/"+w.Method[dot+1:], h)
}

// Call implements weft.WireConn.
func (c *clientConn) Call(ctx context.Context, w *weft.WireCall) error {
	r, err := c.unary(ctx, w)
	if err != nil {
		return err
	}
	if w.Oneway {
		return c.Oneway(ctx, r)
	}
	res, err := c.Do(ctx, r, nil)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	return c.reply(ctx, w, res)
}

// unary makes the request of a unary call.
func (c *clientConn) unary(ctx context.Context, w *weft.WireCall) (*nethttp.Request, error) {
	code, name := codecOf(c, w)
	limits := c.cfg.Limits
	b, err := code.Append(nil, w.Args)
	if err != nil {
		return nil, carriers.NotSent(weft.InvalidArgument, weft.ReasonEncode, "encode with codec %s: %w", code.Name(), err)
	}
	if len(b) > limits.MaxMessage {
		return nil, carriers.NotSent(weft.ResourceExhausted, weft.ReasonMessageTooLarge, "the message has %d bytes, Limits.MaxMessage of the client allows %d", len(b), limits.MaxMessage)
	}
	r, err := c.request(ctx, w)
	if err != nil {
		return nil, err
	}
	packed := false
	if z := c.cfg.Compressor; z != nil && len(b) >= limits.CompressAbove {
		if small, err := z.Compress(nil, b); err == nil {
			b, packed = small, true
		}
	}
	w.Sent = len(b)
	if list := httpfield.Names(c.cfg.Compressors); list != "" {
		set(r.Header, "Accept-Encoding", list)
	}
	if get := c.w.cfg.Get; get != nil && len(b) <= maxGet && get(w.Method) {
		// In the order that the protocol recommends, so that caches see one URL.
		q := "connect=v1&base64=1"
		if packed {
			q += "&compression=" + url.QueryEscape(c.cfg.Compressor.Name())
		}
		r.Method, r.URL.RawQuery = nethttp.MethodGet, q+"&encoding="+url.QueryEscape(name)+"&message="+base64.RawURLEncoding.EncodeToString(b)
		r.Header.Del(headerVersion)
		return r, nil
	}
	set(r.Header, "Content-Type", "application/"+name)
	if packed {
		set(r.Header, "Content-Encoding", c.cfg.Compressor.Name())
	}
	r.ContentLength = int64(len(b))
	r.Body = io.NopCloser(bytes.NewReader(b))
	if len(b) == 0 {
		r.Body = nethttp.NoBody
	}
	return r, nil
}

// maxGet is the longest message in a query: proxies take URLs of 8 KiB.
const maxGet = 4 << 10

// reply reads the answer to a unary call.
func (c *clientConn) reply(ctx context.Context, w *weft.WireCall, res *nethttp.Response) error {
	w.ReplyMetadata = replyMetadata(res.Header, nil, true)
	code, name := codecOf(c, w)
	kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	want := "application/" + name
	ok := res.StatusCode == nethttp.StatusOK
	if ok && kind != want {
		e := &weft.Error{Code: weft.Unknown, Message: "the answer has the Content-Type " + strconv.Quote(httpfield.Clip(kind)) + ", want " + want}
		if strings.HasPrefix(kind, "application/") && c.isCodec(kind[len("application/"):]) {
			e.Code = weft.Internal
		}
		return e
	}
	if !ok && kind != "application/json" {
		return statusError(res)
	}
	b, size, err := c.body(ctx, res)
	if err != nil {
		return err
	}
	if !ok {
		var f failure
		if err := json.Unmarshal(b, &f); err != nil {
			return statusError(res)
		}
		return c.failed(&f, res)
	}
	if w.Received = size; w.Reply == nil {
		return nil
	}
	if err := code.Decode(b, w.Reply); err != nil {
		e := weft.Errorf(weft.Internal, "decode the reply: %w", err).WithReason(weft.ReasonDecode)
		e.Outcome = weft.Executed
		return e
	}
	return nil
}

// isCodec reports whether a name is that of a codec in content types.
func (c *clientConn) isCodec(name string) bool { return name == "json" || name == "proto" }

// failed is the error that an answer tells of.
func (c *clientConn) failed(f *failure, res *nethttp.Response) error {
	e := f.readError(httpstatus.Code(res.StatusCode), res.Header.Get(headerOutcome))
	if reason := res.Header.Get(headerReason); reason != "" {
		e.Reason = reason
	}
	return e
}

// statusError is the error of an answer that is none of Connect.
func statusError(res *nethttp.Response) error {
	e := &weft.Error{Code: httpstatus.Code(res.StatusCode), Message: "the server answered with the HTTP status " + httpfield.Clip(res.Status)}
	if res.StatusCode == nethttp.StatusNotFound {
		e.Outcome = weft.Refused // so servers answer where there is no such method
	}
	return e
}

// body reads the body of an answer. size is how many bytes came.
func (c *clientConn) body(ctx context.Context, res *nethttp.Response) (b []byte, size int, err error) {
	limit := c.cfg.Limits.MaxMessage
	if b, err = io.ReadAll(io.LimitReader(res.Body, int64(limit)+1)); err != nil {
		return nil, 0, c.Lost(ctx, err)
	}
	if len(b) > limit {
		e := tooLong(int64(len(b)), theClient, limit)
		e.Outcome = weft.Executed
		return nil, 0, e
	}
	size = len(b)
	z, err := c.restorer(res.Header.Get("Content-Encoding"))
	if err != nil || z == nil || size == 0 {
		return b, size, err
	}
	if b, err = restored(z, b, theClient, limit); err != nil {
		return nil, 0, executed(err)
	}
	return b, size, nil
}

// executed notes in the error of a reply that its call has run.
func executed(err error) error {
	if known, ok := errors.AsType[*weft.Error](err); ok {
		e := *known
		e.Outcome = weft.Executed
		return &e
	}
	return err
}

// restorer is what undoes the compression that a server names; nil: there is none.
func (c *clientConn) restorer(name string) (compress.Compressor, error) {
	if name == "" || name == "identity" {
		return nil, nil
	}
	for _, z := range c.cfg.Compressors {
		if z.Name() == name {
			return z, nil
		}
	}
	return nil, &weft.Error{Code: weft.Internal, Reason: weft.ReasonDecompress, Outcome: weft.Executed,
		Message: "the answer is compressed with " + strconv.Quote(httpfield.Clip(name)) + ", which ClientConfig.Compressors does not have"}
}

// replyMetadata is the metadata in the header of an answer and in what ended it.
func replyMetadata(h nethttp.Header, end map[string][]string, unary bool) weft.Metadata {
	all := make(nethttp.Header)
	for name, values := range h {
		if rest, ok := strings.CutPrefix(name, trailerPrefix); ok && unary {
			name = rest
		}
		all[strings.ToLower(name)] = append(all[strings.ToLower(name)], values...)
	}
	for name, values := range end {
		all[strings.ToLower(name)] = append(all[strings.ToLower(name)], values...)
	}
	const most = 1 << 20 // net/http bounds the header, and Limits.MaxMessage the end
	m, err := metadataOf(all, most)
	if err != nil {
		return weft.Metadata{}
	}
	return m
}
