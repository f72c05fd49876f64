package session

import (
	"github.com/weftrpc/weft/internal/buffer"
	"github.com/weftrpc/weft/internal/pace"
)

// A call that came through a foreign wire has a Context too: what a handler finds in its context does not depend on the wire.

// ForeignContext is the context of a call that did not come through a session, with memory for what only some calls need.
type ForeignContext struct {
	Context
	own more
}

// Init readies the context, which is zero. owner is what Owner gives, meta the inside of the call's metadata block; received and deadline
// are on the clock of Nanos, deadline is 0 for none. The owner calls Cancel or Finish. The memory is not used for a second call.
func (f *ForeignContext) Init(owner any, m *Method, meta string, received, deadline int64) {
	f.Method, f.deadline, f.received = m, deadline, received
	f.own.owner, f.own.meta = owner, meta
	f.more.Store(&f.own)
}

// Owner is what the contexts of the calls of one connection have in common that did not come through a session.
type Owner struct{ common more }

// OwnedBy returns what the contexts share whose owner is v.
func OwnedBy(v any) *Owner { return &Owner{more{owner: v, shared: true}} }

// Init readies the context, which is zero, of a call without metadata, as ForeignContext.Init does, with less memory.
func (o *Owner) Init(c *Context, m *Method, received, deadline int64) {
	c.Method, c.deadline, c.received = m, deadline, received
	c.more.Store(&o.common)
}

// Fast reports whether the next call of the method may run on the goroutine that reads its connection, as far as its calls so far tell.
func (m *Method) Fast() bool { return m.pace.Tier() == pace.Inline }

// Short reports whether the calls of the method, which are not Fast, are so short that several may run one after the other on a worker.
func (m *Method) Short() bool { return m.pace.Tier() == pace.Chunk }

// Observe takes the time of a call that stands for weight calls, in nanoseconds; refused says that its handler did not run.
func (m *Method) Observe(ns int64, weight int32, refused bool) {
	if refused {
		m.pace.Refused(ns)
	} else {
		m.pace.Observe(ns, weight)
	}
}

// Stalled notes that a call has held up the goroutine that ran it.
func (m *Method) Stalled() { m.pace.Stalled() }

// Owner is the owner of the call's session, or what Init was given.
func (c *Context) Owner() any {
	if c.Session != nil {
		return c.Session.Owner
	}
	if m := c.more.Load(); m != nil {
		return m.owner
	}
	return nil
}

// Limit lets the context end at a time on the clock of Nanos at the latest. It is called before the handler runs.
func (c *Context) Limit(at int64) {
	if c.deadline == 0 || at < c.deadline {
		c.deadline = at
	}
}

// Cancel ends the context as if the peer had canceled the call.
func (c *Context) Cancel() { c.end(canceled) }

// Finish ends the context of a call that was answered.
func (c *Context) Finish() { c.end(finished) }

// Number returns a number that no session of the executor has: it spreads what counts the calls of one connection.
func (e *Executor) Number() uint32 { return e.numbers.Add(1) }

// BeginFirst waits as the first calls of a method do, until the length of a reply is known. If it returns true EndFirst must be
// called when the call was answered; ran means that its handler has run.
func (m *Method) BeginFirst() bool { return m.first.Begin() }

// EndFirst ends what BeginFirst has begun.
func (m *Method) EndFirst(ran bool) { m.first.End(ran) }

// Replied notes the length of a reply that was encoded apart from what waits to be written.
func (m *Method) Replied(n int) {
	m.replied(n)
	m.first.Learn()
}

// Expects is about how many bytes of replies a call will hold; 0: few.
func (m *Method) Expects() int64 { return m.expects() }

// UsualReply is about how many bytes a reply has that was not encoded yet.
func (m *Method) UsualReply() int64 { return max(m.reply.Load(), buffer.Least) }
