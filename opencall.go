package weft

import (
	"cmp"
	"slices"
	"time"

	"github.com/weftrpc/weft/internal/session"
)

// OpenCall is a call that a peer has made and that is not answered yet.
type OpenCall struct {
	Method string        // "Service.Method"
	Age    time.Duration // since the request was read
	Stream bool
	// Deadline is when the call's time ends: that of its caller, or that of MethodTimeout where the method has one; zero: never.
	Deadline time.Time
}

// OpenCalls lists the calls of the peer that wait or run now, the oldest first. A call
// that runs on the reader of the connection, as short ones do, is not listed.
func (p *Peer) OpenCalls() []OpenCall {
	var all []OpenCall
	now := session.Nanos()
	add := func(c *session.Context, stream bool) {
		all = append(all, OpenCall{Method: c.Method.Name, Age: time.Duration(now - c.Received()), Stream: stream, Deadline: timeOut(c)})
	}
	switch {
	case p.s != nil:
		p.s.EachIncoming(func(c *session.Context) { add(c, c.Stream() != nil) })
	case p.door != nil:
		p.door.mu.Lock()
		for x := p.door.calls; x != nil; x = x.next {
			add(x.a.ctx, x.info.Stream)
		}
		p.door.mu.Unlock()
	}
	slices.SortFunc(all, func(a, b OpenCall) int { return cmp.Compare(b.Age, a.Age) })
	return all
}

// timeOut is when the time of a call ends. The context of a call of a method with a timeout may get that at this moment, and is not read.
func timeOut(c *session.Context) time.Time {
	if e, ok := c.Method.Data.(*endpoint); ok && e.m != nil && e.m.facts.timeout > 0 {
		return time.Now().Add(e.m.facts.timeout - time.Duration(session.Nanos()-c.Received()))
	}
	at, _ := c.Deadline()
	return at
}
