// Package stub has what the stubs of "weft generate" call: streams as iterators, so that a
// client of a service has the methods of the service itself. It may be called by hand too.
//
// A message may be kept. An error, if there is one, comes last, with a nil message.
package stub

import (
	"context"
	"errors"
	"io"
	"iter"

	"github.com/weftrpc/weft"
)

// Receive calls a method that gets one request and sends many messages, when the iterator is
// used. Leaving the loop ends the call.
func Receive[Res, Req any](ctx context.Context, c weft.StreamCaller, method string, req *Req, opts ...weft.CallOption) iter.Seq2[*Res, error] {
	return func(yield func(*Res, error) bool) {
		s, err := weft.Subscribe[Res](ctx, c, method, req, opts...)
		if err != nil {
			yield(nil, err)
			return
		}
		defer s.Close()
		s.All()(yield)
	}
}

// Send calls a method that gets many messages and sends one reply. An error of the iterator
// cancels the call and is returned.
func Send[Res, Req any](ctx context.Context, c weft.StreamCaller, method string, in iter.Seq2[*Req, error], opts ...weft.CallOption) (*Res, error) {
	if in == nil {
		return nil, noMessages(method)
	}
	s, err := weft.OpenStream[Req, Res](ctx, c, method, opts...)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	// A method that has ended without all messages has sent its reply, or an error.
	if err := SendAll(s, in); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return s.CloseAndRecv()
}

// Exchange calls a method in which both sides send many messages, when the iterator is
// used. Leaving the loop ends the call. in is used by a goroutine, which ends with in, or at
// its next message when the call has ended. An error of in cancels the call, and comes last.
func Exchange[Res, Req any](ctx context.Context, c weft.StreamCaller, method string, in iter.Seq2[*Req, error], opts ...weft.CallOption) iter.Seq2[*Res, error] {
	return func(yield func(*Res, error) bool) {
		if in == nil {
			yield(nil, noMessages(method))
			return
		}
		s, err := weft.OpenStream[Req, Res](ctx, c, method, opts...)
		if err != nil {
			yield(nil, err)
			return
		}
		defer s.Close()
		failed := make(chan error, 1)
		go func() { // ends with in, or when the call has ended
			switch err := SendAll(s, in); {
			case err == nil:
				_ = s.CloseSend() // it fails when the call has ended
			case !errors.Is(err, io.EOF):
				failed <- err
				s.Close()
			}
		}()
		for msg, err := range s.All() {
			if err != nil {
				select {
				case err = <-failed: // which is why the call has ended
				default:
				}
			}
			if !yield(msg, err) {
				return
			}
		}
	}
}

// noMessages is the error of a call whose iterator is nil.
func noMessages(method string) error {
	return &weft.Error{Code: weft.InvalidArgument, Outcome: weft.NotSent, Method: method, Message: "the iterator over the messages is nil"}
}

// SendAll sends the messages of an iterator. It stops at an error of either. A nil iterator, which a service has returned, is an error.
func SendAll[Out any](to interface{ Send(*Out) error }, from iter.Seq2[*Out, error]) error {
	if from == nil {
		return weft.Errorf(weft.Internal, "the iterator over the messages is nil")
	}
	for msg, err := range from {
		if err != nil {
			return err
		}
		if err := to.Send(msg); err != nil {
			return err
		}
	}
	return nil
}
