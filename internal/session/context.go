package session

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// Context is the context of one call that this side answers. It ends when the peer cancels the call, when the deadline passes, when the connection is
// lost, and when the handler has returned. What only some calls need (metadata, a Done channel, a timer) is made when it is needed, so that a Context
// is small.
//
// A Context is never used for a second call: a handler that keeps it too long sees an ended context, never another call.
type Context struct {
	Session *Session
	Method  *Method

	deadline int64
	received int64
	more     atomic.Pointer[more]
	id       uint32
	state    atomic.Uint32
	answered bool // the final frame has been appended; guarded by the writer's lock
	gated    bool // the gate of the method has counted the call
	Urgent   bool // the gate has found that others give way to the call
}

// more is what only some calls need.
type more struct {
	meta      string // the inside of the request's metadata block
	replyMeta string // the same of the reply's; for the handler's goroutine alone
	principal any
	owner     any  // of a call without a session
	shared    bool // by all calls of a connection without a session: it has nothing but the owner, and does not change
	stream    *Stream

	mu    sync.Mutex
	done  chan struct{} // nil until it is asked for
	timer *time.Timer
	after map[*func()]struct{}
}

// The states of a Context.
const (
	live uint32 = iota
	canceled
	expired
	finished
)

// Key is the key under which Value returns the Context.
type Key struct{}

// OrContext is part of the key of a value that a context may have besides descending from a Context: without the
// value the Context is found, so that one search is enough for both.
type OrContext struct{}

func (OrContext) orContext() {}

// FromContext returns the Context that ctx is or descends from, or nil.
func FromContext(ctx context.Context) *Context {
	if c, ok := ctx.(*Context); ok {
		return c
	}
	c, _ := ctx.Value(Key{}).(*Context)
	return c
}

func (c *Context) need() *more {
	old := c.more.Load()
	if old != nil && !old.shared {
		return old
	}
	m := new(more)
	if old != nil {
		m.owner = old.owner
	}
	if c.more.CompareAndSwap(old, m) {
		return m
	}
	return c.more.Load()
}

// owned is what the call has of its own of what only some need; nil: nothing.
func owned(c *Context) *more {
	if m := c.more.Load(); m != nil && !m.shared {
		return m
	}
	return nil
}

// Meta is the inside of the request's metadata block, "" if there was none.
func (c *Context) Meta() string {
	if m := owned(c); m != nil {
		return m.meta
	}
	return ""
}

// ReplyMeta is the inside of the metadata block that goes back with the reply.
func (c *Context) ReplyMeta() string {
	if m := owned(c); m != nil {
		return m.replyMeta
	}
	return ""
}

// SetReplyMeta sets it. Only the handler's goroutine may call it.
func (c *Context) SetReplyMeta(pairs string) {
	if pairs != "" || owned(c) != nil {
		c.need().replyMeta = pairs
	}
}

// Principal is what SetPrincipal was given, or nil.
func (c *Context) Principal() any {
	if m := owned(c); m != nil {
		return m.principal
	}
	return nil
}

// SetPrincipal sets the identity of the caller. It is called before the handler runs.
func (c *Context) SetPrincipal(p any) { c.need().principal = p }

// Deadline is the caller's, carried over without comparing clocks.
func (c *Context) Deadline() (time.Time, bool) {
	if c.deadline == 0 {
		return time.Time{}, false
	}
	return epoch.Add(time.Duration(c.deadline)), true
}

// Value finds nothing but the Context itself.
func (c *Context) Value(key any) any {
	switch key.(type) {
	case Key, interface{ orContext() }:
		return c
	}
	return nil
}

// Err is nil while the call goes on.
func (c *Context) Err() error {
	if c.deadline == 0 {
		return ErrAt(c, 0)
	}
	return ErrAt(c, now())
}

// ErrAt is Context.Err at a time on the clock of Nanos, which was read just before.
func ErrAt(c *Context, at int64) error {
	switch c.state.Load() {
	case live:
		if c.deadline != 0 && at >= c.deadline {
			c.end(expired)
			return ErrAt(c, at)
		}
		return nil
	case expired:
		return context.DeadlineExceeded
	default:
		return context.Canceled
	}
}

// Done is closed when the context ends.
func (c *Context) Done() <-chan struct{} {
	m := c.need()
	m.mu.Lock()
	defer m.mu.Unlock()
	c.watchLocked(m)
	return m.done
}

// watchLocked makes the channel and the timer. It is called with the lock held.
func (c *Context) watchLocked(m *more) {
	if m.done != nil {
		return
	}
	m.done = make(chan struct{})
	// end changes the state before it looks for m, and then waits for the lock: either it sees the channel or this sees the state.
	if c.state.Load() != live {
		close(m.done)
		return
	}
	if c.deadline != 0 {
		m.timer = time.AfterFunc(time.Duration(c.deadline-now()), func() { c.end(expired) })
	}
}

// AfterFunc lets package context follow this context without a goroutine.
func (c *Context) AfterFunc(f func()) func() bool {
	m := c.need()
	m.mu.Lock()
	c.watchLocked(m)
	if c.state.Load() != live {
		m.mu.Unlock()
		// It runs the user's function once and ends with it.
		go f()
		return func() bool { return false }
	}
	if m.after == nil {
		m.after = make(map[*func()]struct{})
	}
	key := &f
	m.after[key] = struct{}{}
	m.mu.Unlock()
	return func() bool {
		m.mu.Lock()
		defer m.mu.Unlock()
		_, waiting := m.after[key]
		delete(m.after, key)
		return waiting
	}
}

// end ends the context; the first reason counts.
func (c *Context) end(state uint32) {
	if !c.state.CompareAndSwap(live, state) {
		return
	}
	m := owned(c)
	if m == nil {
		return
	}
	m.mu.Lock()
	if m.timer != nil {
		m.timer.Stop()
	}
	if m.done != nil {
		select {
		case <-m.done:
		default:
			close(m.done)
		}
	}
	after := m.after
	m.after = nil
	m.mu.Unlock()
	for f := range after {
		// It runs the user's function once and ends with it.
		go (*f)()
	}
}

// Received is when the request was read, on the clock of Nanos.
func (c *Context) Received() int64 { return c.received }

// Ended reports whether the peer has canceled the call or its deadline has passed, also when it was answered since.
func (c *Context) Ended() bool {
	switch c.state.Load() {
	case canceled, expired:
		return true
	}
	return c.deadline != 0 && now() >= c.deadline
}

// Budget is how much time the call had when it was read, in nanoseconds; 0: any.
func (c *Context) Budget() int64 {
	if c.deadline == 0 {
		return 0
	}
	return c.deadline - c.received
}

// Stream is the stream of a streaming call, nil for a unary one.
func (c *Context) Stream() *Stream {
	if m := owned(c); m != nil {
		return m.stream
	}
	return nil
}

// String is short: without it fmt would print the whole session.
func (c *Context) String() string { return "weft call " + c.Method.Name }

// contextError describes why ctx ended.
func contextError(ctx context.Context) string {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return "deadline exceeded"
	}
	return "canceled"
}
