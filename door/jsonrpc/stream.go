package jsonrpc

import (
	"errors"
	"io"
	"os"
	"time"

	"github.com/weftrpc/weft/door/jsonrpc/internal/envelope"
)

// stream is a connection on which values stand one behind the other. It implements carrier.
type stream struct {
	*conn
	over bool // nothing more is read; guarded by values.mu

	// What follows belongs to the goroutine that reads.

	reader  *envelope.Reader
	limited bool // reads have a deadline
}

// stop ends the reading.
func (x *stream) stop() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.over = true
	x.Conn().SetReadDeadline(time.Unix(1, 0))
}

// await is called before each read, which may wait: the calls that were read run, and what waits to be written is written.
// within says that a value has begun, which must go on within the time of a handshake.
func (x *stream) await(within bool) {
	x.calls.Submit()
	x.FlushReplies()
	if !within && !x.limited {
		return
	}
	x.limited = within
	x.mu.Lock()
	defer x.mu.Unlock()
	switch {
	case x.over:
	case within:
		x.Conn().SetReadDeadline(time.Now().Add(x.Limits().HandshakeTimeout))
	default:
		x.Conn().SetReadDeadline(time.Time{})
	}
}

// next implements carrier.
func (x *stream) next() ([]byte, error) {
	value, err := x.reader.Next()
	if err == nil && !envelope.Valid(value) {
		err = errInvalid
	}
	return value, err
}

var errInvalid = errors.New("a value is not valid JSON")

// split implements carrier.
func (x *stream) split() { x.reader = x.reader.Split() }

// tell implements carrier. The connection ends with what is no JSON, since the next value cannot be found behind it.
func (x *stream) tell(err error) error {
	switch {
	case err == io.EOF:
		return nil
	case errors.Is(err, errInvalid), errors.Is(err, envelope.ErrSyntax), errors.Is(err, io.ErrUnexpectedEOF):
		_ = x.out.Send(unreadable(err.Error())) // the connection ends anyway
	case errors.Is(err, envelope.ErrTooLarge):
		_ = x.out.Send(tooLarge(x.Limits().MaxMessage)) // the connection ends anyway
	case errors.Is(err, os.ErrDeadlineExceeded) && !x.drained():
		return errors.New("a value did not come in time")
	}
	return err
}
