package connect

import (
	"context"
	"encoding/base64"
	"errors"
	"io"
	nethttp "net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/internal/httpbody"
)

// stream is the server's end of a call whose messages have envelopes: a streaming call, or any of
// gRPC-Web. It implements weft.RawStream.
type stream struct {
	in    *inbound
	ctx   context.Context
	body  io.Reader
	alone bool // the client sends one message
	asked bool // a message was asked for

	duplex httpbody.Duplex // of a method that receives many messages

	head    sync.Once // sets leading and at
	leading []string  // metadata that travels in the header, names and values in turn
	at      int       // how many pairs the metadata had then
	sent    atomic.Bool

	mu      sync.Mutex // of what follows, and of writing
	started bool
}

// begin is called when the call has been let in.
func (s *stream) begin(ctx context.Context) {
	s.ctx = ctx
	s.alone = s.in.kind == weft.ServerStream
	if s.alone {
		return
	}
	s.duplex.Begin(ctx, s.in.w, s.in.r)
}

// Context implements weft.RawStream.
func (s *stream) Context() context.Context { return s.ctx }

// CloseSend implements weft.RawStream.
func (s *stream) CloseSend() error { return nil }

// Close implements weft.RawStream.
func (s *stream) Close() error { return nil }

// next reads the next message; io.EOF: there is none.
func (s *stream) next() ([]byte, error) {
	if s.alone && s.asked {
		return nil, io.EOF
	}
	s.asked = true
	s.in.release() // the message before this one
	limit := s.in.x.Limits().MaxMessage
	flags, b, err := readEnvelope(s.body, theServer, limit)
	if err == io.EOF {
		s.duplex.Whole()
		return nil, err
	}
	if err != nil {
		return nil, s.readError(err)
	}
	s.in.read.Add(int64(len(b)))
	switch {
	case flags > flagCompressed:
		return nil, refusal(weft.Internal, weft.ReasonProtocol, "a message begins with the flags %d, want 0 or 1", flags)
	case flags == flagCompressed && s.in.restore == nil:
		return nil, refusal(weft.Internal, weft.ReasonDecompress, "a message is compressed, and no header says how")
	case flags == flagCompressed:
		if b, err = restored(s.in.call.Restoring(s.in.restore), b, theServer, limit); err != nil {
			return nil, err
		}
	}
	if s.alone {
		if _, _, err := readEnvelope(s.body, theServer, limit); err == nil {
			return nil, refusal(weft.Unimplemented, weft.ReasonProtocol, "more than one message came for a method that takes one")
		} else if err != io.EOF {
			return nil, s.readError(err)
		}
		_ = s.in.control.SetReadDeadline(time.Time{}) // net/http reads to notice that the client has gone
	}
	return b, nil
}

// readError is the error of a body that cannot be read.
func (s *stream) readError(err error) error {
	known, ok := errors.AsType[*weft.Error](err)
	switch {
	case ok:
		return known
	case s.ctx != nil && s.ctx.Err() != nil:
		return weft.Errorf(weft.CodeOf(s.ctx.Err()), "%w", s.ctx.Err())
	case errors.Is(err, errWithin), s.alone:
		return s.in.bodyError(err)
	}
	s.in.call.Cancel()
	return weft.Errorf(weft.Canceled, "the client has gone: %w", err)
}

// Recv implements weft.RawStream.
func (s *stream) Recv(msg any) error {
	first := !s.asked
	b, err := s.next()
	if err == io.EOF && s.alone && first {
		return refusal(weft.Unimplemented, weft.ReasonProtocol, "no message came for a method that takes one")
	}
	if err != nil {
		return err
	}
	return s.in.call.DecodeBody(s.in.codec, b, msg)
}

// Send implements weft.RawStream.
func (s *stream) Send(msg any) error {
	if err := s.ctx.Err(); err != nil {
		return err
	}
	b, err := s.in.envelope(msg)
	if err != nil {
		return err
	}
	s.lead(s.in.call.ReplyMetadata())
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sent.Store(true)
	s.startLocked()
	return s.writeLocked(b)
}

// lead finds out what of the metadata travels in the header, once.
func (s *stream) lead(m weft.Metadata) {
	s.head.Do(func() {
		s.at = m.Len()
		s.leading, _ = s.in.divide(m, s.at)
	})
}

// startLocked sends the header, once. lead was called.
func (s *stream) startLocked() {
	if s.started {
		return
	}
	s.started = true
	s.duplex.Head(s.in.w.Header())
	h := s.in.w.Header()
	addFields(h, "", s.leading)
	set(h, "Content-Type", s.in.form.kind)
	set(h, "Cache-Control", "no-store")
	set(h, "X-Accel-Buffering", "no")
	set(h, "X-Content-Type-Options", "nosniff")
	if s.in.pack != nil {
		if s.in.protocol == grpcWeb {
			set(h, headerGRPCEnc, s.in.pack.Name())
		} else {
			set(h, headerEncoding, s.in.pack.Name())
		}
	}
	s.in.w.WriteHeader(nethttp.StatusOK)
}

// writeLocked sends bytes at once.
func (s *stream) writeLocked(b []byte) error {
	if s.in.text {
		b = base64.StdEncoding.AppendEncode(nil, b)
	}
	_, err := s.in.w.Write(b)
	if err == nil {
		err = s.in.control.Flush()
	}
	if err != nil {
		if s.in.call != nil {
			s.in.call.Cancel()
		}
		return weft.Errorf(weft.Canceled, "the client has gone: %w", err)
	}
	return nil
}

// end ends the call: b is what is sent before its end, e is nil if it went well.
func (s *stream) end(b []byte, e *weft.Error, m weft.Metadata) {
	s.lead(m)
	_, trailing := s.in.divide(m, s.at)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.duplex.Answered()
	s.startLocked()
	_ = s.writeLocked(append(b, s.in.ending(e, trailing)...)) // an error is that of the connection
}

// rest reads what is left of the request.
func (s *stream) rest() { s.duplex.Rest() }

// ending is what ends the messages.
func (in *inbound) ending(e *weft.Error, trailing []string) []byte {
	if in.protocol == streaming {
		var end ending
		if e != nil {
			end.Error = failureOf(e)
			trailing = append(trailing, marks(e)...)
		}
		end.Metadata = joined(trailing)
		return appendFlagged(nil, flagEnd, asJSON(end))
	}
	var b strings.Builder
	for i, fields := 0, append(trailers(e), trailing...); i < len(fields); i += 2 {
		b.WriteString(fields[i] + ": " + fields[i+1] + "\r\n")
	}
	return appendFlagged(nil, flagTrailers, []byte(b.String()))
}

// finish ends the call well.
func (s *stream) finish(m weft.Metadata) error {
	if s.in.kind == weft.ClientStream && !s.sent.Load() {
		return weft.Errorf(weft.Internal, "the handler ended the call without a reply")
	}
	s.end(nil, nil, m)
	return nil
}
