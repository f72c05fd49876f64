package session

// A call that came through a foreign wire has a Context too: what a handler finds in
// its context does not depend on the wire.

// NewContext returns the context of a call that did not come through a session. owner
// is what Owner gives, meta the inside of its metadata block, and deadline is on the
// clock of Nanos, 0 for none. Its owner calls Cancel or Finish.
func NewContext(owner any, m *Method, meta string, deadline int64) *Context {
	c := &Context{Method: m, deadline: deadline, received: now()}
	x := c.need()
	x.owner, x.meta = owner, meta
	return c
}

// Owner is the owner of the call's session, or what NewContext was given.
func (c *Context) Owner() any {
	if c.Session != nil {
		return c.Session.Owner
	}
	return c.need().owner
}

// Limit lets the context end at a time on the clock of Nanos at the latest. It is
// called before the handler runs.
func (c *Context) Limit(at int64) {
	if c.deadline == 0 || at < c.deadline {
		c.deadline = at
	}
}

// Cancel ends the context as if the peer had canceled the call.
func (c *Context) Cancel() { c.end(canceled) }

// Finish ends the context of a call that was answered.
func (c *Context) Finish() { c.end(finished) }

// Number returns a number that no session of the executor has: it spreads what counts
// the calls of one connection.
func (e *Executor) Number() uint32 { return e.numbers.Add(1) }
