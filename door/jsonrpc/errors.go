package jsonrpc

import (
	"bytes"
	"encoding/json"
	"errors"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/jsonrpc/internal/envelope"
)

// failureOf is an error as JSON-RPC 2.0 has it.
func failureOf(e *weft.Error) *envelope.Failure {
	f := &envelope.Failure{Code: envelope.ServerError - int(e.Code), Message: e.Message,
		Data: &envelope.Data{Code: e.Code.String(), Outcome: e.Outcome.String(), Reason: e.Reason}}
	for _, d := range e.Details {
		f.Data.Details = append(f.Data.Details, envelope.Detail(d))
	}
	switch {
	case e.Reason == weft.ReasonNoMethod:
		f.Code, f.Message, f.Data.Message = envelope.MethodNotFound, "Method not found", e.Message
	case e.Reason == weft.ReasonDecode && e.Outcome == weft.Refused:
		f.Code = envelope.InvalidParams
	case e.Code == weft.Internal:
		f.Code = envelope.InternalError
	}
	return f
}

// errorOf is the error that a response carries.
func errorOf(f *envelope.Failure) *weft.Error {
	e := &weft.Error{Code: weft.Unknown, Outcome: weft.Executed, Message: f.Message}
	switch n := envelope.ServerError - f.Code; {
	case f.Code == envelope.MethodNotFound:
		e.Code, e.Outcome, e.Reason = weft.Unimplemented, weft.Refused, weft.ReasonNoMethod
	case f.Code == envelope.InvalidParams:
		e.Code, e.Outcome, e.Reason = weft.InvalidArgument, weft.Refused, weft.ReasonDecode
	case f.Code == envelope.InvalidRequest || f.Code == envelope.ParseError:
		e.Code, e.Outcome = weft.Internal, weft.Refused
	case f.Code == envelope.InternalError:
		e.Code = weft.Internal
	case n >= int(weft.Canceled) && n <= int(weft.Unauthenticated):
		e.Code = weft.Code(n)
	}
	d := f.Data
	if d == nil {
		if len(f.Raw) <= maxCaught {
			e.Details = []weft.Detail{{Type: caughtType, Value: bytes.Clone(f.Raw)}}
		}
		return e
	}
	if code, outcome, ok := d.Names(); ok {
		e.Code = code
		if outcome != weft.NotSent { // that of a call that the server made itself
			e.Outcome = outcome
		}
	}
	e.Reason = d.Reason
	if d.Message != "" {
		e.Message = d.Message
	}
	for _, detail := range d.Details {
		e.Details = append(e.Details, weft.Detail(detail))
	}
	return e
}

const (
	// caughtType is the type of the detail that is the error object of a server of another kind.
	caughtType = "jsonrpc.error"
	// maxCaught is how many bytes such an object has at most.
	maxCaught = 16 << 10
)

// Caught returns the code and the data of the error object with which a server has answered a call on one of the wires: weft has codes
// of its own, and servers of other kinds say more by theirs. ok is false if err has none: a weft server tells its errors
// whole, and objects of more than 16 KiB are not kept.
func Caught(err error) (code int, data json.RawMessage, ok bool) {
	e, ok := errors.AsType[*weft.Error](err)
	if !ok {
		return 0, nil, false
	}
	for _, d := range e.Details {
		if d.Type == caughtType && envelope.Valid(d.Value) && d.Value[0] == '{' {
			f, data := envelope.ReadFailure(d.Value)
			return f.Code, data, true
		}
	}
	return 0, nil, false
}
