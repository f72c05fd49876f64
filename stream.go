package weft

import (
	"context"
	"errors"
	"io"
	"iter"
	"sync"

	"github.com/weftrpc/weft/internal/session"
	"github.com/weftrpc/weft/internal/wire"
)

// Stream is one end of a streaming call: it receives messages of type In and sends messages of type Out. The server's end of a method is a
// Stream[Req, Res], the client's a Stream[Res, Req]. One goroutine may send while another receives; two must not do the same at once.
//
// A stream has the deadline of its caller's context and none otherwise. It ends for client and server when the handler returns, when the
// caller's context ends, or when the connection is lost.
type Stream[In, Out any] struct{ end RawStream }

// Recv receives the next message. It returns io.EOF when the peer has sent its last
// one and the call has not failed, and otherwise the error of the call.
func (s *Stream[In, Out]) Recv() (*In, error) { return recv[In](s.end) }

// All yields every message until the end. An error, if there is one, comes last, with a nil message.
func (s *Stream[In, Out]) All() iter.Seq2[*In, error] { return all[In](s.end) }

// Send sends a message, which may be changed afterwards. It waits while the peer has not read more than Limits.StreamWindow of what was sent. On
// a client, an error means that the call has ended, also if only the message cannot be sent; io.EOF means that it ended without an error before all
// was read. The outcome NotSent is about the message alone: Recv returns the error with the outcome of the call, which was opened before.
func (s *Stream[In, Out]) Send(msg *Out) error { return send(s.end, msg) }

// CloseSend ends the messages of the client; the Recv of the server then returns io.EOF.
// On a server it does nothing: the stream ends when the handler returns.
func (s *Stream[In, Out]) CloseSend() error { return s.end.CloseSend() }

// CloseAndRecv ends the messages of the client and returns the one message that the server sends before it ends the call. A call that ends without
// an error and with no message, or with more than one, has another shape than the caller takes it for: its error is Unimplemented, as in gRPC.
func (s *Stream[In, Out]) CloseAndRecv() (*In, error) {
	if err := s.CloseSend(); err != nil {
		return nil, err
	}
	msg, err := s.Recv()
	switch {
	case errors.Is(err, io.EOF):
		return nil, miscounted("the call ended without a reply, and has exactly one")
	case err != nil:
		return nil, err
	}
	if _, err := s.Recv(); err == nil {
		s.Close()
		return nil, miscounted("the call sent more than one reply, and has exactly one")
	} else if !errors.Is(err, io.EOF) {
		return nil, err
	}
	return msg, nil
}

// Close cancels the call, if it has not ended, and frees its resources: the context of the handler ends, and Recv and
// Send fail with Canceled. On a server it does nothing. It need not be called after Recv or All has reported the end.
func (s *Stream[In, Out]) Close() error { return s.end.Close() }

// Context is the context of the call. It ends when the call does.
func (s *Stream[In, Out]) Context() context.Context { return s.end.Context() }

// Sender is the server's end of a method that sends many messages.
type Sender[Out any] struct{ end RawStream }

// Send sends a message; see Stream.
func (s *Sender[Out]) Send(msg *Out) error { return send(s.end, msg) }

// Receiver is the server's end of a method that gets many messages.
type Receiver[In any] struct{ end RawStream }

// Recv receives the next message; see Stream.
func (r *Receiver[In]) Recv() (*In, error) { return recv[In](r.end) }

// All yields every message until the end; see Stream.
func (r *Receiver[In]) All() iter.Seq2[*In, error] { return all[In](r.end) }

func send[Out any](end RawStream, msg *Out) error {
	if msg == nil { // which some codecs take for a message without content, and others refuse
		end.Close() // of a client: as with any message that cannot be sent
		e := Errorf(InvalidArgument, "the message is a nil %T", msg)
		e.Outcome = NotSent
		return e
	}
	return end.Send(msg)
}

func recv[In any](end RawStream) (*In, error) {
	msg := new(In)
	if err := end.Recv(msg); err != nil {
		return nil, err
	}
	return msg, nil
}

func all[In any](end RawStream) iter.Seq2[*In, error] {
	return func(yield func(*In, error) bool) {
		for {
			msg, err := recv[In](end)
			if errors.Is(err, io.EOF) || !yield(msg, err) || err != nil {
				return
			}
		}
	}
}

// recvOnly receives the one message of a call that has exactly one, and waits for the end behind it. A second one would be decoded into more.
func recvOnly(end interface{ Recv(msg any) error }, msg, more any) error {
	switch err := end.Recv(msg); {
	case errors.Is(err, io.EOF):
		return miscounted("no message came for a method that takes one")
	case err != nil:
		return err
	}
	switch err := end.Recv(more); {
	case errors.Is(err, io.EOF):
		return nil
	case err != nil && CodeOf(err) != InvalidArgument: // it can be decoded, or not
		return err
	}
	return miscounted("more than one message came for a method that takes one")
}

// miscounted is the error of a stream with more messages, or fewer, than its method has: it is called as a method of another kind.
func miscounted(why string) *Error {
	return &Error{Code: Unimplemented, Outcome: Executed, Message: why}
}

// rawStream is a RawStream on the wire, of either side.
type rawStream struct {
	s      *session.Stream
	ctx    context.Context
	method string
	peer   string
	server bool
	stop   func()     // of a client: releases the context's watch
	ended  func(Code) // of a client: counts the call
	meta   *Metadata
	stored sync.Once // meta, by the goroutine that sees the end first
}

func (e *rawStream) Context() context.Context { return e.ctx }

func (e *rawStream) Send(msg any) error {
	st := e.s.Send(msg)
	switch {
	case st == nil:
		return nil
	case st.Code == wire.OK:
		e.finish(0)
		return io.EOF
	}
	return e.error(st)
}

func (e *rawStream) Recv(msg any) error {
	more, st := e.s.Recv(msg)
	if more {
		return nil
	}
	if st == nil {
		e.finish(0)
		return io.EOF
	}
	return e.error(st)
}

func (e *rawStream) CloseSend() error {
	if e.server {
		return nil
	}
	if st := e.s.CloseSend(); st != nil {
		return e.error(st)
	}
	return nil
}

func (e *rawStream) Close() error {
	if !e.server {
		e.s.Cancel(&wire.Status{Code: wire.Canceled, Message: "the stream was closed by the caller"})
		e.finish(Canceled)
		e.stop() // also when another goroutine is ending the call at this moment
	}
	return nil
}

func (e *rawStream) error(st *wire.Status) error {
	e.finish(Code(st.Code))
	return fromStatus(st, e.method, e.peer)
}

// finish gives the caller what came with the end of the call, and counts it.
func (e *rawStream) finish(code Code) {
	if e.server || !e.s.Over() {
		return
	}
	e.ended(code)
	if e.meta != nil {
		e.stored.Do(func() { *e.meta = metadataOf(e.s.Meta()) })
	}
	if e.stop != nil {
		e.stop()
	}
}
