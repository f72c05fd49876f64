package session

import (
	"fmt"
	"sync/atomic"

	"github.com/weftrpc/weft/internal/backlog"
	"github.com/weftrpc/weft/internal/drain"
	"github.com/weftrpc/weft/internal/held"
	"github.com/weftrpc/weft/internal/slots"
	"github.com/weftrpc/weft/internal/wire"
)

// incoming is what this side knows of the calls that the peer has open.
// A call that runs on the reader is not in the table: no frame can refer to it
// until the reader reads on.
type incoming struct {
	slots    slots.Table[atomic.Pointer[Context]]
	running  atomic.Int64  // calls waiting for a worker or running on one
	arriving atomic.Int64  // calls whose requests have not come whole
	bytes    atomic.Int64  // bytes of their requests
	unread   atomic.Int64  // bytes of messages of streams that were not received yet
	account  *held.Account // counts both for the whole process; nil: nothing does
	closing  atomic.Bool   // the session drains: the end of the last call wakes drain
	drain    *drain.State
	bindings []Binding                   // by number; for the reader alone
	turned   atomic.Bool                 // new calls are turned away
	cut      atomic.Pointer[wire.Status] // what canceled calls are answered with
	backlog  backlog.Backlog             // of replies that wait for the peer to read

	sequences sequences // one-way calls that have an order
}

// hold counts n bytes of requests more, or fewer if n is below zero.
func (in *incoming) hold(n int64) {
	in.bytes.Add(n)
	in.account.Add(n)
}

// queue counts n bytes of unread messages more, or fewer if n is below zero. It reports whether
// there are no more than most.
func (in *incoming) queue(n int, most int) bool {
	in.account.Add(int64(n))
	return in.unread.Add(int64(n)) <= int64(most)
}

func (in *incoming) at(id uint32) *atomic.Pointer[Context] { return in.slots.At(wire.Slot(id)) }

// put enters a call that is handed to a worker. It fails when the slot is in use.
func (in *incoming) put(c *Context) error {
	if !in.enter(c) {
		in.running.Add(-1)
		return fmt.Errorf("call %#x began before the last one in its slot had ended", c.id)
	}
	return nil
}

// enter counts a call as running and puts it in the table, if its slot is free.
func (in *incoming) enter(c *Context) bool {
	in.running.Add(1)
	if !in.slots.Need(wire.Slot(c.id)).CompareAndSwap(nil, c) {
		return false
	}
	// breakAll looks through the table after failed is set: a call that it does
	// not find there ends here.
	if c.Session.failed.Load() != nil {
		c.broken()
	} else if in.cut.Load() != nil {
		c.end(canceled)
	}
	return true
}

// broken ends the context and the stream of a call whose session has ended.
func (c *Context) broken() {
	c.end(canceled)
	if st := c.Stream(); st != nil {
		st.broken()
	}
}

// clearLocked takes a call out of the table. It is called with the writer's lock held,
// just before the final frame is appended: the peer may use the slot again
// as soon as it has seen that frame. It returns false when one has been appended.
func (in *incoming) clearLocked(c *Context) bool {
	if c.answered {
		return false
	}
	c.answered = true
	if p := in.at(c.id); p != nil {
		p.CompareAndSwap(c, nil)
	}
	return true
}

// find returns the call with this id, or nil.
func (in *incoming) find(id uint32) *Context {
	p := in.at(id)
	if p == nil {
		return nil
	}
	c := p.Load()
	if c == nil || c.id != id {
		return nil
	}
	return c
}

// left notes that a call which was put has been answered.
func (in *incoming) left() {
	if in.running.Add(-1) == 0 && in.closing.Load() {
		in.drain.Wake()
	}
}

// arrived notes that a request has come whole, or never will.
func (in *incoming) arrived() {
	if in.arriving.Add(-1) == 0 && in.closing.Load() {
		in.drain.Wake()
	}
}

// each calls f with every call in the table.
func (in *incoming) each(f func(*Context)) {
	in.slots.All(func(p *atomic.Pointer[Context]) {
		if c := p.Load(); c != nil {
			f(c)
		}
	})
}

// EachIncoming calls f with the context of every call that the peer of a session has open,
// but for those that run on the reader.
func EachIncoming(s *Session, f func(*Context)) { s.in.each(f) }

// cancelCalls ends the contexts of all calls in the table.
func (in *incoming) cancelCalls() { in.each(func(c *Context) { c.end(canceled) }) }

// breakAll ends the contexts and streams of all calls in the table when the session has ended.
func (in *incoming) breakAll() {
	in.each((*Context).broken)
}

// bindIn takes a BIND frame.
func (s *Session) bindIn(h wire.Header, payload []byte, at int64) error {
	codec, method, err := wire.ParseBind(payload)
	if err != nil {
		return err
	}
	n := int(h.Code)
	if most := max(s.cfg.Limits.MaxBindings, wire.InitialBindings); n >= most {
		return fmt.Errorf("binding %d is beyond the %d allowed (Limits.MaxBindings)", n, most)
	}
	b := Binding{codec: string(codec), name: string(method)}
	switch {
	case n < len(s.in.bindings):
		s.in.bindings[n] = b
		return s.reading.control.skip(at)
	case n == len(s.in.bindings):
		s.in.bindings = append(s.in.bindings, b)
	default:
		return fmt.Errorf("binding %d leaves a gap behind %d", n, len(s.in.bindings))
	}
	return nil
}

// binding returns the binding of a request.
func (in *incoming) binding(n uint16) (*Binding, error) {
	if int(n) >= len(in.bindings) {
		return nil, fmt.Errorf("request for binding %d, %d were made", n, len(in.bindings))
	}
	return &in.bindings[n], nil
}

// resolve finds the method of a binding, or why there is none.
func (s *Session) resolve(b *Binding) *wire.Status {
	if b.known && !b.Method.gone.Load() {
		return nil
	}
	if s.cfg.Resolve == nil {
		return &wire.Status{Code: wire.Unimplemented, Message: "this side serves no methods"}
	}
	found, st := s.cfg.Resolve(b.codec, b.name)
	if st != nil {
		return st
	}
	b.Method, b.Codec, b.Sizer, b.known = found.Method, found.Codec, found.Sizer, true
	return nil
}
