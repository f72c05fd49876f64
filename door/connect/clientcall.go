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
	"net/http/httptrace"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/codec"
	"github.com/weftrpc/weft/compress"
	"github.com/weftrpc/weft/door/internal/webjson"
	"github.com/weftrpc/weft/internal/fit"
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
		return webjson.Check(c.json, msg)
	}
	return fit.Carries(with, msg)
}

// request makes a request with what is common to all calls.
func (c *clientConn) request(ctx context.Context, w *weft.WireCall) (*nethttp.Request, error) {
	dot := strings.LastIndexByte(w.Method, '.')
	u, err := url.Parse(c.base)
	if err != nil {
		return nil, notSent(weft.InvalidArgument, "", "%w", err)
	}
	u.Path = "/" + w.Method[:max(dot, 0)] + "/" + w.Method[dot+1:]
	h := make(nethttp.Header)
	set(h, headerVersion, version)
	set(h, "User-Agent", "weft-go")
	if d, ok := ctx.Deadline(); ok {
		ms := max((time.Until(d) + time.Millisecond - 1).Milliseconds(), 1)
		set(h, headerTimeout, strconv.FormatInt(min(ms, 9_999_999_999), 10))
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
			return nil, notSent(weft.InvalidArgument, "", "metadata key %q cannot travel by HTTP: keys are letters, digits and -_. that HTTP and Connect do not reserve, values printable ASCII unless the key ends in -bin", k)
		}
		h.Add(name, value)
	}
	if c.cred != "" && h.Get("Authorization") == "" {
		set(h, "Authorization", c.cred)
	}
	r := &nethttp.Request{Method: nethttp.MethodPost, URL: u, Host: c.cfg.Address, Header: h, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1}
	return r.WithContext(ctx), nil
}

// names is the list of what this side can decompress.
func names(all []compress.Compressor) string {
	var list []string
	for _, z := range all {
		list = append(list, z.Name())
	}
	return strings.Join(list, ",")
}

// Call implements weft.WireConn.
func (c *clientConn) Call(ctx context.Context, w *weft.WireCall) error {
	r, err := c.unary(ctx, w)
	if err != nil {
		return err
	}
	if w.Oneway {
		return c.callOneway(ctx, r)
	}
	res, err := c.do(ctx, r, nil)
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
		return nil, notSent(weft.InvalidArgument, weft.ReasonEncode, "encode with codec %s: %w", code.Name(), err)
	}
	if len(b) > limits.MaxMessage {
		return nil, notSent(weft.ResourceExhausted, weft.ReasonMessageTooLarge, "the message has %d bytes, Limits.MaxMessage of the client allows %d", len(b), limits.MaxMessage)
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
	if list := names(c.cfg.Compressors); list != "" {
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

// do has a request answered. wrote, if it is not nil, is called when the request was written.
func (c *clientConn) do(ctx context.Context, r *nethttp.Request, wrote func()) (*nethttp.Response, error) {
	x, err := c.take(ctx)
	if err != nil {
		return nil, err
	}
	var begun atomic.Bool
	r = r.WithContext(httptrace.WithClientTrace(r.Context(), &httptrace.ClientTrace{
		WroteHeaderField: func(string, []string) { begun.Store(true) },
		WroteRequest: func(httptrace.WroteRequestInfo) {
			if wrote != nil {
				wrote()
			}
		},
	}))
	res, err := x.RoundTrip(r)
	if err == nil {
		return res, nil
	}
	e := c.lost(ctx, err)
	if !begun.Load() {
		e.Outcome = weft.NotSent
	}
	return nil, e
}

// lost is the error of a call whose answer did not come.
func (c *clientConn) lost(ctx context.Context, err error) *weft.Error {
	var e *weft.Error
	switch {
	case ctx.Err() != nil:
		e = weft.Errorf(weft.CodeOf(ctx.Err()), "%w before the reply came", ctx.Err())
	case c.closed() != nil:
		known := *c.closed()
		e = &known
	default:
		e = weft.Errorf(codeOfLoss(err), "connection lost: %w", err)
	}
	e.Outcome = weft.OutcomeUnknown
	return e
}

// codeOfLoss is the code of an error of net/http, which tells the resets of HTTP/2 by their texts.
func codeOfLoss(err error) weft.Code {
	text := err.Error()
	if i := strings.Index(text, "stream error:"); i >= 0 || strings.Contains(text, "RST_STREAM") {
		switch {
		case strings.Contains(text, "REFUSED_STREAM"):
			return weft.Unavailable
		case strings.Contains(text, "CANCEL"):
			return weft.Canceled
		case strings.Contains(text, "ENHANCE_YOUR_CALM"):
			return weft.ResourceExhausted
		case strings.Contains(text, "INADEQUATE_SECURITY"):
			return weft.PermissionDenied
		}
		return weft.Internal
	}
	return weft.Unavailable
}

// closed is why this side has ended the connection; nil: it has not.
func (c *clientConn) closed() *weft.Error {
	e, ok := errors.AsType[*weft.Error](c.Err())
	if !ok || e.Reason != weft.ReasonClosed {
		return nil
	}
	return e
}

// callOneway sends a request whose reply is thrown away. It returns when the request has been written.
func (c *clientConn) callOneway(ctx context.Context, r *nethttp.Request) error {
	select {
	case c.oneway <- struct{}{}:
	case <-c.done:
		return unsent(c.Err())
	case <-ctx.Done():
		return notSent(weft.CodeOf(ctx.Err()), "", "%w: as many one-way calls are under way as may be", ctx.Err())
	}
	life, cancel := context.WithoutCancel(ctx), func() {}
	if d, ok := ctx.Deadline(); ok {
		life, cancel = context.WithDeadline(life, d)
	}
	written := make(chan error, 2)
	// It ends with the answer, the deadline or the connection.
	go func() {
		defer func() { <-c.oneway }()
		defer cancel()
		res, err := c.do(life, r.WithContext(life), sync.OnceFunc(func() { written <- nil }))
		if err != nil {
			written <- err
			return
		}
		_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, int64(c.cfg.Limits.MaxMessage)))
		res.Body.Close()
	}()
	select {
	case err := <-written:
		return err
	case <-ctx.Done():
		return weft.Errorf(weft.CodeOf(ctx.Err()), "%w before the request was written", ctx.Err())
	}
}

// reply reads the answer to a unary call.
func (c *clientConn) reply(ctx context.Context, w *weft.WireCall, res *nethttp.Response) error {
	w.ReplyMetadata = replyMetadata(res.Header, nil, true)
	code, name := codecOf(c, w)
	kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	want := "application/" + name
	ok := res.StatusCode == nethttp.StatusOK
	if ok && kind != want {
		e := &weft.Error{Code: weft.Unknown, Message: "the answer has the Content-Type " + strconv.Quote(clip(kind)) + ", want " + want}
		if strings.HasPrefix(kind, "application/") && c.isCodec(kind[len("application/"):]) {
			e.Code = weft.Internal
		}
		return e
	}
	if !ok && kind != "application/json" {
		return statusError(res)
	}
	b, err := c.body(ctx, res)
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
	if w.Reply == nil {
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
	e := f.readError(codeOfStatus(res.StatusCode), res.Header.Get(headerOutcome))
	if reason := res.Header.Get(headerReason); reason != "" {
		e.Reason = reason
	}
	return e
}

// statusError is the error of an answer that is none of Connect.
func statusError(res *nethttp.Response) error {
	e := &weft.Error{Code: codeOfStatus(res.StatusCode), Message: "the server answered with the HTTP status " + res.Status}
	if res.StatusCode == nethttp.StatusNotFound {
		e.Outcome = weft.Refused // so servers answer where there is no such method
	}
	return e
}

// body reads the body of an answer.
func (c *clientConn) body(ctx context.Context, res *nethttp.Response) ([]byte, error) {
	limit := c.cfg.Limits.MaxMessage
	b, err := io.ReadAll(io.LimitReader(res.Body, int64(limit)+1))
	if err != nil {
		return nil, c.lost(ctx, err)
	}
	if len(b) > limit {
		e := tooLong(int64(len(b)), theClient, limit)
		e.Outcome = weft.Executed
		return nil, e
	}
	z, err := c.restorer(res.Header.Get("Content-Encoding"))
	if err != nil || z == nil || len(b) == 0 {
		return b, err
	}
	if b, err = restored(z, b, theClient, limit); err != nil {
		return nil, executed(err)
	}
	return b, nil
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
		Message: "the answer is compressed with " + strconv.Quote(clip(name)) + ", which ClientConfig.Compressors does not have"}
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
