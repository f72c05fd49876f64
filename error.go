package weft

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/weftrpc/weft/internal/wire"
)

// Error is the error of every call that fails; errors.AsType finds it in a wrapped one. A handler that returns an *Error, also a wrapped
// one, sends its code, message, reason and details to the caller; any other error arrives with the code Unknown and its text as the
// message.
//
// An Error must not be changed once it has been returned.
type Error struct {
	Code    Code
	Message string
	Reason  string   // a constant for programs, such as "QUOTA_EXCEEDED"; at most 255 bytes
	Details []Detail // typed values; at most 16 of them travel

	// The rest is filled in on the caller's side.
	Outcome Outcome
	Method  string // "Service.Method": the string that the call was made with
	Peer    string // the address of the peer

	cause error
}

// Detail is a typed value that travels with an error.
type Detail struct {
	Type  string // a name that both sides know, for protobuf the full name of the message; at most 255 bytes
	Value []byte
}

// Errorf makes an Error. As with fmt.Errorf, an error formatted with %w can be found in it; it does not travel.
func Errorf(code Code, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Code: code, Message: err.Error(), cause: errors.Unwrap(err)}
}

// WithReason returns a copy of the error with a reason.
func (e *Error) WithReason(reason string) *Error {
	c := *e
	c.Reason = reason
	return &c
}

// WithDetail returns a copy of the error with one more detail.
func (e *Error) WithDetail(typeName string, value []byte) *Error {
	c := *e
	c.Details = append(append([]Detail(nil), e.Details...), Detail{typeName, value})
	return &c
}

// retryAfter is the type of the detail by which a server says when to try again.
const retryAfter = "weft.RetryAfter"

// WithRetryAfter returns a copy of the error that tells the caller when it may make the call again: not before d has passed, and never when
// d is below zero. It travels in whole milliseconds.
func (e *Error) WithRetryAfter(d time.Duration) *Error {
	ms := int64(-1)
	if d >= 0 {
		ms = (d + time.Millisecond - 1).Milliseconds()
	}
	return e.WithDetail(retryAfter, strconv.AppendInt(nil, ms, 10))
}

// RetryAfter is when the server lets the call be made again; below zero: never. ok is false when the server says nothing about it.
func (e *Error) RetryAfter() (d time.Duration, ok bool) {
	for _, detail := range e.Details {
		if detail.Type != retryAfter {
			continue
		}
		ms, err := strconv.ParseInt(string(detail.Value), 10, 64)
		if err != nil || ms > math.MaxInt64/int64(time.Millisecond) {
			return 0, false
		}
		if ms < 0 {
			return -1, true
		}
		return time.Duration(ms) * time.Millisecond, true
	}
	return 0, false
}

// Error says everything in one line: the method, the peer, the code, the outcome and the message.
func (e *Error) Error() string {
	var b strings.Builder
	if e.Method != "" {
		b.WriteString(e.Method)
		if e.Peer != "" {
			b.WriteString(" at " + e.Peer)
		}
		b.WriteString(": ")
	}
	b.WriteString(e.Code.String())
	if e.Outcome != OutcomeUnknown {
		b.WriteString(" (" + e.Outcome.String() + ")")
	}
	if e.Message != "" {
		b.WriteString(": " + e.Message)
	}
	if e.Reason != "" {
		b.WriteString(" [" + e.Reason + "]")
	}
	return b.String()
}

// Is reports whether target is the error's code, the context error with the same meaning, or ErrClientClosed.
func (e *Error) Is(target error) bool {
	switch target {
	case context.DeadlineExceeded:
		return e.Code == DeadlineExceeded
	case context.Canceled:
		return e.Code == Canceled
	case ErrClientClosed:
		return e.Code == Canceled && e.Reason == ReasonClosed
	}
	code, ok := target.(Code)
	return ok && code == e.Code
}

// Unwrap is the error that was formatted into this one, if any.
func (e *Error) Unwrap() error { return e.cause }

// LogValue gives a logger the parts of the error.
func (e *Error) LogValue() slog.Value {
	return slog.GroupValue(
		slog.String("code", e.Code.String()), slog.String("message", e.Message), slog.String("reason", e.Reason),
		slog.String("outcome", e.Outcome.String()), slog.String("method", e.Method), slog.String("peer", e.Peer))
}

// CodeOf is the code of an error: that of an *Error or a Code in its chain, those
// of the context errors, and otherwise Unknown. It is 0 for nil alone.
func CodeOf(err error) Code {
	if err == nil {
		return 0
	}
	if e, ok := errors.AsType[*Error](err); ok && e.Code != 0 {
		return e.Code
	} else if ok {
		return Unknown
	}
	if c, ok := errors.AsType[Code](err); ok && c != 0 {
		return c
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return DeadlineExceeded
	case errors.Is(err, context.Canceled):
		return Canceled
	}
	return Unknown
}

// The constructors of the errors that this package itself returns.

// ErrServerClosed is what Serve, Listen and ListenAndServe return after Shutdown or Close.
var ErrServerClosed = errors.New("weft: server closed")

// ErrClientClosed is found by errors.Is in the error of a call that was made with, or cut off by, a client that was closed.
var ErrClientClosed = errors.New("weft: client closed")

func asWeft(err error, e **Error) bool { // errors.As would have e allocated
	known, ok := errors.AsType[*Error](err)
	if ok {
		*e = known
	}
	return ok
}

// asError makes an error of what an interceptor returned.
func asError(err error, method string) error {
	if e := (*Error)(nil); err == nil || asWeft(err, &e) {
		return err
	}
	e := Errorf(CodeOf(err), "%w", err)
	e.Method = method
	return e
}

// notSent is the error of a call that failed before anything was sent.
func notSent(err error, method string) *Error {
	e := Errorf(CodeOf(err), "%w", err)
	if known := (*Error)(nil); asWeft(err, &known) {
		*e = *known
	}
	e.Method, e.Outcome = method, NotSent
	return e
}

// contextStatus is the error of a call whose context ended before it was sent.
func contextStatus(ctx context.Context, why string) *Error {
	return &Error{Code: CodeOf(ctx.Err()), Outcome: NotSent, Message: why, cause: ctx.Err()}
}

// tooLate is contextStatus for a call that had not begun.
func tooLate(ctx context.Context, method string) error {
	e := contextStatus(ctx, "the context ended before the call was sent")
	e.Method = method
	return e
}

// unauthenticated gives an error of an authentication its code.
func unauthenticated(err error) error {
	if CodeOf(err) != Unknown {
		return err
	}
	return Errorf(Unauthenticated, "%w", err)
}

// hookError is the error of a call that a hook has refused.
func hookError(err error, method string, outcome Outcome) error {
	e := fromStatus(toStatus(err), method, "")
	e.Outcome, e.cause = outcome, err
	return e
}

func closedError() *Error {
	return &Error{Code: Canceled, Outcome: NotSent, Reason: ReasonClosed, Message: "the client is closed"}
}

// closedStatus is the status of the calls that are open when their connection is closed here.
func closedStatus() *wire.Status {
	return &wire.Status{Code: wire.Canceled, Reason: wire.ReasonClosed, Message: "the connection was closed by this side"}
}

// fromStatus makes an Error of what the session says.
func fromStatus(st *wire.Status, method, peer string) *Error {
	e := &Error{
		Code: Code(st.Code), Message: st.Message, Reason: st.Reason,
		Outcome: Outcome(st.Outcome), Method: method, Peer: peer,
	}
	switch {
	case e.Code == 0 || int(e.Code) >= len(codeNames):
		e.Code = Unknown
	case e.Outcome == NotSent && e.Reason == ReasonEncode:
		e.Code = InvalidArgument // the caller's own message
	}
	for _, d := range st.Details {
		e.Details = append(e.Details, Detail(d))
	}
	return e
}

// toStatus makes what travels of an error that a handler returned.
func toStatus(err error) *wire.Status {
	st := &wire.Status{Code: wire.Code(CodeOf(err)), Message: err.Error(), Outcome: wire.Executed}
	e, ok := errors.AsType[*Error](err)
	if !ok {
		return st
	}
	// What describes the handler's own calls, such as their peer, does not travel; a message that was wrapped keeps its wrapping.
	if err == error(e) {
		st.Message = e.Message
	}
	st.Reason = e.Reason
	for _, d := range e.Details {
		st.Details = append(st.Details, wire.Detail(d))
	}
	return st
}

// statusOf is toStatus for an error with its outcome.
func statusOf(e *Error) *wire.Status {
	st := toStatus(e)
	st.Outcome = wire.Outcome(e.Outcome)
	return st
}

// refusal is the status of a call that was refused before its handler ran.
func refusal(err error) *wire.Status {
	st := toStatus(err)
	st.Outcome = wire.Refused
	return st
}
