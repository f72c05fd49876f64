package http

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	nethttp "net/http"
	"runtime/debug"
	"strings"
	"sync"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/internal/websock"
)

// The close codes of a call by WebSocket: that of an error is closeError and the number of its code.
const (
	closeNormal = 1000
	closeError  = 4000
)

// subprotocol is the one that is chosen if a client offers it.
const subprotocol = "weft"

// socket is the server's end of a streaming call by WebSocket.
type socket struct {
	in   *inbound
	ctx  context.Context
	conn *websock.Conn // nil: the client was not told yet that it has one
	gone bool          // the request for a connection was answered with an error

	asked bool   // the one request of a method that sends many was received
	reply []byte // of a method that receives many

	reading sync.WaitGroup
	come    chan struct{} // has one when there may be something to receive
	room    chan struct{} // has one when there may be room
	mu      sync.Mutex    // of what follows
	queue   [][]byte      // messages that were not received
	size    int           // bytes that they hold
	ended   error         // what Recv returns behind them
}

func newSocket(in *inbound) *socket {
	return &socket{in: in, come: make(chan struct{}, 1), room: make(chan struct{}, 1)}
}

// begin is called when the call has been let in: the client gets its connection.
func (s *socket) begin(ctx context.Context) {
	s.ctx = ctx
	limits := s.in.x.Limits()
	conn, err := websock.Accept(s.in.w, s.in.r, []string{subprotocol}, websock.Config{
		Limit: limits.MaxMessage, Stall: limits.HandshakeTimeout, Idle: limits.PingIdle, Silence: limits.WriteTimeout, Write: limits.WriteTimeout,
		Count: func(n int) { s.in.x.Hold(n) }})
	if err != nil {
		s.gone = true
		s.ended = weft.Errorf(weft.Canceled, "the client asked for WebSocket in a wrong way: %w", err)
		s.in.call.Cancel()
		return
	}
	s.conn = conn
	// It ends with the connection, and rest waits for it.
	s.reading.Go(s.read)
}

// read takes messages off the connection until it ends, and holds on while too many were not received.
func (s *socket) read() {
	defer func() {
		if p := recover(); p != nil { // this goroutine has no caller that could
			s.in.x.Logger().Error("http: reading a WebSocket has panicked", "method", s.in.a.name, "panic", p, "stack", string(debug.Stack()))
			s.conn.Cut()
			s.end(weft.Errorf(weft.Internal, "the server failed to read the messages of the client"))
			s.in.call.Cancel()
		}
	}()
	whole := s.fromURL() // no message is taken any more
	for {
		b, err := s.conn.Next()
		switch {
		case err == nil:
		case errors.Is(err, websock.ErrTooLarge):
			s.end(weft.Errorf(weft.ResourceExhausted, "a message has more than %d bytes, which Limits.MaxMessage of the server allows", s.in.x.Limits().MaxMessage).
				WithReason(weft.ReasonMessageTooLarge))
			return
		case errors.Is(err, websock.ErrStalled):
			s.end(weft.Errorf(weft.DeadlineExceeded, "%w", err))
			return
		default:
			s.end(weft.Errorf(weft.Canceled, "the client has gone: %w", err))
			s.in.call.Cancel()
			return
		}
		switch {
		case whole:
			s.in.x.Hold(-cap(b))
		case len(b) == 0: // it holds nothing
			whole = true
			s.end(io.EOF)
		default:
			whole = s.in.a.t.Kind == weft.ServerStream
			if !s.put(b) {
				return // the call has ended
			}
		}
	}
}

// fromURL reports whether path and query have the request of a method that sends many messages.
func (s *socket) fromURL() bool {
	return s.in.a.t.Kind == weft.ServerStream && (s.in.a.r != nil || s.in.r.URL.RawQuery != "")
}

// put adds a message to the queue, and waits while it is full.
func (s *socket) put(b []byte) bool {
	window := s.in.x.Limits().StreamWindow
	s.mu.Lock()
	s.queue = append(s.queue, b)
	s.size += cap(b) + perMessage
	full := s.size > window
	s.mu.Unlock()
	tell(s.come)
	if !full {
		return true
	}
	s.conn.Hold(true)
	defer s.conn.Hold(false)
	for {
		select {
		case <-s.room:
		case <-s.ctx.Done():
			return false
		}
		s.mu.Lock()
		full = s.size > window
		s.mu.Unlock()
		if !full {
			return true
		}
	}
}

// perMessage is what a message counts in the queue beside its bytes.
const perMessage = 64

// tell leaves a note in a channel that has room for one.
func tell(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// end notes that no message comes any more.
func (s *socket) end(err error) {
	s.mu.Lock()
	if s.ended == nil || s.ended == io.EOF {
		s.ended = err
	}
	s.mu.Unlock()
	tell(s.come)
}

// Context implements weft.RawStream.
func (s *socket) Context() context.Context { return s.ctx }

// CloseSend implements weft.RawStream.
func (s *socket) CloseSend() error { return nil }

// Close implements weft.RawStream.
func (s *socket) Close() error { return nil }

// Recv implements weft.RawStream.
func (s *socket) Recv(msg any) error {
	if s.in.a.t.Kind == weft.ServerStream {
		if s.asked {
			return io.EOF
		}
		s.asked = true
		if s.fromURL() {
			return s.in.decodeRequest(msg)
		}
	}
	b, err := s.take()
	if err != nil {
		return err
	}
	defer s.in.x.Hold(-cap(b))
	s.in.read.Add(int64(len(b)))
	return s.in.call.DecodeBody(s.in.in.codec, b, msg)
}

// take waits for the next message. The caller counts off what it holds.
func (s *socket) take() ([]byte, error) {
	for {
		s.mu.Lock()
		if len(s.queue) > 0 {
			b := s.queue[0]
			s.queue[0] = nil
			s.queue = s.queue[1:]
			s.size -= cap(b) + perMessage
			s.mu.Unlock()
			tell(s.room)
			return b, nil
		}
		ended := s.ended
		s.mu.Unlock()
		switch {
		case s.ctx.Err() != nil:
			return nil, s.ctx.Err()
		case ended != nil:
			return nil, ended
		}
		select {
		case <-s.come:
		case <-s.ctx.Done():
		}
	}
}

// Send implements weft.RawStream.
func (s *socket) Send(msg any) error {
	if err := s.ctx.Err(); err != nil {
		return err
	}
	body, err := s.in.encode(nil, msg)
	if err != nil {
		return err
	}
	if s.in.a.t.Kind == weft.ClientStream {
		s.reply = body
		return nil
	}
	return s.result(body)
}

// result sends a message of the method.
func (s *socket) result(body []byte) error {
	b := make([]byte, 0, len(body)+len(`{"result":}`))
	b = append(append(append(b, `{"result":`...), body...), '}')
	if err := s.conn.Send(b); err != nil {
		s.in.call.Cancel()
		return weft.Errorf(weft.Canceled, "the client has gone: %w", err)
	}
	return nil
}

// finish ends the call well.
func (s *socket) finish(m weft.Metadata) error {
	if s.in.a.t.Kind == weft.ClientStream && s.reply == nil {
		return weft.Errorf(weft.Internal, "the handler ended the call without a reply")
	}
	if s.conn == nil {
		return nil
	}
	if s.reply != nil && s.result(s.reply) != nil {
		return nil // the client has gone
	}
	if last := lastOf(nil, m); last != nil {
		_ = s.conn.Send(last) // an error is that of the connection
	}
	s.conn.Close(closeNormal, "")
	return nil
}

// fail ends the call with an error, if the client has its connection.
func (s *socket) fail(e *weft.Error, m weft.Metadata) bool {
	if s.conn == nil {
		return s.gone
	}
	if s.conn.Send(lastOf(problemOf(e).bytes(), m)) == nil {
		s.conn.Close(closeError+int(e.Code), e.Message)
	}
	return true
}

// rest ends what is left of the connection.
func (s *socket) rest() {
	if s.conn == nil {
		return
	}
	s.conn.Cut()
	s.reading.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range s.queue { // they were not received
		s.in.x.Hold(-cap(b))
	}
	s.queue = nil
}

// lastOf is the message behind those of the method, if there is something to tell.
func lastOf(problem []byte, m weft.Metadata) []byte {
	var last struct {
		Error    json.RawMessage     `json:"error,omitempty"`
		Metadata map[string][]string `json:"metadata,omitempty"`
	}
	last.Error = problem
	if h := make(nethttp.Header); m.Len() > 0 {
		setMetadata(h, "", m)
		last.Metadata = make(map[string][]string, len(h))
		for name, values := range h {
			last.Metadata[strings.ToLower(name)] = values
		}
	}
	if problem == nil && last.Metadata == nil {
		return nil
	}
	b, err := json.Marshal(last)
	if err != nil {
		return nil // it is JSON and strings
	}
	return b
}
