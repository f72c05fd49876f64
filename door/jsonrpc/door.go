package jsonrpc

import (
	"bytes"
	"errors"
	"io"
	"os"
	"sync"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/codec"
	"github.com/weftrpc/weft/door/internal/combine"
	"github.com/weftrpc/weft/door/jsonrpc/internal/envelope"
)

// door implements weft.Door.
type door struct {
	cfg   Config
	codec codec.Codec
	order sync.Map // of the fields of types, for params in an array
}

func (*door) Name() string { return weft.WireJSONRPC }

func (*door) Protocols() []string { return nil }

// Match implements weft.Door.
func (*door) Match(prefix []byte) (yes, more bool) {
	rest := bytes.TrimLeft(prefix, " \t\r\n")
	if len(rest) == 0 {
		return false, true
	}
	return rest[0] == '{' || rest[0] == '[', false
}

// envelopeRoom is what a request may have around its params.
const envelopeRoom = 4 << 10

// Serve implements weft.Door.
func (d *door) Serve(c *weft.DoorConn) error {
	limits := c.Limits()
	line := func(buf, message []byte) ([]byte, error) { return append(append(buf, message...), '\n'), nil }
	x := &conn{server: server{DoorConn: c, d: d}, out: combine.New(c.Conn(), limits.WriteBuffer, limits.WriteTimeout, line)}
	if _, err := c.Admit(weft.Credential{}, nil); err != nil {
		r := envelope.Request{}
		if e, ok := errors.AsType[*weft.Error](err); ok {
			e.Outcome = weft.Refused
			_ = x.out.Send(envelope.Error(&r, failureOf(e), e.Message)) // the connection ends anyway
		}
		return err
	}
	ended := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() { x.drain(ended) })
	err := func() error {
		defer wg.Wait() // also when reading panics
		defer close(ended)
		return x.read(envelope.NewReader(c.Conn(), limits.MaxMessage+envelopeRoom, x.limit))
	}()
	if x.drained() {
		return nil
	}
	if err == nil {
		x.settle(afterEnd)
	}
	x.out.Close()
	return err
}

// afterEnd is how long calls may go on whose client sends nothing more: it may have gone, or wait
// for answers.
const afterEnd = time.Second

// conn is one connection of the door.
type conn struct {
	server
	values
	out  *combine.Writer
	over bool // nothing more is read; guarded by values.mu
}

// limit bounds the next read: a value that has begun must go on within the time of a handshake.
func (x *conn) limit(within bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	switch {
	case x.over:
		x.Conn().SetReadDeadline(time.Unix(1, 0))
	case within:
		x.Conn().SetReadDeadline(time.Now().Add(x.Limits().HandshakeTimeout))
	default:
		x.Conn().SetReadDeadline(time.Time{})
	}
}

// read takes values off the connection until it ends. What is no JSON ends it, since the next value
// cannot be found behind it.
func (x *conn) read(r *envelope.Reader) error {
	for {
		value, err := r.Next()
		switch {
		case err == nil:
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, envelope.ErrSyntax), errors.Is(err, io.ErrUnexpectedEOF):
			_ = x.out.Send(unreadable(err.Error())) // the connection ends anyway
			return err
		case errors.Is(err, envelope.ErrTooLarge):
			_ = x.out.Send(tooLarge(x.Limits().MaxMessage)) // the connection ends anyway
			return err
		case errors.Is(err, os.ErrDeadlineExceeded) && !x.drained():
			return errors.New("a value did not come in time")
		default:
			return err
		}
		if !valid(value) {
			_ = x.out.Send(unreadable("the value is not valid JSON")) // the connection ends anyway
			return errors.New("a value is not valid JSON")
		}
		x.handle(value, weft.Head{}, x.enter(), func(answer []byte) {
			if answer != nil {
				_ = x.out.Send(answer) // an error is that of the connection, which reading finds
			}
			x.answered()
		})
	}
}

// drain waits until the server shuts down, lets the calls end that are open, and ends the
// reading. Requests that still come are refused until then.
func (x *conn) drain(over chan struct{}) {
	select {
	case <-x.Draining():
	case <-over:
		return
	}
	select {
	case <-x.refuse():
		x.mu.Lock()
		defer x.mu.Unlock()
		x.over = true
		x.Conn().SetReadDeadline(time.Unix(1, 0))
	case <-over:
	}
}
