package jsonrpc

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	nethttp "net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/codec"
	"github.com/weftrpc/weft/door/http"
	"github.com/weftrpc/weft/door/internal/carriers"
	"github.com/weftrpc/weft/door/internal/httpbody"
	"github.com/weftrpc/weft/door/internal/httpfield"
	"github.com/weftrpc/weft/door/jsonrpc/internal/envelope"
	"github.com/weftrpc/weft/internal/fit"
)

// connHTTP is a connection of a wire over HTTP.
type connHTTP struct {
	*carriers.Conns
	codec   codec.Codec
	limit   int
	path    *url.URL // and the query
	service string   // with its dot; "": none is left out
	last    atomic.Uint64
}

// Check implements weft.WireChecker: messages are JSON, whatever codec a call names.
func (c *connHTTP) Check(_ codec.Codec, msg any) error { return fit.Carries(c.codec, msg) }

// Call implements weft.WireConn.
func (c *connHTTP) Call(ctx context.Context, w *weft.WireCall) error {
	params, err := paramsOf(c.codec, w, c.limit, false)
	if err != nil {
		return err
	}
	request := envelope.Request{Method: strings.TrimPrefix(w.Method, c.service), Params: params}
	if !w.Oneway {
		// The answer belongs to the request all the same: the number finds a server, or a proxy, that confuses answers.
		request.ID = strconv.AppendUint(nil, c.last.Add(1), 10)
	}
	r, err := c.post(ctx, w, request.Append(nil))
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
	return c.answered(ctx, w, res, request.ID)
}

// post makes the request of a call.
func (c *connHTTP) post(ctx context.Context, w *weft.WireCall, message []byte) (*nethttp.Request, error) {
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

// mediaType is that of requests and answers.
const mediaType = "application/json"

// answered makes a result of the answer to the request with an id.
func (c *connHTTP) answered(ctx context.Context, w *weft.WireCall, res *nethttp.Response, id []byte) error {
	w.ReplyMetadata = http.MetadataOf(res.Header)
	body, err := httpbody.Read(res.Body, res.ContentLength, c.limit+envelopeRoom)
	switch {
	case err == httpbody.ErrTooLarge && !succeeded(res):
		return statusError(res, nil)
	case err == httpbody.ErrTooLarge: // a reply or an error
		return weft.Errorf(weft.ResourceExhausted, "the answer has more than %d bytes, Limits.MaxMessage of the client allows %d for a reply", c.limit+envelopeRoom, c.limit).
			WithReason(weft.ReasonMessageTooLarge)
	case err != nil:
		return c.Lost(ctx, err)
	}
	defer body.Release()
	value := bytes.TrimSpace(body.B)
	r, err := responseTo(id, value)
	switch {
	case !succeeded(res) && (err != nil || r.Error == nil):
		return statusError(res, value)
	case err != nil:
		return weft.Errorf(weft.Internal, "the answer with the HTTP status %s and the Content-Type %q is no response to the request: %w; it begins with %q",
			httpfield.Clip(res.Status), httpfield.Clip(res.Header.Get("Content-Type")), err, start(value)).WithReason(weft.ReasonProtocol)
	case r.Error != nil:
		return failed(res, r)
	case len(r.Result) > c.limit:
		e := weft.Errorf(weft.ResourceExhausted, "the reply has %d bytes, Limits.MaxMessage of the client allows %d", len(r.Result), c.limit).WithReason(weft.ReasonMessageTooLarge)
		e.Outcome = weft.Executed
		return e
	}
	w.Received = len(r.Result)
	return finish(c.codec, r, w.Reply)
}

// responseTo reads the response to the request with an id.
func responseTo(id, value []byte) (envelope.Response, error) {
	if len(value) == 0 {
		return envelope.Response{}, errors.New("it is empty, as that to a notification")
	}
	if !envelope.Valid(value) {
		return envelope.Response{}, errors.New("it is not JSON")
	}
	r, err := envelope.ReadResponse(value)
	switch {
	case err != nil:
		return r, err
	case r.Asks:
		return r, errors.New("it is a request")
	case r.Error != nil && (r.ID == nil || string(r.ID) == "null"): // the server has not read the id
	case !bytes.Equal(r.ID, id):
		return r, fmt.Errorf("it has the id %s, and the request %s", httpfield.Clip(string(r.ID)), id)
	}
	return r, nil
}

// start is the beginning of what a server has sent, for a message.
func start(value []byte) string {
	const most = 200
	if len(value) > most {
		return string(value[:most]) + "…"
	}
	return string(value)
}

func succeeded(res *nethttp.Response) bool { return res.StatusCode/100 == 2 }

// failed is the error of an answer whose response tells of one. Servers of other kinds have numbers of their own for errors: where the
// HTTP status tells more of a call, it counts.
func failed(res *nethttp.Response, r envelope.Response) *weft.Error {
	e := errorIn(r)
	if succeeded(res) || r.Error.Data != nil {
		return e
	}
	status := statusError(res, nil)
	switch res.StatusCode {
	case nethttp.StatusUnauthorized, nethttp.StatusForbidden, nethttp.StatusRequestEntityTooLarge, nethttp.StatusTooManyRequests,
		nethttp.StatusBadGateway, nethttp.StatusServiceUnavailable, nethttp.StatusGatewayTimeout:
		e.Code, e.Outcome, e.Reason = status.Code, status.Outcome, status.Reason
	}
	if after, ok := status.RetryAfter(); ok {
		return e.WithRetryAfter(after)
	}
	return e
}

// statusError is the error of an answer with another status than those of success and no response. body is that of the answer, as far as
// it was read.
func statusError(res *nethttp.Response, body []byte) *weft.Error {
	var problem struct{ Outcome string }
	if json.Unmarshal(body, &problem) == nil && problem.Outcome != "" {
		return http.ErrorOf(res, body) // that of a weft server
	}
	e := http.ErrorOf(res, nil)
	switch res.StatusCode {
	case nethttp.StatusMovedPermanently, nethttp.StatusTemporaryRedirect, nethttp.StatusPermanentRedirect,
		nethttp.StatusUnauthorized, nethttp.StatusProxyAuthRequired, nethttp.StatusLengthRequired, nethttp.StatusRequestURITooLong,
		nethttp.StatusUnsupportedMediaType, nethttp.StatusMisdirectedRequest, nethttp.StatusTooManyRequests, nethttp.StatusRequestHeaderFieldsTooLarge:
		e.Outcome = weft.Refused // a server that answers so has not looked for the method
	case nethttp.StatusRequestEntityTooLarge:
		e.Code, e.Outcome, e.Reason = weft.ResourceExhausted, weft.Refused, weft.ReasonMessageTooLarge
	}
	if to, err := res.Location(); err == nil && res.StatusCode/100 == 3 {
		e.Message += ", which leads to " + start([]byte(to.Scheme+"://"+to.Host+to.Path)) // without the query, which may hold secrets
	}
	if len(body) > 0 {
		e.Message += ": " + strconv.Quote(start(body))
	}
	return e
}
