// Package errtext makes a text of an error, for wires whose errors are texts alone, and reads it
// back: "NotFound: no order 7", "ResourceExhausted (Refused): …".
package errtext

import (
	"strings"

	"github.com/weftrpc/weft"
)

// Of is the text of an error.
func Of(e *weft.Error) string {
	switch {
	case e.Reason == weft.ReasonNoMethod:
		return "rpc: can't find method " + e.Method
	case e.Code == weft.Unknown && e.Outcome != weft.Refused && e.Message != "":
		return e.Message
	}
	text := e.Code.String()
	if e.Outcome == weft.Refused {
		text += refusedMark
	}
	return text + ": " + e.Message
}

const refusedMark = " (Refused)"

// Parse reads the text of an error.
func Parse(text string) *weft.Error {
	e := &weft.Error{Code: weft.Unknown, Outcome: weft.Executed, Message: text}
	for _, start := range []string{"rpc: can't find method ", "rpc: can't find service ", "rpc: service/method request ill-formed"} {
		if strings.HasPrefix(text, start) {
			e.Code, e.Outcome, e.Reason = weft.Unimplemented, weft.Refused, weft.ReasonNoMethod
			return e
		}
	}
	name, message, found := strings.Cut(text, ": ")
	name, refused := strings.CutSuffix(name, refusedMark)
	if !found {
		return e
	}
	for code := weft.Canceled; code <= weft.Unauthenticated; code++ {
		if code.String() == name {
			e.Code, e.Message = code, message
			if refused {
				e.Outcome = weft.Refused
			}
			return e
		}
	}
	return e
}
