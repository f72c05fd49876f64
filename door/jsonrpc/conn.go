package jsonrpc

import (
	"bytes"
	"errors"
	"io"
	"os"
	"runtime/debug"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/internal/combine"
	"github.com/weftrpc/weft/door/internal/jobs"
	"github.com/weftrpc/weft/door/jsonrpc/internal/envelope"
)

// conn is one connection of the door.
type conn struct {
	server
	values
	out   *combine.Writer
	over  bool          // nothing more is read; guarded by values.mu
	ended chan struct{} // closed when reading has ended, behind err
	err   error

	// What follows belongs to the goroutine that reads.

	guard   weft.DoorGuard
	in      *envelope.Reader
	limited bool  // reads have a deadline
	inline  *call // runs on the goroutine
	jobs    jobs.Jobs
	methods map[string]*weft.DoorMethod
}

const (
	// maxMethods is how many methods a connection remembers.
	maxMethods = 1024
	// largestInline is how many bytes the params have at most that are decoded on the goroutine that reads.
	largestInline = 64 << 10
)

// stop ends the reading.
func (x *conn) stop() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.over = true
	x.Conn().SetReadDeadline(time.Unix(1, 0))
}

// await is called before each read, which may wait: the calls that were read run, and what waits to be written is written.
// within says that a value has begun, which must go on within the time of a handshake.
func (x *conn) await(within bool) {
	x.jobs.Submit()
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

// FlushReplies implements jobs.Conn.
func (x *conn) FlushReplies() { x.out.Flush(x.busy()) }

// Guard implements jobs.Conn, for the goroutines that run gathered calls.
func (x *conn) Guard(takeOver func()) weft.DoorGuard { return x.DoorConn.Guard(takeOver) }

// read takes values off the connection until it ends, or another goroutine reads on.
func (x *conn) read() {
	defer func() {
		if p := recover(); p != nil {
			x.Logger().Error("JSON-RPC: the reader of a connection panicked", "panic", p, "stack", string(debug.Stack()))
			x.finish(weft.Errorf(weft.Internal, "the reader of the connection panicked"))
		}
	}()
	for {
		value, err := x.in.Next()
		if err == nil && !envelope.Valid(value) {
			err = errInvalid
		}
		if err != nil {
			x.jobs.Submit()
			x.FlushReplies()
			x.finish(x.told(err))
			return
		}
		if !x.take(value) {
			return
		}
	}
}

var errInvalid = errors.New("a value is not valid JSON")

// told tells the client of an error of reading, which ends the connection. What is no JSON does, since the next value cannot
// be found behind it.
func (x *conn) told(err error) error {
	switch {
	case errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF):
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

// finish notes the end of reading.
func (x *conn) finish(err error) {
	x.err = err
	close(x.ended)
}

// takeOver has another goroutine read on. The guard calls it.
func (x *conn) takeOver() {
	x.inline.method.Stalled()
	x.inline = nil
	x.in = x.in.Split()
	x.Go(x.read)
}

// take has the calls of a valid value run, and reports whether this goroutine reads on.
func (x *conn) take(value []byte) (stays bool) {
	in := incoming{refused: x.enter(), to: x, pace: together}
	if value[0] == '[' {
		x.batch(bytes.Clone(value), in, x.gather)
		return true
	}
	c := &call{s: &x.server, to: x, pace: together, r: envelope.ReadRequest(value, false)}
	if x.find(c); c.method == nil || !x.mayRunHere(c) || !c.method.Fast() {
		c.r.Own()
		if x.begin(c, &in) {
			x.runApart(c)
		}
		return true
	}
	return !x.begin(c, &in) || x.runHere(c)
}

// find looks the method of a call up.
func (x *conn) find(c *call) {
	if c.r.Wrong != "" {
		return
	}
	name := x.nameOf(&c.r)
	if c.method = x.methods[name]; c.method != nil && !c.method.Stale() {
		return
	}
	if c.method = x.Method(name); c.method != nil { // names of methods that there are not would take room for nothing
		if len(x.methods) >= maxMethods {
			clear(x.methods)
		}
		x.methods[name] = c.method
	}
}

// mayRunHere reports whether the goroutine that reads, or one with several calls, may run a call.
func (x *conn) mayRunHere(c *call) bool {
	return len(c.r.Params) <= largestInline && !x.Replies().Crowded()
}

// gather has a call of a batch run.
func (x *conn) gather(c *call) {
	x.find(c)
	x.runApart(c)
}

// runApart has a call run on another goroutine, with others of this read if it is short.
func (x *conn) runApart(c *call) {
	if m := c.method; m != nil && (m.Fast() || m.Short()) && x.mayRunHere(c) {
		x.jobs.Add(x, c)
		return
	}
	c.pace = alone
	x.Go(c.Run)
}

// runHere runs a call on the goroutine that reads.
func (x *conn) runHere(c *call) (stays bool) {
	x.inline = c
	turn := x.guard.Enter()
	defer func() {
		if !stays { // the handler was held up, or has ended this goroutine
			x.FlushReplies()
		}
	}()
	c.Run()
	if !x.guard.Leave(turn) {
		return false
	}
	x.inline = nil
	return true
}

// answer implements sink.
func (x *conn) answer(b []byte, p pace) {
	answer(x.out, b, p)
	x.answered()
}

// answer writes what is answered, or nothing if it is nil. An error is that of the connection, which reading finds.
func answer(out *combine.Writer, b []byte, p pace) {
	switch {
	case b == nil:
	case p == dropped:
		_ = out.Tell(b)
	case p == together:
		_ = out.Add(b)
	default:
		_ = out.Send(b)
	}
}
