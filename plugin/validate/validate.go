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
	"github.com/weftrpc/weft/plugin/internal/checked"
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

// maxDetails is how many details an error has at most, which is how many travel.
const maxDetails = 16

// Plugin is for servers and clients.
func Plugin() weft.Plugin { return checked.Plugin("validate", check) }

// check returns what is wrong with a message.
func check(_ context.Context, _ string, msg any) *weft.Error {
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
