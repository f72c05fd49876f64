package thrift

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	nethttp "net/http"
	"strconv"
	"strings"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/http"
	"github.com/weftrpc/weft/door/internal/httpbody"
	"github.com/weftrpc/weft/door/internal/httpfield"
	"github.com/weftrpc/weft/door/thrift/internal/header"
	"github.com/weftrpc/weft/door/thrift/internal/protocol"
)

// mediaType is that of Thrift over HTTP.
const mediaType = "application/x-thrift"

// Handler returns a handler for Thrift over POST, such as that of the THttpClient of its libraries, for the Handler of an http.Config of
// package door/http, at any path that its mux gives it. A body is one message in the binary, compact or JSON protocol, with or without a
// frame. Metadata, credentials and the time of the call are in the headers that package door/http defines. The answer to a message has the
// status 200, also when the call failed; the headers Weft-Code, Weft-Outcome and Weft-Reason tell why then.
func Handler(cfg *Config) nethttp.Handler { return handler{newDoor(cfg)} }

type handler struct{ d *door }

// ServeHTTP answers one message.
func (h handler) ServeHTTP(w nethttp.ResponseWriter, r *nethttp.Request) {
	c := http.ConnFrom(r.Context())
	if c == nil {
		nethttp.Error(w, "thrift: the handler is not that of a door: put it into the Handler of an http.Config", nethttp.StatusInternalServerError)
		return
	}
	if r.Method != nethttp.MethodPost {
		w.Header().Set("Allow", nethttp.MethodPost)
		nethttp.Error(w, "Thrift is called by POST", nethttp.StatusMethodNotAllowed)
		return
	}
	// Forms, which a page of another origin could send unasked, are refused.
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != mediaType && !strings.HasPrefix(kind, "application/vnd.apache.thrift.") {
		nethttp.Error(w, "Thrift has the Content-Type "+mediaType, nethttp.StatusUnsupportedMediaType)
		return
	}
	head, err := http.HeadOf(r)
	if err != nil {
		http.WriteError(w, err)
		return
	}
	s := &serverConn{DoorConn: c, door: h.d, limits: c.Limits(), head: &head, watch: r.Context()}
	held := &httpbody.Held{R: nethttp.MaxBytesReader(w, r.Body, int64(s.mostFrame())), Conn: c}
	defer held.Release()
	body, err := io.ReadAll(held)
	if large := (*nethttp.MaxBytesError)(nil); errors.As(err, &large) {
		e := s.tooLarge(0)
		e.Message = fmt.Sprintf("the request has more than %d bytes, Limits.MaxMessage of the server allows %d and a header", large.Limit, s.limits.MaxMessage)
		http.WriteError(w, e)
		return
	}
	if full, ok := errors.AsType[*weft.Error](err); ok {
		full.Outcome = weft.Refused
		http.WriteError(w, full)
		return
	}
	if err != nil {
		http.WriteError(w, weft.Errorf(weft.InvalidArgument, "the body of the request cannot be read: %w", err))
		return
	}
	http.BodyRead(w)
	d, message, err := protocol.Single(body)
	if err != nil {
		http.WriteError(w, broken(err))
		return
	}
	held.Release() // the call counts its request
	answer := &response{w: w}
	s.web = answer
	s.out = newOutbox(answer, s.limits.WriteBuffer, s.limits.WriteTimeout, func(n int) { c.Hold(n) }, nil)
	_, err = s.message(d, message)
	<-s.out.drain()
	s.out.close()
	switch {
	case answer.begun:
	case err != nil:
		http.WriteError(w, err)
	default: // a one-way call
		w.Header().Set("Content-Type", mediaType)
		w.WriteHeader(nethttp.StatusOK)
	}
}

// response writes the reply to a message as the body of a response. It has what an outbox needs of a connection.
type response struct {
	w     nethttp.ResponseWriter
	begun bool
}

// tell puts what goes with a reply into the header: metadata, and what the error of a call is, if it failed.
func (a *response) tell(m weft.Metadata, e *weft.Error) {
	if a == nil {
		return
	}
	h := a.w.Header()
	http.SetMetadata(h, m)
	if e == nil {
		return
	}
	h.Set(header.Code, e.Code.String())
	h.Set(header.Outcome, e.Outcome.String())
	if httpfield.IsToken(strings.ToLower(e.Reason)) {
		h.Set(header.Reason, e.Reason)
	}
}

// Write implements io.Writer. It is called with a whole reply.
func (a *response) Write(b []byte) (int, error) {
	if !a.begun {
		a.begun = true
		h := a.w.Header()
		h.Set("Content-Type", mediaType)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Content-Length", strconv.Itoa(len(b)))
		a.w.WriteHeader(nethttp.StatusOK)
	}
	return a.w.Write(b)
}

// SetWriteDeadline does nothing: the connection has bounds of its own.
func (*response) SetWriteDeadline(time.Time) error { return nil }

// Close does nothing: an error of the connection ends it.
func (*response) Close() error { return nil }

// sink is where an outbox writes.
type sink interface {
	io.WriteCloser
	SetWriteDeadline(t time.Time) error
}

// start has a call run on a goroutine of its own. Its context ends with that of the request over HTTP that it came by.
func (s *serverConn) start(x *call) {
	stop := func() bool { return true }
	if s.watch != nil {
		stop = context.AfterFunc(s.watch, x.Cancel)
	}
	s.Go(func() {
		defer stop()
		x.Run()
	})
}
