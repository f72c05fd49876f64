package target

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/cmd/weft/internal/shell"
	"github.com/weftrpc/weft/codec"
	weftjson "github.com/weftrpc/weft/codec/json"
	"github.com/weftrpc/weft/internal/httpstatus"
)

// httpWire calls servers of JSON over HTTP, as package door/http serves it.
type httpWire struct{ scheme string }

// Scheme implements weft.Wire.
func (w httpWire) Scheme() string { return w.scheme }

// Protocols implements weft.Wire.
func (httpWire) Protocols() []string { return []string{"http/1.1"} }

// Dial implements weft.Wire.
func (w httpWire) Dial(ctx context.Context, cfg weft.WireConfig) (weft.WireConn, error) {
	conn, err := cfg.Dial(ctx)
	if err != nil {
		return nil, err
	}
	c := &httpConn{conn: conn, host: cfg.Address, limit: cfg.Limits.MaxMessage, done: make(chan struct{})}
	first := make(chan net.Conn, 1)
	first <- conn
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		select {
		case conn := <-first:
			return conn, nil
		default:
			return cfg.Dial(ctx)
		}
	}
	// The connection has its TLS already, so to package http it is plain.
	c.transport = &http.Transport{DialContext: dial}
	return c, nil
}

// asJSON is the codec of all bodies, whatever codec a call names.
func asJSON() codec.Codec { return weftjson.New() }

// codecOf is the codec of a call's messages: the call's own if that is one of JSON, as it is of calls with
// messages that are encoded already.
func codecOf(x *weft.WireCall) codec.Codec {
	if x.Codec != nil && x.Codec.Name() == "json" {
		return x.Codec
	}
	return asJSON()
}

// httpConn is a connection, and those that are made beside it when calls overlap.
type httpConn struct {
	conn      net.Conn
	host      string
	limit     int
	transport *http.Transport
	once      sync.Once
	done      chan struct{}

	probed  sync.Mutex
	probing bool  // the server was asked whether it is one of package door/http
	foreign error // it is not
}

// Conn implements weft.WireConn.
func (c *httpConn) Conn() net.Conn { return c.conn }

// Done implements weft.WireConn.
func (c *httpConn) Done() <-chan struct{} { return c.done }

// Err implements weft.WireConn.
func (c *httpConn) Err() error { return net.ErrClosed }

// Close implements weft.WireConn.
func (c *httpConn) Close() error {
	c.once.Do(func() { close(c.done) })
	c.transport.CloseIdleConnections()
	return c.conn.Close()
}

// request makes the request of a call.
func (c *httpConn) request(ctx context.Context, x *weft.WireCall, body io.Reader) (*http.Request, error) {
	service, method, _ := cutMethod(x.Method)
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+c.host+"/"+service+"/"+method, body)
	if err != nil {
		return nil, weft.Errorf(weft.InvalidArgument, "%w", err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/x-ndjson, application/json")
	if until, ok := ctx.Deadline(); ok {
		r.Header.Set("Weft-Timeout", strconv.FormatInt(max(1, time.Until(until).Milliseconds()), 10))
	}
	for key, value := range x.Metadata.All() {
		switch {
		case key == "authorization":
			r.Header.Set("Authorization", value)
		case visible(value):
			r.Header.Add("Weft-Meta-"+key, value)
		default:
			r.Header.Add("Weft-Bin-"+key, base64.StdEncoding.EncodeToString([]byte(value)))
		}
	}
	return r, nil
}

// cutMethod divides a method at its last dot.
func cutMethod(name string) (service, method string, ok bool) {
	at := strings.LastIndexByte(name, '.')
	if at < 0 {
		return "", name, false
	}
	return name[:at], name[at+1:], true
}

func visible(text string) bool {
	for _, b := range []byte(text) {
		if b <= ' ' || b > '~' {
			return false
		}
	}
	return true
}

// Call implements weft.WireConn.
func (c *httpConn) Call(ctx context.Context, x *weft.WireCall) error {
	body, err := codecOf(x).Append(nil, x.Args)
	if err != nil {
		e := weft.Errorf(weft.InvalidArgument, "encode the request: %w", err).WithReason(weft.ReasonEncode)
		e.Outcome = weft.NotSent
		return e
	}
	r, err := c.request(ctx, x, bytes.NewReader(body))
	if err != nil {
		return err
	}
	answer, err := c.roundTrip(r)
	if err != nil {
		return c.failed(ctx, x.Method, err)
	}
	defer answer.Body.Close()
	x.ReplyMetadata = metadataOf(answer.Header)
	text, err := io.ReadAll(io.LimitReader(answer.Body, int64(c.limit)+1))
	if err != nil {
		return c.failed(ctx, x.Method, err)
	}
	if err := problemOf(x.Method, answer, text); err != nil || x.Oneway {
		return err
	}
	if err := envelopeError(text); err != nil {
		return err
	}
	if !json.Valid(text) {
		return notDoor(x.Method, "the server answered %s with %s, which is no JSON", answer.Status, kindOf(answer))
	}
	if err := c.isDoor(ctx); err != nil {
		return notDoor(x.Method, "%w", err)
	}
	if x.Reply == nil {
		return nil
	}
	if err := codecOf(x).Decode(text, x.Reply); err != nil {
		e := weft.Errorf(weft.Internal, "decode the reply: %w", err).WithReason(weft.ReasonDecode)
		e.Outcome = weft.Executed
		return e
	}
	return nil
}

// notDoor is the error of an answer that is not one of package door/http.
func notDoor(method, format string, args ...any) error {
	e := weft.Errorf(weft.Unknown, format+": no server of weft answers so; see 'weft help addresses' for the addresses of other servers", args...)
	e.Method = method
	return e
}

// kindOf is the type of the content of an answer.
func kindOf(answer *http.Response) string {
	if kind := answer.Header.Get("Content-Type"); kind != "" {
		return kind
	}
	return "no Content-Type"
}

// nothing is a path that no server has.
const nothing = "/weft.Probe/Nothing"

// isDoor asks the server once for a method that it cannot have. One of package door/http says so as a problem of
// RFC 9457 with a code of weft; others may answer every path with status 200, and what they answer is no reply.
func (c *httpConn) isDoor(ctx context.Context) error {
	c.probed.Lock()
	defer c.probed.Unlock()
	if c.probing {
		return c.foreign
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+c.host+nothing, strings.NewReader("{}"))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	answer, err := c.transport.RoundTrip(r)
	if err != nil {
		return nil // the call was answered, and nothing speaks against the answer
	}
	defer answer.Body.Close()
	c.probing = true
	if answer.StatusCode/100 == 2 {
		c.foreign = fmt.Errorf("the server answers %s to a method that no server has, %s", answer.Status, nothing)
	}
	return c.foreign
}

var errNoAnswer = errors.New("the server has closed the connection without an answer: it may not speak HTTP; see 'weft help addresses'")

// roundTrip sends the request of a call and returns the answer.
func (c *httpConn) roundTrip(r *http.Request) (*http.Response, error) {
	answer, err := c.transport.RoundTrip(r)
	if err != nil && closedEarly(err) {
		return nil, errNoAnswer // not wrapped: the end of a connection is not the end of a stream
	}
	return answer, err
}

// closedEarly reports whether a request failed with err because the server has closed the connection. The errors differ with
// what of the request was written by then, and with whether the server had read it.
func closedEarly(err error) bool {
	const idle = "http: server closed idle connection" // package net/http has no name for it
	return errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) || err.Error() == idle
}

// failed is the error of a call without an answer, or with the beginning of one.
func (c *httpConn) failed(ctx context.Context, method string, err error) error {
	e := weft.Errorf(weft.Unavailable, "%w", err)
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		e = weft.Errorf(weft.DeadlineExceeded, "%w", shell.ErrNoAnswer)
	case ctx.Err() != nil:
		return ctx.Err()
	}
	e.Method, e.Peer = method, c.host
	return e
}

// metadataOf is the metadata of an answer.
func metadataOf(h http.Header) weft.Metadata {
	var m weft.Metadata
	for name, values := range h {
		key, text := strings.CutPrefix(strings.ToLower(name), "weft-meta-")
		if !text {
			var bin bool
			if key, bin = strings.CutPrefix(strings.ToLower(name), "weft-bin-"); !bin {
				continue
			}
		}
		for _, value := range values {
			if !text {
				raw, err := base64.StdEncoding.DecodeString(value)
				if err != nil {
					continue
				}
				value = string(raw)
			}
			m = m.With(key, value)
		}
	}
	return m
}

// problem is an error of a server, as RFC 9457 has it.
type problem struct {
	Detail, Title, Code, Outcome, Reason string
	Message                              string          // of an error of Connect
	Details                              json.RawMessage // those of other servers have other forms
}

// problemOf is the error in an answer, nil if there is none.
func problemOf(method string, answer *http.Response, text []byte) error {
	if answer.StatusCode/100 == 2 {
		return nil
	}
	var p problem
	if json.Unmarshal(text, &p) != nil || p.Code == "" {
		e := weft.Errorf(httpstatus.Code(answer.StatusCode), "the server answered %s with %s, and a server of weft answers with an error of its own: see 'weft help addresses' for the addresses of other servers", answer.Status, kindOf(answer))
		e.Method = method
		return e
	}
	if code, ok := connectCode(p.Code); ok && p.Title == "" {
		e := weft.Errorf(code, "%s: the server answers as one of Connect: call it by connect+http:// or connect+https://", cmp.Or(p.Message, answer.Status))
		e.Method = method
		return e
	}
	return p.error()
}

// connectCode is the code with a name of Connect, such as not_found.
func connectCode(name string) (weft.Code, bool) {
	for code := weft.Canceled; code <= weft.Unauthenticated; code++ {
		if strings.ContainsAny(name, "abcdefghijklmnopqrstuvwxyz") && name == strings.ToLower(name) && strings.EqualFold(strings.ReplaceAll(name, "_", ""), code.String()) {
			return code, true
		}
	}
	return 0, false
}

// envelopeError is the error in an answer of JSON-RPC, which a server may send with status 200; nil for any
// other text.
func envelopeError(text []byte) error {
	var e struct {
		Version string `json:"jsonrpc"`
		Error   json.RawMessage
	}
	if json.Unmarshal(text, &e) != nil || e.Version == "" || len(e.Error) == 0 || string(e.Error) == "null" {
		return nil
	}
	return weft.Errorf(weft.Unknown, "the server answered with an error of JSON-RPC, and not as package door/http does: %s; call it by jsonrpc+http:// or jsonrpc+https://", e.Error)
}

func (p *problem) error() error {
	e := weft.Errorf(weft.Unknown, "%s", p.Detail).WithReason(p.Reason)
	for code := weft.Canceled; code <= weft.Unauthenticated; code++ {
		if code.String() == p.Code {
			e.Code = code
		}
	}
	for _, o := range []weft.Outcome{weft.OutcomeUnknown, weft.NotSent, weft.Refused, weft.Executed} {
		if o.String() == p.Outcome {
			e.Outcome = o
		}
	}
	var details []weft.Detail
	if json.Unmarshal(p.Details, &details) != nil {
		return e
	}
	for _, d := range details {
		e = e.WithDetail(d.Type, d.Value)
	}
	return e
}

// OpenStream implements weft.WireStreamer.
func (c *httpConn) OpenStream(ctx context.Context, x *weft.WireCall) (weft.RawStream, error) {
	ctx, cancel := context.WithCancel(ctx)
	in, out := io.Pipe()
	r, err := c.request(ctx, x, in)
	if err != nil {
		cancel()
		return nil, err
	}
	s := &httpStream{conn: c, ctx: ctx, cancel: cancel, call: x, out: out, answered: make(chan struct{})}
	// It ends with the answer, or with ctx.
	go func() {
		defer close(s.answered)
		s.answer, s.err = c.roundTrip(r)
		if s.err != nil {
			_ = out.CloseWithError(io.EOF) // a Send that waits ends
		}
	}()
	return s, nil
}

// httpStream is a streaming call: values of JSON in the request, and in the answer.
type httpStream struct {
	conn     *httpConn
	ctx      context.Context
	cancel   context.CancelFunc
	call     *weft.WireCall
	out      *io.PipeWriter
	answered chan struct{}
	answer   *http.Response
	err      error
	values   *json.Decoder
	single   bool // the answer is one message
}

// Context implements weft.RawStream.
func (s *httpStream) Context() context.Context { return s.ctx }

// Send implements weft.RawStream.
func (s *httpStream) Send(msg any) error {
	body, err := asJSON().Append(nil, msg)
	if err != nil {
		return weft.Errorf(weft.InvalidArgument, "encode a message: %w", err).WithReason(weft.ReasonEncode)
	}
	if _, err := s.out.Write(append(body, '\n')); err != nil {
		return io.EOF // the error of the call comes from Recv
	}
	return nil
}

// CloseSend implements weft.RawStream.
func (s *httpStream) CloseSend() error { return s.out.Close() }

// Close implements weft.RawStream.
func (s *httpStream) Close() error {
	s.cancel()
	_ = s.out.CloseWithError(context.Canceled)
	<-s.answered
	if s.answer != nil {
		return s.answer.Body.Close()
	}
	return nil
}

// Recv implements weft.RawStream.
func (s *httpStream) Recv(msg any) error {
	<-s.answered
	if s.err != nil {
		return s.conn.failed(s.ctx, s.call.Method, s.err)
	}
	if s.values == nil {
		if s.answer.StatusCode/100 != 2 {
			text, err := io.ReadAll(io.LimitReader(s.answer.Body, weft.DefaultMaxMessage))
			if err != nil {
				return s.conn.failed(s.ctx, s.call.Method, err)
			}
			return problemOf(s.call.Method, s.answer, text)
		}
		s.call.ReplyMetadata = metadataOf(s.answer.Header)
		s.single = !strings.HasPrefix(s.answer.Header.Get("Content-Type"), "application/x-ndjson")
		s.values = json.NewDecoder(s.answer.Body)
	}
	var value json.RawMessage
	switch err := s.values.Decode(&value); {
	case errors.Is(err, io.EOF):
		return io.EOF
	case errors.As(err, new(*json.SyntaxError)):
		return notDoor(s.call.Method, "the server answered %s with %s, which is no JSON", s.answer.Status, kindOf(s.answer))
	case err != nil:
		return s.conn.failed(s.ctx, s.call.Method, fmt.Errorf("read a message: %w", err))
	case s.single:
		if err := envelopeError(value); err != nil {
			return err
		}
		if err := s.conn.isDoor(s.ctx); err != nil {
			return notDoor(s.call.Method, "%w", err)
		}
		return asJSON().Decode(value, msg)
	}
	var line struct {
		Result json.RawMessage
		Error  *problem
	}
	if err := json.Unmarshal(value, &line); err != nil {
		return weft.Errorf(weft.Internal, "a line of the answer is no message: %w", err)
	}
	if line.Error != nil {
		return line.Error.error()
	}
	return asJSON().Decode(line.Result, msg)
}
