package thrift

import (
	"bytes"
	"context"
	"io"
	nethttp "net/http"
	"net/url"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/codec"
	"github.com/weftrpc/weft/door/http"
	"github.com/weftrpc/weft/door/internal/carriers"
	"github.com/weftrpc/weft/door/internal/httpbody"
	"github.com/weftrpc/weft/door/internal/httpfield"
	"github.com/weftrpc/weft/door/thrift/internal/header"
	"github.com/weftrpc/weft/door/thrift/internal/messages"
	"github.com/weftrpc/weft/door/thrift/internal/protocol"
)

// connHTTP is a connection of a wire over HTTP.
type connHTTP struct {
	*carriers.Conns
	w     *wireHTTP
	limit int
	path  *url.URL // and the query
}

// Check implements weft.WireChecker: messages are Thrift, whatever codec a call names.
func (c *connHTTP) Check(_ codec.Codec, msg any) error { return c.w.messages.plans.Check(msg) }

// seqHTTP is the number of every call over HTTP, where the answer belongs to its request.
const seqHTTP = 1

// Call implements weft.WireConn.
func (c *connHTTP) Call(ctx context.Context, w *weft.WireCall) error {
	q, err := c.w.messages.request(w, c.limit)
	if err != nil {
		return err
	}
	r, err := c.post(ctx, q, w)
	if err != nil {
		return err
	}
	w.Sent = len(q.Body)
	if w.Oneway {
		return c.Oneway(ctx, r)
	}
	res, err := c.Do(ctx, r, nil)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	return c.answered(ctx, q, w, res)
}

// post makes the request of a call.
func (c *connHTTP) post(ctx context.Context, q *request, w *weft.WireCall) (*nethttp.Request, error) {
	kind := protocol.Call
	if w.Oneway {
		kind = protocol.Oneway
	}
	message, err := q.Message(kind, seqHTTP)
	if err != nil {
		return nil, carriers.NotSent(weft.Internal, weft.ReasonEncode, "%w", err)
	}
	h, err := http.HeaderOf(ctx, w.Metadata)
	if err != nil {
		return nil, err
	}
	h["Content-Type"], h["Accept"] = []string{mediaType}, []string{mediaType}
	r, err := c.Post(ctx, c.path.Path, h)
	if err != nil {
		return nil, err
	}
	r.URL.RawPath, r.URL.RawQuery = c.path.RawPath, c.path.RawQuery
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(message)), int64(len(message))
	return r, nil
}

// answered makes a result of an answer.
func (c *connHTTP) answered(ctx context.Context, q *request, w *weft.WireCall, res *nethttp.Response) error {
	w.ReplyMetadata = http.MetadataOf(res.Header)
	// A message of the JSON protocol is longer than its values are in memory.
	body, err := httpbody.Read(res.Body, res.ContentLength, c.limit+protocol.Envelope)
	var a messages.Reply
	switch {
	case err == httpbody.ErrTooLarge && res.StatusCode != nethttp.StatusOK:
		return http.ErrorOf(res, nil)
	case err == httpbody.ErrTooLarge: // a reply, unless the header tells of an error
		a = messages.Reply{Kind: protocol.Reply, TooLong: c.limit + protocol.Envelope + 1}
	case err != nil:
		return c.Lost(ctx, err)
	default:
		defer body.Release()
		if res.StatusCode != nethttp.StatusOK {
			return http.ErrorOf(res, body.B)
		}
		if a, err = messages.ParseFramed(body.B, c.w.cfg.Framed, c.limit); err != nil {
			return weft.Errorf(weft.Internal, "the answer of %d bytes with the Content-Type %q cannot be read: %w", len(body.B), httpfield.Clip(res.Header.Get("Content-Type")), err).
				WithReason(weft.ReasonProtocol)
		}
	}
	// What TApplicationException has no place for.
	for _, key := range []string{header.Code, header.Outcome, header.Reason} {
		if value := res.Header.Get(key); value != "" {
			a.Pairs = append(a.Pairs, key, value)
		}
	}
	return q.finish(a, w, c.limit)
}
