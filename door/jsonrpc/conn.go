package jsonrpc

import (
	"runtime/debug"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/internal/combine"
	"github.com/weftrpc/weft/door/internal/jobs"
	"github.com/weftrpc/weft/door/jsonrpc/internal/envelope"
)

// conn is a connection on which values come one after the other.
type conn struct {
	server
	values
	in    incoming // what the calls of all values have in common
	by    carrier
	out   *combine.Writer
	ended chan struct{} // closed when reading has ended, behind err
	err   error

	// What follows belongs to the goroutine that reads.

	calls   jobs.Reader
	methods map[string]*weft.DoorMethod
	spare   *call // the memory of a call that has run on that goroutine; nil: there is none
}

// carrier is what values come by. The goroutine that reads calls it.
type carrier interface {
	// next returns the next value, valid JSON. What the calls that were read before hold back is sent before it waits.
	next() ([]byte, error)
	// split says that another goroutine reads on: the last value is not overwritten.
	split()
	// tell tells the client why next has failed, and returns what the connection ends with.
	tell(err error) error
}

const (
	// maxMethods is how many methods a connection remembers.
	maxMethods = 1024
	// largestInline is how many bytes the params have at most that are decoded on the goroutine that reads.
	largestInline = 64 << 10
)

// newConn returns a connection that writes its answers by out.
func newConn(d *door, c *weft.DoorConn, out *combine.Writer) *conn {
	x := &conn{server: server{DoorConn: c, d: d}, out: out, ended: make(chan struct{}), methods: make(map[string]*weft.DoorMethod)}
	x.in.to = x
	x.calls.Init(x, func() {
		x.by.split()
		x.Go(x.read)
	})
	return x
}

// start begins to read what a carrier brings.
func (x *conn) start(by carrier) {
	x.by = by
	x.Go(x.read)
}

// FlushReplies implements jobs.Conn.
func (x *conn) FlushReplies() { x.out.Flush(x.busy()) }

// read takes values off the connection until it ends, or another goroutine reads on.
func (x *conn) read() {
	defer func() {
		if p := recover(); p != nil {
			x.Logger().Error("JSON-RPC: the reader of a connection panicked", "panic", p, "stack", string(debug.Stack()))
			x.finish(weft.Errorf(weft.Internal, "the reader of the connection panicked"))
		}
	}()
	for {
		value, err := x.by.next()
		if err != nil {
			x.calls.Submit()
			x.FlushReplies()
			x.finish(x.by.tell(err))
			return
		}
		if !x.take(value) {
			return
		}
	}
}

// finish notes the end of reading.
func (x *conn) finish(err error) {
	x.err = err
	close(x.ended)
}

// take has the calls of a valid value run, and reports whether this goroutine reads on.
func (x *conn) take(value []byte) (stays bool) {
	in := x.in
	in.refused = x.enter()
	if value[0] == '[' {
		x.batch(value, in, x.gather)
		return true
	}
	c := x.spare
	if x.spare = nil; c == nil {
		c = new(call)
	}
	c.s, c.to, c.pace, c.r = &x.server, x, in.pace, envelope.ReadRequest(value, false)
	if x.find(c); c.method == nil || !x.mayRunHere(c) || !c.method.Fast() {
		c.r.Own(value, in.kept)
		x.runApart(c, &in)
		return true
	}
	in.head.Here = true
	if !x.begin(c, &in) {
		return true
	}
	if !x.calls.RunHere(c) {
		return false
	}
	if c.Renew() {
		*c = call{}
		x.spare = c
	}
	return true
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
func (x *conn) gather(c *call, in *incoming) {
	x.find(c)
	x.runApart(c, in)
}

// runApart has a call run on another goroutine, with others of this read if it is short.
func (x *conn) runApart(c *call, in *incoming) {
	if !x.begin(c, in) {
		return
	}
	if m := c.method; m != nil && (m.Fast() || m.Short()) && x.mayRunHere(c) {
		x.calls.Add(c)
		return
	}
	c.pace = alone
	x.Go(c.Run)
}

// answer implements sink. An error is that of the connection, which reading finds.
func (x *conn) answer(b []byte, p pace) {
	switch {
	case b == nil:
	case p == dropped:
		_ = x.out.Tell(b)
	case p == together:
		_ = x.out.Add(b)
	default:
		_ = x.out.Send(b)
	}
	x.answered()
}
