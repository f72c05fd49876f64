package jsonrpc

import (
	"bytes"
	"errors"
	"sync"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/codec"
	"github.com/weftrpc/weft/door/internal/combine"
	"github.com/weftrpc/weft/door/internal/ends"
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
	x := &stream{conn: newConn(d, c, combine.New(c.Conn(), limits.WriteBuffer, limits.WriteTimeout, line))}
	if _, err := c.Admit(weft.Credential{}, nil); err != nil {
		r := envelope.Request{}
		if e, ok := errors.AsType[*weft.Error](err); ok {
			e.Outcome = weft.Refused
			_ = x.out.Send(envelope.Error(&r, failureOf(e), e.Message)) // the connection ends anyway
		}
		return err
	}
	hold := func(n int) { c.Hold(n) }
	watched := x.calls.Guard.Known()
	x.out.Serve(hold, c.Replies(), watched)
	x.reader = envelope.NewReader(ends.NewSource(c.Conn(), watched), limits.MaxMessage+envelopeRoom, x.await, hold)
	x.in.pace = together
	x.start(x)
	x.drain(c, x.ended, x.stop)
	if x.drained() {
		x.out.Settle(nil)
		return nil
	}
	late := make(chan struct{})
	timer := time.AfterFunc(afterEnd, func() { close(late) })
	defer timer.Stop()
	if x.err == nil {
		x.settle(late)
	}
	x.out.Settle(late)
	x.out.Close()
	return x.err
}

// afterEnd is how long calls may go on whose client sends nothing more: it may have gone, or wait
// for answers.
const afterEnd = time.Second
