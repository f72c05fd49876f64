package http

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	nethttp "net/http"
	"strconv"
	"sync"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/internal/httpbody"
)

// sign is how often a client of server-sent events gets a sign of life.
const sign = 15 * time.Second

// stream is the server's end of a streaming call.
type stream struct {
	in      *inbound
	ctx     context.Context
	control *nethttp.ResponseController
	lines   *bufio.Reader
	buf     []byte // of chunks
	asked   bool   // the one request of a method that sends many was received

	body httpbody.Duplex // of a method that receives many messages

	mu      sync.Mutex // of what follows, and of writing
	sent    int
	started bool
	over    bool
	alive   *time.Timer
	reply   []byte // of a method that receives many
}

func newStream(in *inbound) *stream {
	return &stream{in: in, control: nethttp.NewResponseController(in.w)}
}

// begin is called when the call has been let in.
func (s *stream) begin(ctx context.Context) {
	s.ctx = ctx
	if s.in.a.t.Kind != weft.ServerStream {
		s.body.Begin(ctx, s.in.w, s.in.r)
		s.lines = bufio.NewReader(&s.in.held)
	}
}

// Context implements weft.RawStream.
func (s *stream) Context() context.Context { return s.ctx }

// CloseSend implements weft.RawStream.
func (s *stream) CloseSend() error { return nil }

// Close implements weft.RawStream.
func (s *stream) Close() error { return nil }

// Recv implements weft.RawStream.
func (s *stream) Recv(msg any) error {
	if s.in.a.t.Kind == weft.ServerStream {
		if s.asked {
			return io.EOF
		}
		s.asked = true
		return s.in.decodeRequest(msg)
	}
	for {
		if s.in.in.kind == typeBytes {
			return s.chunk(msg)
		}
		line, err := s.line()
		if err != nil {
			return err
		}
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		s.in.read.Add(int64(len(line)))
		return s.in.call.DecodeBody(s.in.in.codec, line, msg)
	}
}

// decodeRequest is Decode for the one request of a method that sends many messages.
func (in *inbound) decodeRequest(msg any) error {
	err := in.Decode(msg)
	if _, ok := errors.AsType[*weft.Error](err); err == nil || ok {
		return err
	}
	return weft.Errorf(weft.InvalidArgument, "decode the request with codec %s: %w", in.in.codec.Name(), err).WithReason(weft.ReasonDecode)
}

// line reads one line of the body.
func (s *stream) line() ([]byte, error) {
	s.in.held.Release() // the line before this one
	limit := s.in.x.Limits().MaxMessage
	var line []byte
	for {
		part, err := s.lines.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > limit:
			return nil, weft.Errorf(weft.ResourceExhausted, "a message has more than %d bytes, which Limits.MaxMessage of the server allows", limit).
				WithReason(weft.ReasonMessageTooLarge)
		case err == nil:
			return line, nil
		case errors.Is(err, bufio.ErrBufferFull):
		case err == io.EOF:
			s.body.Whole()
			if len(bytes.TrimSpace(line)) > 0 {
				return line, nil
			}
			return nil, io.EOF
		default:
			return nil, s.broken(err)
		}
	}
}

// maxChunk is the length of the longest message of a body that is bytes as they are.
const maxChunk = 32 << 10

// chunk receives what has come of a body that is bytes as they are.
func (s *stream) chunk(msg any) error {
	s.in.held.Release() // the chunk before this one
	if s.buf == nil {
		s.buf = make([]byte, min(maxChunk, s.in.x.Limits().MaxMessage))
	}
	for {
		n, err := s.lines.Read(s.buf)
		switch {
		case n > 0 && (err == nil || err == io.EOF):
			s.in.read.Add(int64(n))
			return s.in.call.DecodeBody(s.in.in.codec, s.buf[:n], msg)
		case err == io.EOF:
			s.body.Whole()
			return io.EOF
		case err != nil:
			return s.broken(err)
		}
	}
}

// broken is the error of a body that cannot be read.
func (s *stream) broken(err error) error {
	if s.ctx.Err() != nil {
		return s.ctx.Err()
	}
	if full, ok := errors.AsType[*weft.Error](err); ok {
		return full
	}
	s.in.call.Cancel()
	return weft.Errorf(weft.Canceled, "the client has gone: %w", err)
}

// Send implements weft.RawStream.
func (s *stream) Send(msg any) error {
	if err := s.ctx.Err(); err != nil {
		return err
	}
	body, err := s.in.encode(nil, msg)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.in.a.t.Kind == weft.ClientStream {
		s.reply = body
		return nil
	}
	if s.bytes() {
		return s.writeLocked(body)
	}
	s.sent++
	if s.events() {
		return s.writeLocked([]byte("id: "+strconv.Itoa(s.sent)+"\ndata: "), oneLine(body), []byte("\n\n"))
	}
	return s.writeLocked([]byte(`{"result":`), oneLine(body), []byte("}\n"))
}

// events reports whether the messages are sent as server-sent events.
func (s *stream) events() bool { return s.in.out.kind == typeSSE }

// bytes reports whether the messages are sent as they are, without a mark between them.
func (s *stream) bytes() bool { return s.in.out.kind == typeBytes }

// startLocked sends the header.
func (s *stream) startLocked() {
	if s.started {
		return
	}
	s.started = true
	s.body.Head(s.in.w.Header())
	h := s.in.w.Header()
	h.Set("Content-Type", s.in.out.kind)
	if s.events() {
		s.alive = time.AfterFunc(sign, s.live)
	}
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no")
	h.Set("X-Content-Type-Options", "nosniff")
	s.in.w.WriteHeader(nethttp.StatusOK)
}

// live sends a sign of life.
func (s *stream) live() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.over && s.writeLocked([]byte(":\n\n")) == nil {
		s.alive.Reset(sign)
	}
}

// writeLocked sends bytes at once.
func (s *stream) writeLocked(parts ...[]byte) error {
	s.startLocked()
	for _, p := range parts {
		if _, err := s.in.w.Write(p); err != nil {
			s.in.call.Cancel()
			return weft.Errorf(weft.Canceled, "the client has gone: %w", err)
		}
	}
	if err := s.control.Flush(); err != nil {
		s.in.call.Cancel()
		return weft.Errorf(weft.Canceled, "the client has gone: %w", err)
	}
	return nil
}

// endLocked stops what goes on beside the handler.
func (s *stream) endLocked() {
	s.over = true
	s.body.Head(s.in.w.Header())
	if s.alive != nil {
		s.alive.Stop()
	}
	s.body.Answered()
}

// rest reads what is left of the request.
func (s *stream) rest() { s.body.Rest() }

// finish ends the call well.
func (s *stream) finish(m weft.Metadata) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.in.a.t.Kind == weft.ClientStream {
		if s.reply == nil {
			return weft.Errorf(weft.Internal, "the handler ended the call without a reply")
		}
		s.endLocked()
		if !s.bytes() {
			s.in.out = s.in.tab.medias[typeJSON]
		}
		s.in.answer(s.reply, m)
		return nil
	}
	s.startLocked()
	s.endLocked()
	setMetadata(s.in.w.Header(), nethttp.TrailerPrefix, m)
	if s.events() {
		_ = s.writeLocked([]byte("event: end\ndata: {}\n\n"))
	}
	return nil
}

// fail ends the call with an error, if messages were sent already.
func (s *stream) fail(e *weft.Error, m weft.Metadata) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.endLocked()
	if !s.started {
		return false
	}
	if s.bytes() { // there is no place for an error
		s.in.cut.Store(true)
		return true
	}
	setMetadata(s.in.w.Header(), nethttp.TrailerPrefix, m)
	b := problemOf(e).bytes()
	if s.events() {
		_ = s.writeLocked([]byte("event: error\ndata: "), b, []byte("\n\n"))
	} else {
		_ = s.writeLocked([]byte(`{"error":`), b, []byte("}\n"))
	}
	return true
}
