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
}

// OpenCalls lists the calls of the peer that wait or run now, the oldest first. A call
// that runs on the reader of the connection, as short ones do, is not listed.
func (p *Peer) OpenCalls() []OpenCall {
	var all []OpenCall
	now := session.Nanos()
	add := func(c *session.Context, stream bool) {
		all = append(all, OpenCall{Method: c.Method.Name, Age: time.Duration(now - c.Received()), Stream: stream})
	}
	switch {
	case p.s != nil:
		session.EachIncoming(p.s, func(c *session.Context) { add(c, c.Stream() != nil) })
	case p.door != nil:
		p.door.mu.Lock()
		for x := p.door.calls; x != nil; x = x.next {
			add(x.a.ctx, x.a.info.Stream)
		}
		p.door.mu.Unlock()
	}
	slices.SortFunc(all, func(a, b OpenCall) int { return cmp.Compare(b.Age, a.Age) })
	return all
}
