package weft

import (
	"strconv"

	"github.com/weftrpc/weft/internal/wire"
)

// Code says what kind of thing went wrong. The codes are those of gRPC, with the same numbers and meanings. A Code is itself an error, so
// that errors.Is(err, weft.NotFound) asks an error for its code.
type Code uint16

// The codes. A call that went well has no error and no code.
const (
	Canceled           Code = 1  // the caller gave the call up
	Unknown            Code = 2  // the handler returned an error without a code
	InvalidArgument    Code = 3  // the request is wrong, whatever the state of the server
	DeadlineExceeded   Code = 4  // time ran out
	NotFound           Code = 5  // what was asked for does not exist
	AlreadyExists      Code = 6  // what was to be made exists
	PermissionDenied   Code = 7  // the caller is known and may not do this
	ResourceExhausted  Code = 8  // a limit was reached
	FailedPrecondition Code = 9  // the server is not in a state to do this
	Aborted            Code = 10 // a conflict; try the whole again
	OutOfRange         Code = 11 // past the end
	Unimplemented      Code = 12 // no such method, or codec
	Internal           Code = 13 // something is broken
	Unavailable        Code = 14 // no server can be reached now; try again
	DataLoss           Code = 15 // data is lost or corrupted
	Unauthenticated    Code = 16 // the credential is missing or not valid
)

// codeNames are read only.
var codeNames = [...]string{
	"OK", "Canceled", "Unknown", "InvalidArgument", "DeadlineExceeded", "NotFound", "AlreadyExists",
	"PermissionDenied", "ResourceExhausted", "FailedPrecondition", "Aborted", "OutOfRange", "Unimplemented",
	"Internal", "Unavailable", "DataLoss", "Unauthenticated",
}

// String is the name of the code, for example "NotFound".
func (c Code) String() string {
	if int(c) < len(codeNames) {
		return codeNames[c]
	}
	return "Code(" + strconv.Itoa(int(c)) + ")"
}

// Error is the name of the code.
func (c Code) Error() string { return c.String() }

// Outcome says how far a call got that failed, which decides whether it may be made again.
type Outcome uint8

// The outcomes.
const (
	// OutcomeUnknown: bytes left this process and no verdict came back. The handler
	// may have run. Only an idempotent call may be made again.
	OutcomeUnknown = Outcome(wire.OutcomeUnknown)
	// NotSent: nothing left this process. The call may be made again. Of Stream.Send it is about the message alone.
	NotSent = Outcome(wire.NotSent)
	// Refused: the server says that it did not run the handler. The call may be made again.
	Refused = Outcome(wire.Refused)
	// Executed: the handler ran and answered with this error.
	Executed = Outcome(wire.Executed)
)

// String is the name of the outcome.
func (o Outcome) String() string {
	switch o {
	case NotSent:
		return "NotSent"
	case Refused:
		return "Refused"
	case Executed:
		return "Executed"
	default:
		return "Unknown"
	}
}
