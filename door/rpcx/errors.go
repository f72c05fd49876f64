package rpcx

import (
	"bytes"
	"context"
	"strconv"
	"strings"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/rpcx/internal/frame"
)

// The texts of rpcx that its clients compare.
const (
	textNoService = "rpcx: can't find service "
	textNoMethod  = "rpcx: can't find method "
	textNoCodec   = "can not find codec for "
)

// maxText is how many bytes the text of an error has, and maxDetails how many its details have
// together.
const (
	maxText    = 4 << 10
	maxDetails = 8 << 10
	maxPieces  = 16
)

// appendError appends the metadata that tells of an error. text is what rpcx's clients get.
func appendError(b []byte, e *weft.Error, text string) []byte {
	text, message := clip(text), clip(e.Message)
	b = frame.AppendPair(b, keyError, text)
	b = frame.AppendPair(b, keyCode, e.Code.String())
	if e.Outcome == weft.Refused || e.Outcome == weft.NotSent {
		b = frame.AppendPair(b, keyOutcome, weft.Refused.String())
	}
	if e.Reason != "" && len(e.Reason) <= maxReason {
		b = frame.AppendPair(b, keyReason, e.Reason)
	}
	if message != text {
		b = frame.AppendPair(b, keyMessage, message)
	}
	left := maxDetails
	for n, d := range e.Details {
		value := d.Type + "\x00" + string(d.Value)
		if left -= len(value); left < 0 || n == maxPieces || strings.Contains(d.Type, "\x00") {
			break
		}
		b = frame.AppendPair(b, keyDetail+strconv.Itoa(n), value)
	}
	return b
}

const maxReason = 255

func clip(text string) string { return text[:min(len(text), maxText)] }

// told is what the metadata of a failed response says.
type told struct {
	text    string // of rpcx
	error   weft.Error
	message bool // error.Message was told apart
	known   bool // the code is weft's
}

// take notes a pair; false: it is none of an error.
func (t *told) take(key, value []byte) bool {
	switch string(key) {
	case keyError:
		t.text = string(value)
	case keyCode:
		if code := codeNamed(string(value)); code != 0 {
			t.error.Code, t.known = code, true
		}
	case keyOutcome:
		if string(value) == weft.Refused.String() {
			t.error.Outcome = weft.Refused
		}
	case keyReason:
		t.error.Reason = string(value[:min(len(value), maxReason)])
	case keyMessage:
		t.error.Message, t.message = string(value), true
	default:
		if !bytes.HasPrefix(key, []byte(keyDetail)) {
			return false
		}
		name, v, ok := bytes.Cut(value, []byte{0})
		if ok && len(t.error.Details) < maxPieces {
			t.error.Details = append(t.error.Details, weft.Detail{Type: string(name), Value: bytes.Clone(v)})
		}
	}
	return true
}

// result is the error that was told of.
func (t *told) result() *weft.Error {
	e := t.error
	if !t.message {
		e.Message = t.text
	}
	if e.Outcome != weft.Refused {
		e.Outcome = weft.Executed
	}
	if t.known {
		return &e
	}
	// A server of rpcx, which has texts alone.
	e.Code = weft.Unknown
	switch {
	case strings.HasPrefix(t.text, textNoService), strings.HasPrefix(t.text, textNoMethod):
		e.Code, e.Outcome, e.Reason = weft.Unimplemented, weft.Refused, weft.ReasonNoMethod
	case strings.HasPrefix(t.text, textNoCodec):
		e.Code, e.Outcome, e.Reason = weft.Unimplemented, weft.Refused, weft.ReasonNoCodec
	case t.text == context.DeadlineExceeded.Error():
		e.Code = weft.DeadlineExceeded
	case t.text == context.Canceled.Error():
		e.Code = weft.Canceled
	}
	return &e
}

// codeNamed is the code with a name; 0: there is none.
func codeNamed(name string) weft.Code {
	for c := weft.Canceled; c <= weft.Unauthenticated; c++ {
		if c.String() == name {
			return c
		}
	}
	return 0
}

// textOf is the text of an error that has no message of its own.
func textOf(e *weft.Error) string {
	if e.Message == "" {
		return e.Code.String()
	}
	return e.Message
}
