package thrift

import (
	"strings"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/internal/errtext"
	"github.com/weftrpc/weft/door/thrift/internal/protocol"
)

// The codes of TApplicationException that are told here.
const (
	codeUnknownMethod    int32 = 1
	codeInternalError    int32 = 6
	codeProtocolError    int32 = 7
	codeInvalidTransform int32 = 8
	codeInvalidProtocol  int32 = 9
	codeUnsupported      int32 = 10
	codeValidationFailed int32 = 11
)

// exceptionOf is an error as a TApplicationException.
func exceptionOf(e *weft.Error) (code int32, text string) {
	switch {
	case e.Reason == weft.ReasonNoMethod && e.Code == weft.Unimplemented:
		return codeUnknownMethod, e.Message
	case e.Reason == weft.ReasonDecode && e.Outcome == weft.Refused:
		code = codeProtocolError
	case e.Code == weft.InvalidArgument:
		code = codeValidationFailed
	default:
		code = codeInternalError
	}
	plain := *e
	if plain.Reason == weft.ReasonNoMethod {
		plain.Reason = "" // a name that is too long is not repeated
	}
	return code, errtext.Of(&plain)
}

// errorOf is the error that a TApplicationException is.
func errorOf(code int32, text string) *weft.Error {
	e := errtext.Parse(text)
	coded := e.Code != weft.Unknown
	switch {
	case code == codeUnknownMethod:
		return &weft.Error{Code: weft.Unimplemented, Outcome: weft.Refused, Reason: weft.ReasonNoMethod, Message: text}
	case code == codeProtocolError && coded && e.Outcome == weft.Refused:
		e.Reason = weft.ReasonDecode
	case coded:
	case code == codeProtocolError, code == codeInvalidTransform, code == codeInvalidProtocol, code == codeUnsupported:
		e.Code = weft.Internal
	case code == codeValidationFailed:
		e.Code = weft.InvalidArgument
	}
	return e
}

// writeException appends a TApplicationException.
func writeException(w *protocol.Writer, code int32, text string) {
	w.Begin()
	w.Field(protocol.String, 1)
	w.Text(text)
	w.Field(protocol.I32, 2)
	w.I32(code)
	w.Stop()
	w.End()
}

// readException reads a TApplicationException.
func readException(r *protocol.Reader) (code int32, text string) {
	r.Enter()
	for {
		t, id := r.Field()
		switch {
		case t == protocol.Stop:
			r.Leave()
			return code, text
		case id == 1 && t == protocol.String:
			text = strings.ToValidUTF8(r.Text(), "\uFFFD")
		case id == 2 && t == protocol.I32:
			code = r.I32()
		default:
			r.Skip(t)
		}
	}
}
