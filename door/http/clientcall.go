package http

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	nethttp "net/http"
	"slices"
	"strings"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/codec"
	"github.com/weftrpc/weft/compress"
	"github.com/weftrpc/weft/door/internal/carriers"
	"github.com/weftrpc/weft/door/internal/httpfield"
	"github.com/weftrpc/weft/internal/fit"
	"github.com/weftrpc/weft/schema"
)

// Call implements weft.WireConn.
func (c *clientConn) Call(ctx context.Context, w *weft.WireCall) error {
	r, err := c.request(ctx, w)
	if err != nil {
		return err
	}
	body, err := c.encode(w.Args)
	if err != nil {
		return err
	}
	r.Header.Set("Accept", typeJSON+", "+problemType)
	c.setBody(r, body)
	w.Sent = int(r.ContentLength)
	if w.Oneway {
		return c.Oneway(ctx, r)
	}
	res, err := c.Do(ctx, r, nil)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	w.ReplyMetadata = MetadataOf(res.Header)
	if res.StatusCode != nethttp.StatusOK {
		return c.statusError(ctx, res)
	}
	return c.reply(ctx, w, res)
}

// Check implements weft.WireChecker.
func (c *clientConn) Check(_ codec.Codec, msg any) error { return fit.Carries(c.codec, msg) }

// request makes a request with what is common to all calls.
func (c *clientConn) request(ctx context.Context, w *weft.WireCall) (*nethttp.Request, error) {
	h, err := HeaderOf(ctx, w.Metadata)
	if err != nil {
		return nil, err
	}
	if names := httpfield.Names(c.cfg.Compressors); names != "" {
		h.Set("Accept-Encoding", names)
	}
	dot := strings.LastIndexByte(w.Method, '.')
	return c.Post(ctx, c.w.cfg.Prefix+w.Method[:max(dot, 0)]+"/"+w.Method[dot+1:], h)
}

// encode encodes a message within the limit.
func (c *clientConn) encode(msg any) ([]byte, error) {
	b, err := c.codec.Append(nil, msg)
	if err != nil {
		return nil, carriers.NotSent(weft.InvalidArgument, weft.ReasonEncode, "encode the request: %w", err)
	}
	if limit := c.cfg.Limits.MaxMessage; len(b) > limit {
		return nil, carriers.NotSent(weft.ResourceExhausted, weft.ReasonMessageTooLarge, "the message has %d bytes, Limits.MaxMessage of the client allows %d", len(b), limit)
	}
	return b, nil
}

// setBody gives a request its body.
func (c *clientConn) setBody(r *nethttp.Request, body []byte) {
	r.Header.Set("Content-Type", typeJSON)
	if z := c.cfg.Compressor; z != nil && len(body) >= c.cfg.Limits.CompressAbove {
		if packed, err := z.Compress(nil, body); err == nil {
			body = packed
			r.Header.Set("Content-Encoding", z.Name())
		}
	}
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
}

// reply reads the answer to a unary call.
func (c *clientConn) reply(ctx context.Context, w *weft.WireCall, res *nethttp.Response) error {
	if kind, ok := jsonType(res); !ok {
		return unrelated("the answer has the Content-Type %q, want %s", kind, typeJSON)
	}
	body, size, err := c.body(ctx, res)
	if err != nil {
		return err
	}
	if w.Received = size; w.Reply == nil {
		if !json.Valid(body) {
			return unrelated("the answer is not JSON")
		}
		return nil
	}
	return c.decode(body, w.Reply)
}

// jsonType is the media type of an answer, and whether it is JSON but no problem.
func jsonType(res *nethttp.Response) (kind string, ok bool) {
	text := res.Header.Get("Content-Type")
	kind, ok = typeOf(text)
	return httpfield.Clip(text), ok && kind == typeJSON && !strings.HasPrefix(text, problemType)
}

// unrelated is the error of an answer that is not one of a server of the wire.
func unrelated(format string, args ...any) error {
	return weft.Errorf(weft.Internal, "the server is not one that answers calls with JSON: "+format, args...).WithReason(weft.ReasonProtocol)
}

// decode decodes a reply. An object that has none of the fields of the reply is the answer of a server that does
// something else.
func (c *clientConn) decode(body []byte, v any) error {
	if err := c.codec.Decode(body, v); err != nil {
		e := weft.Errorf(weft.Internal, "decode the reply: %w", err).WithReason(weft.ReasonDecode)
		e.Outcome = weft.Executed
		return e
	}
	if fields := c.w.fieldsOf(v); len(fields) > 0 && strange(body, fields) {
		return unrelated("the answer has none of the fields of the reply, which are %s", strings.Join(fields, ", "))
	}
	return nil
}

// fieldsOf are the names of the fields that JSON of a type has; nil: it may have any, or is no object.
func (w *wire) fieldsOf(v any) []string {
	t := schema.TypeOf(v)
	known, ok := w.shapes.Load(t)
	if !ok {
		set := schema.NewSet("#/")
		var fields []string
		if s := set.Resolve(set.Of(t)); s.Type == "object" && s.AdditionalProperties == nil {
			fields = s.Order
		}
		known = fields
		w.shapes.Store(t, known)
	}
	return known.([]string)
}

// strange reports whether JSON is an object with members of which none is a field.
func strange(body []byte, fields []string) bool {
	var members map[string]json.RawMessage
	if json.Unmarshal(body, &members) != nil || len(members) == 0 {
		return false
	}
	for name := range members {
		name = strings.ReplaceAll(name, "_", "") // messages of Protocol Buffers have a second name for each field
		if slices.ContainsFunc(fields, func(f string) bool { return strings.EqualFold(strings.ReplaceAll(f, "_", ""), name) }) {
			return false
		}
	}
	return true
}

// body reads the body of an answer. size is how many bytes came.
func (c *clientConn) body(ctx context.Context, res *nethttp.Response) (b []byte, size int, err error) {
	limit := c.cfg.Limits.MaxMessage
	if b, err = io.ReadAll(io.LimitReader(res.Body, int64(limit)+1)); err != nil {
		return nil, 0, c.Lost(ctx, err)
	}
	if len(b) > limit {
		return nil, 0, replyTooLarge(limit)
	}
	name := res.Header.Get("Content-Encoding")
	if name == "" || name == "identity" {
		return b, len(b), nil
	}
	i := slices.IndexFunc(c.cfg.Compressors, func(z compress.Compressor) bool { return z.Name() == name })
	if i < 0 {
		e := weft.Errorf(weft.Internal, "the answer is compressed with %q, which ClientConfig.Compressors does not have", httpfield.Clip(name)).WithReason(weft.ReasonDecompress)
		e.Outcome = weft.Executed
		return nil, 0, e
	}
	plain, err := c.cfg.Compressors[i].Decompress(nil, b, limit)
	switch {
	case errors.Is(err, compress.ErrTooLarge):
		return nil, 0, replyTooLarge(limit)
	case err != nil:
		e := weft.Errorf(weft.Internal, "decompress the answer with %s: %w", name, err).WithReason(weft.ReasonDecompress)
		e.Outcome = weft.Executed
		return nil, 0, e
	}
	return plain, len(b), nil
}

func replyTooLarge(limit int) error {
	e := weft.Errorf(weft.ResourceExhausted, "the reply has more than %d bytes, which Limits.MaxMessage of the client allows", limit).WithReason(weft.ReasonMessageTooLarge)
	e.Outcome = weft.Executed
	return e
}
