package session

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// Context is the context of one call that this side answers. It ends when the
// other side cancels the call, when the deadline passes, when the connection is
// lost, and when the handler has returned. What only some handlers ask for (a Done
// channel, a timer) is made when it is asked for.
//
// A Context is never used for a second call, whatever becomes of it: a handler
// that keeps it too long sees an ended context, never somebody else's call.
type Context struct {
	Session   *Session
	Method    *Method
	Meta      string // the inside of the request's metadata block
	ReplyMeta []byte // what the handler wants to send back; for its goroutine alone
	Principal any    // who the caller is, set by the owner's authentication
	Codec     string

	id       uint32
	deadline int64
	received int64
	state    atomic.Uint32
	watched  atomic.Bool // done or after have been asked for
	stream   *Stream
	answered bool // the final frame has been appended; guarded by the writer's lock

	mu    sync.Mutex
	done  chan struct{}
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

// Key is the key under which a Context gives itself.
type Key struct{}

// FromContext returns the Context that ctx is or descends from, or nil.
func FromContext(ctx context.Context) *Context {
	if c, ok := ctx.(*Context); ok {
		return c
	}
	c, _ := ctx.Value(Key{}).(*Context)
	return c
}

// Deadline is the caller's, carried over without comparing clocks.
func (c *Context) Deadline() (time.Time, bool) {
	if c.deadline == 0 {
		return time.Time{}, false
	}
	return epoch.Add(time.Duration(c.deadline)), true
}

// Value finds nothing but the Context itself.
func (c *Context) Value(key any) any {
	if _, ok := key.(Key); ok {
		return c
	}
	return nil
}

// Err is nil while the call goes on.
func (c *Context) Err() error {
	switch c.state.Load() {
	case live:
		if c.deadline != 0 && now() >= c.deadline {
			c.end(expired)
			return c.Err()
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
	c.mu.Lock()
	defer c.mu.Unlock()
	c.watch()
	return c.done
}

// watch makes the channel and the timer. It is called with the lock held.
func (c *Context) watch() {
	if c.done != nil {
		return
	}
	c.done = make(chan struct{})
	c.watched.Store(true)
	if c.state.Load() != live {
		close(c.done)
		return
	}
	if c.deadline != 0 {
		c.timer = time.AfterFunc(time.Duration(c.deadline-now()), func() { c.end(expired) })
	}
}

// AfterFunc lets package context follow this context without a goroutine.
func (c *Context) AfterFunc(f func()) func() bool {
	c.mu.Lock()
	c.watch()
	if c.state.Load() != live {
		c.mu.Unlock()
		// It runs the user's function once and ends with it.
		go f()
		return func() bool { return false }
	}
	if c.after == nil {
		c.after = make(map[*func()]struct{})
	}
	key := &f
	c.after[key] = struct{}{}
	c.mu.Unlock()
	return func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		_, waiting := c.after[key]
		delete(c.after, key)
		return waiting
	}
}

// end ends the context; the first reason counts.
func (c *Context) end(state uint32) {
	if !c.state.CompareAndSwap(live, state) || !c.watched.Load() {
		return
	}
	c.mu.Lock()
	if c.timer != nil {
		c.timer.Stop()
	}
	select {
	case <-c.done:
	default:
		close(c.done)
	}
	after := c.after
	c.after = nil
	c.mu.Unlock()
	for f := range after {
		// It runs the user's function once and ends with it.
		go (*f)()
	}
}

// Received is when the request was read, on the clock of Nanos.
func (c *Context) Received() int64 { return c.received }

// Stream is the stream of a streaming call, nil for a unary one.
func (c *Context) Stream() *Stream { return c.stream }

// String keeps a Context out of logs: fmt would walk through the session.
func (c *Context) String() string { return "weft call " + c.Method.Name }

// contextError turns the end of ctx into words.
func contextError(ctx context.Context) string {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return "deadline exceeded"
	}
	return "canceled"
}
