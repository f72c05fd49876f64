// Package exchange gives requests of HTTP/2 that are none of gRPC to handlers of net/http.
package exchange

import (
	"context"
	"errors"
	"fmt"
	nethttp "net/http"
	"net/url"
	"runtime/debug"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/grpc"
	"github.com/weftrpc/weft/door/internal/http2"
)

// server is what answers the requests of one connection.
type server struct {
	*weft.DoorConn
	peer    *weft.Peer
	handler nethttp.Handler
	held    atomic.Int64 // bytes of bodies that have come and were not read
	running atomic.Int64 // requests whose handlers have not returned
}

// slack is how many requests more than calls may run on a connection. It is twice what the door of gRPC lets a client have open beside calls: the
// client may open the next stream when it has seen the end of an answer, and the handler's goroutine returns a little later.
const slack = 2 * 128

// New returns what has a handler answer the requests of a connection. The handler runs on a worker
// of the server.
func New(c *weft.DoorConn, p *weft.Peer, h nethttp.Handler) grpc.Other {
	return &server{DoorConn: c, peer: p, handler: h}
}

// exchange is one request and its answer.
type exchange struct {
	s      *server
	conn   *http2.Conn
	st     *http2.Stream
	req    *nethttp.Request
	cancel context.CancelFunc
	body   body
	answer answer
}

// Open implements grpc.Other.
func (s *server) Open(conn *http2.Conn, st *http2.Stream, fields []string, end bool) grpc.Request {
	if s.running.Add(1) > int64(s.Limits().MaxCalls)+slack {
		// The client has reset streams whose handlers go on: those are not among the streams that the connection counts.
		s.running.Add(-1)
		conn.Lock()
		conn.ResetLocked(st, http2.RefusedStream) // the reader flushes
		conn.Unlock()
		return refused{}
	}
	ctx, cancel := context.WithCancel(context.Background())
	x := &exchange{s: s, conn: conn, st: st, cancel: cancel}
	x.body.init(x, end)
	x.answer.x = x
	x.answer.header = make(nethttp.Header)
	r := &nethttp.Request{Proto: "HTTP/2.0", ProtoMajor: 2, Header: make(nethttp.Header), Body: &x.body, ContentLength: -1,
		RemoteAddr: s.peer.Addr().String(), TLS: s.peer.TLS()}
	if end {
		r.ContentLength, r.Body = 0, nethttp.NoBody
	}
	wrong := x.read(r, fields)
	x.req = r.WithContext(ctx)
	x.answer.ctx = ctx
	s.Go(func() { x.serve(wrong) })
	return x
}

// refused is a request whose stream was reset at once.
type refused struct{}

func (refused) Data([]byte, bool) {}
func (refused) Closed()           {}

// read takes over the fields of a header. It reports what is wrong with them.
func (x *exchange) read(r *nethttp.Request, fields []string) (wrong string) {
	for i := 0; i < len(fields); i += 2 {
		name, value := fields[i], fields[i+1]
		switch name {
		case ":method":
			r.Method = value
		case ":path":
			r.RequestURI = value
		case ":authority":
			r.Host = value
		case ":scheme":
		case "host":
			if r.Host == "" {
				r.Host = value
			}
		case "content-length":
			if n, err := strconv.ParseInt(value, 10, 63); err == nil && r.ContentLength != 0 {
				r.ContentLength = n
			}
		default:
			key := nethttp.CanonicalHeaderKey(name)
			r.Header[key] = append(r.Header[key], value)
		}
	}
	if cookies := r.Header["Cookie"]; len(cookies) > 1 { // HTTP/2 lets a client divide them
		r.Header["Cookie"] = []string{strings.Join(cookies, "; ")}
	}
	var err error
	if r.URL, err = url.ParseRequestURI(r.RequestURI); err != nil {
		r.URL = &url.URL{Path: "/"}
		return "the path of the request is none"
	}
	return ""
}

// serve runs the handler.
func (x *exchange) serve(wrong string) {
	defer x.s.running.Add(-1)
	done := false
	stop := context.AfterFunc(x.req.Context(), x.wake)
	defer func() {
		stop()
		p := recover()
		if p != nil && p != nethttp.ErrAbortHandler {
			x.s.Logger().Error("http: a handler panicked", "path", x.req.URL.Path, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
		}
		switch {
		case done:
		case p == nil && x.answer.status != 0: // the handler has answered, and ended its goroutine
			x.finish()
		default:
			x.reset(http2.InternalError)
		}
		x.body.close()
		x.cancel()
	}()
	if wrong != "" {
		nethttp.Error(&x.answer, wrong, nethttp.StatusBadRequest)
	} else {
		x.s.handler.ServeHTTP(&x.answer, x.req)
	}
	x.finish()
	done = true
}

// finish sends what is left of the answer.
func (x *exchange) finish() {
	if err := x.answer.finish(); err != nil && !errors.Is(err, context.Canceled) {
		x.s.Logger().Debug("http: the answer was not sent", "path", x.req.URL.Path, "error", err)
	}
}

// wake has what waits for the peer look at the context again.
func (x *exchange) wake() {
	x.body.wake()
	x.conn.Lock()
	x.conn.WakeLocked(x.st)
	x.conn.Unlock()
}

// reset ends the stream at once.
func (x *exchange) reset(code http2.ErrCode) {
	x.conn.Lock()
	x.conn.ResetLocked(x.st, code)
	x.conn.FlushAndUnlock(false)
}

// Data implements grpc.Request.
func (x *exchange) Data(p []byte, end bool) {
	if x.body.push(p, end) {
		return
	}
	x.conn.Lock()
	x.conn.ResetLocked(x.st, http2.EnhanceYourCalm) // the reader flushes
	x.conn.Unlock()
	x.Closed()
}

// Closed implements grpc.Request.
func (x *exchange) Closed() {
	x.body.lose()
	x.cancel()
}
