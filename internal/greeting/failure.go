package greeting

import (
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/weftrpc/weft/internal/wire"
)

// versionError is a preface of another major version.
type versionError struct{ theirs byte }

func (e *versionError) Error() string {
	return fmt.Sprintf("major version %d of the protocol is spoken here, not %d", wire.Preface[len(wire.Preface)-1], e.theirs)
}

// helloError is a hello that cannot be read, or did not come in time, of a peer
// that has proved by the preface to speak weft.
type helloError struct {
	code wire.Code
	err  error
}

func (e *helloError) Error() string { return e.err.Error() }

func (e *helloError) Unwrap() error { return e.err }

// goneError is a GOAWAY in place of a hello.
type goneError struct{ status wire.Status }

func (e *goneError) Error() string { return e.status.Message }

// strangerError is a peer that does not speak weft.
type strangerError struct{ began string }

func (e *strangerError) Error() string {
	return fmt.Sprintf("the peer does not speak weft: it began with %q", e.began)
}

// Refusal is the status sent to a client whose handshake failed; nil when the client
// could not read one.
func Refusal(err error) *wire.Status {
	if e, ok := errors.AsType[*versionError](err); ok {
		return &wire.Status{Code: wire.Unimplemented, Message: e.Error()}
	}
	if e, ok := errors.AsType[*helloError](err); ok {
		return &wire.Status{Code: e.code, Message: "handshake: " + e.Error()}
	}
	return nil
}

// Status turns the failure of a handshake into a status. Its outcome is NotSent
// where the failure shows that the peer has read no call.
func Status(err error, limit time.Duration) *wire.Status {
	if gone, ok := errors.AsType[*goneError](err); ok {
		st := gone.status
		st.Outcome = wire.NotSent
		return &st
	}
	st := &wire.Status{Code: wire.Unavailable, Reason: wire.ReasonHandshake, Message: "handshake: " + err.Error()}
	if ne, ok := errors.AsType[net.Error](err); ok && ne.Timeout() {
		st.Message = fmt.Sprintf("handshake: no answer within %v (Limits.HandshakeTimeout)", limit)
	} else if errors.Is(err, io.EOF) {
		st.Message = "handshake: the peer closed the connection without giving a reason; it may not speak weft: a server of net/rpc has addresses such as netrpc://host:port"
	} else if _, ok := errors.AsType[*versionError](err); ok {
		st.Outcome = wire.NotSent
	} else if _, ok := errors.AsType[*strangerError](err); ok {
		st.Outcome = wire.NotSent
	} else if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "remote error" {
		st.Outcome = wire.NotSent // the server's TLS has rejected this side: its session has read nothing
	}
	return st
}
