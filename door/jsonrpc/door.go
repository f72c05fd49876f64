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
	out *combine.Writer

	mu       sync.Mutex
	open     int // values that were read and not answered
	draining bool
	idle     chan struct{} // closed when the connection drains and no value is open
	over     bool          // nothing more is read
	empty    chan struct{} // closed when no value is open, for settle
}

// settle waits until no value is open.
func (x *conn) settle(most time.Duration) {
	x.mu.Lock()
	if x.open == 0 {
		x.mu.Unlock()
		return
	}
	empty := make(chan struct{})
	x.empty = empty
	x.mu.Unlock()
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-empty:
	case <-timer.C:
	}
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
		x.handle(value, weft.Head{}, x.begin(), func(answer []byte) {
			if answer != nil {
				_ = x.out.Send(answer) // an error is that of the connection, which reading finds
			}
			x.answered()
		})
	}
}

// begin counts a value, and returns why its calls are refused, if they are.
func (x *conn) begin() *weft.Error {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.open++
	if x.draining {
		return &weft.Error{Code: weft.Unavailable, Outcome: weft.Refused, Reason: weft.ReasonDraining,
			Message: "the server is shutting down; call another server"}
	}
	return nil
}

// answered notes that a value is no longer open.
func (x *conn) answered() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.open--; x.open > 0 {
		return
	}
	if x.draining {
		x.endLocked()
	}
	if x.empty != nil {
		close(x.empty)
		x.empty = nil
	}
}

// endLocked tells drain that no value is open. One that comes later ends too.
func (x *conn) endLocked() {
	select {
	case <-x.idle:
	default:
		close(x.idle)
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
	x.mu.Lock()
	x.draining, x.idle = true, make(chan struct{})
	if x.open == 0 {
		x.endLocked()
	}
	idle := x.idle
	x.mu.Unlock()
	select {
	case <-idle:
		x.mu.Lock()
		defer x.mu.Unlock()
		x.over = true
		x.Conn().SetReadDeadline(time.Unix(1, 0))
	case <-over:
	}
}

// drained reports whether the connection ended because it was drained.
func (x *conn) drained() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.draining && x.open == 0
}
