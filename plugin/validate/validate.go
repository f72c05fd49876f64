// Package validate has requests checked by themselves: one that has a method Validate() error is
// refused with InvalidArgument when that returns an error.
//
//	srv := weft.NewServer(&weft.ServerConfig{Plugins: []weft.Plugin{validate.Plugin()}})
//
// On a server it runs before the handler, for unary requests and for every message of a stream
// that comes in. On a client it runs before anything is sent.
package validate

import (
	"context"
	"errors"

	"github.com/weftrpc/weft"
)

// Reason is the Error.Reason of a request that is not valid.
const Reason = "NOT_VALID"

// Validator is a message that can tell what is wrong with it.
type Validator interface{ Validate() error }

// FieldError is a detail of the error of a request that is not valid: one for each of the errors
// that Validate has joined. weft.Details finds them.
type FieldError struct {
	Field   string // of an error that has a method Field() string; "": it is not known
	Message string
}

// DetailType names the detail.
func (FieldError) DetailType() string { return "weft.FieldError" }

// maxDetails is how many details an error has at most.
const maxDetails = 20

// Plugin is for servers and clients.
func Plugin() weft.Plugin {
	return weft.Plugin{Name: "validate", Server: serve, ServerStream: serveStream, Client: call, ClientStream: open}
}

// check returns what is wrong with a message.
func check(msg any, outcome weft.Outcome) error {
	v, ok := msg.(Validator)
	if !ok {
		return nil
	}
	wrong := v.Validate()
	if wrong == nil {
		return nil
	}
	e := weft.Errorf(weft.InvalidArgument, "the request is not valid: %v", wrong).WithReason(Reason)
	for _, one := range parts(wrong) {
		d := FieldError{Message: one.Error()}
		var named interface{ Field() string }
		if errors.As(one, &named) {
			d.Field = named.Field()
		}
		e = e.With(d)
	}
	e.Outcome = outcome
	return e
}

// parts are the errors that were joined.
func parts(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		all := joined.Unwrap()
		return all[:min(len(all), maxDetails)]
	}
	return []error{err}
}

func serve(ctx context.Context, info *weft.CallInfo, req any, next weft.UnaryFunc) (any, error) {
	if err := check(req, weft.Refused); err != nil {
		return nil, err
	}
	return next(ctx, info, req)
}

func call(ctx context.Context, info *weft.CallInfo, req any, next weft.UnaryFunc) (any, error) {
	if err := check(req, weft.NotSent); err != nil {
		return nil, err
	}
	return next(ctx, info, req)
}

func serveStream(ctx context.Context, info *weft.CallInfo, stream weft.RawStream, next weft.StreamFunc) error {
	return next(ctx, info, received{stream})
}

func open(ctx context.Context, info *weft.CallInfo, next weft.OpenFunc) (weft.RawStream, error) {
	stream, err := next(ctx, info)
	if err != nil {
		return nil, err
	}
	return sent{stream}, nil
}

// received checks what comes in.
type received struct{ weft.RawStream }

// Recv implements weft.RawStream.
func (r received) Recv(msg any) error {
	if err := r.RawStream.Recv(msg); err != nil {
		return err
	}
	return check(msg, weft.Executed)
}

// sent checks what goes out. The stream goes on after a message that is not valid.
type sent struct{ weft.RawStream }

// Send implements weft.RawStream.
func (s sent) Send(msg any) error {
	if err := check(msg, weft.NotSent); err != nil {
		return err
	}
	return s.RawStream.Send(msg)
}
