// Package due has a context with a deadline for functions that seldom wait: until something waits for its end it has no
// timer and no channel, so that it costs one allocation in place of five.
package due

import (
	"context"
	"errors"
	"sync"
	"time"
)

// Context ends with its parent, at its deadline, and when End is called.
type Context struct {
	parent context.Context
	at     time.Time

	mu    sync.Mutex
	timed context.Context // nil until something waits for the end
	stop  context.CancelFunc
	err   error // why it has ended, once that was asked or End was called: it does not change any more
}

// After returns a context that ends after some time. Its deadline must not be later than that of the parent.
func After(parent context.Context, left time.Duration) *Context {
	return &Context{parent: parent, at: time.Now().Add(left)}
}

// End ends the context.
func (c *Context) End() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.endedLocked() == nil {
		c.err = context.Canceled
	}
	if c.stop != nil {
		c.stop()
	}
}

// Deadline is when the context ends at the latest.
func (c *Context) Deadline() (time.Time, bool) { return c.at, true }

// Done is closed when the context has ended.
func (c *Context) Done() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.timed == nil {
		c.startLocked()
	}
	return c.timed.Done()
}

// startLocked makes the context that something waits for.
func (c *Context) startLocked() {
	ended, parent := c.endedLocked(), c.parent
	if ended != nil || parent.Done() == nil {
		parent = context.WithoutCancel(parent) // package context sets no timer where a parent has the same deadline
	}
	if ended != nil && !errors.Is(ended, context.DeadlineExceeded) {
		c.timed, c.stop = context.WithCancel(parent)
		c.stop()
		return
	}
	c.timed, c.stop = context.WithDeadline(parent, c.at)
}

// Err is why the context has ended, nil before that.
func (c *Context) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.endedLocked()
}

// endedLocked is Err.
func (c *Context) endedLocked() error {
	if c.err == nil {
		c.err = c.nowLocked().Err()
	}
	if c.err == nil && c.timed == nil && !time.Now().Before(c.at) {
		c.err = context.DeadlineExceeded
	}
	return c.err
}

// Value is that of the parent. Package context finds by it what ends with this context.
func (c *Context) Value(key any) any {
	c.mu.Lock()
	in := c.nowLocked()
	c.mu.Unlock()
	return in.Value(key)
}

// nowLocked is the context that has the values: the one that has a timer, if there is one.
func (c *Context) nowLocked() context.Context {
	if c.timed != nil {
		return c.timed
	}
	return c.parent
}
