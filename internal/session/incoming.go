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

// incoming is what this side knows of the calls that the peer has open. A call that runs on the reader is not in the table: no frame can
// refer to it until the reader reads on.
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
	limits   *Limits                     // of this side
	w        *writer

	sequences sequences // one-way calls that have an order
}

// hold counts n bytes of requests more, and spare ones of their buffers, for the process alone; or fewer if they are below zero.
func (in *incoming) hold(n, spare int64) {
	in.bytes.Add(n)
	in.account.Add(n + spare)
}

// queue counts bytes of unread messages more, and their memory, or fewer if they are below zero. It reports whether no more bytes are unread than may be.
func (in *incoming) queue(bytes, memory int) bool {
	in.account.Add(int64(memory))
	return in.unread.Add(int64(bytes)) <= int64(in.limits.MaxStreamBytes)
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
	// breakAll looks through the table after failed is set: a call that it does not find there ends here.
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

// clearLocked takes a call out of the table. It is called with the writer's lock held, just before the final frame is appended: the peer
// may use the slot again as soon as it has seen that frame. It returns false when one has been appended.
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
	if in.running.Add(-1) == 0 {
		in.wake()
	}
}

// arrived notes that a request has come whole, or never will.
func (in *incoming) arrived() {
	if in.arriving.Add(-1) == 0 {
		in.wake()
	}
}

// wake tells a drain that the last call may have ended.
func (in *incoming) wake() {
	if in.closing.Load() {
		in.drain.Wake()
	}
}

// none reports whether no call waits, runs or arrives, but for one that runs on the reader.
func (in *incoming) none() bool { return in.running.Load() == 0 && in.arriving.Load() == 0 }

// each calls f with every call in the table.
func (in *incoming) each(f func(*Context)) {
	for p := range in.slots.All {
		if c := p.Load(); c != nil {
			f(c)
		}
	}
}

// EachIncoming calls f with the context of every call that the peer has open, but for those that run on the reader.
func (s *Session) EachIncoming(f func(*Context)) { s.in.each(f) }

// cancel ends the contexts of all calls in the table, and of those that come. The calls that now fail as canceled are answered with st.
func (in *incoming) cancel(st *wire.Status) {
	in.cut.Store(st)
	in.each(func(c *Context) { c.end(canceled) })
}

// answer answers all calls that still run with st. What their handlers return later is discarded.
func (in *incoming) answer(st *wire.Status) {
	in.each(func(c *Context) {
		in.w.Lock()
		defer in.w.Unlock()
		if c.answered || in.w.ClosedLocked() {
			return
		}
		in.clearLocked(c)
		in.w.putErrorLocked(c.id, st, "")
	})
}

// breakAll ends the contexts and streams of all calls in the table when the session has ended.
func (in *incoming) breakAll() {
	in.each((*Context).broken)
}

// bind makes binding n by the payload of a BIND frame. It reports whether that was made before.
func (in *incoming) bind(n int, payload []byte) (again bool, err error) {
	codec, method, err := wire.ParseBind(payload)
	if err != nil {
		return false, err
	}
	if most := max(in.limits.MaxBindings, wire.InitialBindings); n >= most {
		return false, fmt.Errorf("binding %d is beyond the %d allowed (Limits.MaxBindings)", n, most)
	}
	b := Binding{codec: string(codec), name: string(method)}
	switch {
	case n < len(in.bindings):
		in.account.Add(b.memory() - in.bindings[n].memory())
		in.bindings[n] = b
		return true, nil
	case n == len(in.bindings):
		in.account.Add(b.memory())
		in.bindings = append(in.bindings, b)
	default:
		return false, fmt.Errorf("binding %d leaves a gap behind %d", n, len(in.bindings))
	}
	return false, nil
}

// memory is about how many bytes the binding takes.
func (b *Binding) memory() int64 { return 128 + int64(len(b.codec)+len(b.name)) }

// binding returns the binding of a request.
func (in *incoming) binding(n uint16) (*Binding, error) {
	if int(n) >= len(in.bindings) {
		return nil, fmt.Errorf("request for binding %d, %d were made", n, len(in.bindings))
	}
	return &in.bindings[n], nil
}

// resolve finds the method of a binding, or why there is none.
func (cfg *Config) resolve(b *Binding) *wire.Status {
	if b.known && !b.Method.gone.Load() {
		return nil
	}
	if cfg.Resolve == nil {
		return &wire.Status{Code: wire.Unimplemented, Message: "this side serves no methods"}
	}
	found, st := cfg.Resolve(b.codec, b.name)
	if st != nil {
		return st
	}
	b.Method, b.Codec, b.Sizer, b.known = found.Method, found.Codec, found.Sizer, true
	return nil
}

// admit returns why no call is taken now; nil when one is. One that began to arrive before new calls were turned away is taken.
func (in *incoming) admit(size, memory int, begun bool) *wire.Status {
	if in.turned.Load() && !begun {
		return &wire.Status{Code: wire.Unavailable, Reason: wire.ReasonDraining, Message: "shutting down; call another server"}
	}
	if in.bytes.Load()+int64(size) > int64(in.limits.MaxCallBytes) || in.unread.Load() > int64(in.limits.MaxStreamBytes) {
		return tooManyBytes()
	}
	if !in.account.Room(int64(memory)) {
		return tooMuchMemory()
	}
	return nil
}

// roomFor counts n bytes of requests, if there is room for them; a negative n gives bytes back.
func (in *incoming) roomFor(n int64) *wire.Status {
	if n > 0 && !in.account.Room(n) {
		return tooMuchMemory()
	}
	if in.bytes.Add(n) > int64(in.limits.MaxCallBytes) && n > 0 {
		in.bytes.Add(-n)
		return tooManyBytes()
	}
	in.account.Add(n)
	return nil
}

// begin waits until a handler may begin on a crowded connection, before there is a reply to be
// held. It reports whether the backlog counts the handler.
func (in *incoming) begin() (counted bool) {
	counted = in.backlog.Begin()
	in.w.AwaitRoom()
	return counted
}

// served writes what a worker has answered and counts it: the calls, the bytes of their requests, and the memory that these took besides.
func (in *incoming) served(done, size, spare int) {
	in.w.Lock()
	full := in.w.FullLocked()
	in.w.FlushAndUnlock(in.running.Load() > 1)
	if full {
		// A worker that fills the buffer faster than it empties takes no new work.
		in.w.AwaitRoom()
	}
	in.hold(-int64(size), -int64(spare))
	for range done {
		in.left()
	}
}

// outrun finishes a call that was taken from its reader: it was counted then.
func (in *incoming) outrun() {
	in.w.Lock()
	in.w.FlushAndUnlock(true)
	in.left()
}
