// Package due has a context with a deadline for functions that seldom wait: until something waits for its end it has no
// timer and no channel, so that it costs one allocation in place of five, and none as a part of another value. A goroutine
// that waits by an Alarm needs neither.
package due

import (
	"context"
	"errors"
	"sync"
	"time"
)

// Context ends with its parent, at its deadline, and when End is called. As a part of another value it is made by Begin.
type Context struct {
	parent context.Context
	at     time.Time

	mu    sync.Mutex
	alarm *Alarm          // of a goroutine that waits by it
	timed context.Context // nil until something needs the channel
	stop  context.CancelFunc
	err   error // why it has ended, once that was asked or End was called: it does not change any more
	cause error // of err, where timed did not exist
}

// After returns a context that ends after some time. Its deadline must not be later than that of the parent.
func After(parent context.Context, left time.Duration) *Context {
	c := new(Context)
	c.Begin(parent, left)
	return c
}

// Begin makes of a zero Context what After returns. It is called once, before all other methods.
func (c *Context) Begin(parent context.Context, left time.Duration) {
	c.parent, c.at = parent, time.Now().Add(left)
}

// End ends the context.
func (c *Context) End() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.endedLocked() == nil {
		c.err, c.cause = context.Canceled, context.Canceled
	}
	if c.stop != nil {
		c.stop()
	}
	if c.alarm != nil {
		c.alarm.timer.Reset(0)
	}
}

// Deadline is when the context ends at the latest.
func (c *Context) Deadline() (time.Time, bool) { return c.at, true }

// Done is closed when the context has ended.
func (c *Context) Done() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.startLocked()
	return c.timed.Done()
}

// startLocked makes the context that something waits for, unless there is one.
func (c *Context) startLocked() {
	if c.timed != nil {
		return
	}
	switch err := c.endedLocked(); {
	case err == nil:
		c.timed, c.stop = until(c.parent, c.at)
		if a := c.alarm; a != nil && a.f != nil { // it ends a moment later than the alarm
			a.unwatch()
			a.stop = context.AfterFunc(c.timed, a.f)
		}
	case errors.Is(err, context.DeadlineExceeded):
		timed, stop := context.WithDeadlineCause(context.WithoutCancel(c.parent), time.Time{}, c.cause)
		stop() // it has ended already
		c.timed = timed
	default:
		timed, stop := context.WithCancelCause(context.WithoutCancel(c.parent))
		stop(c.cause)
		c.timed = timed
	}
}

// Err is why the context has ended, nil before that.
func (c *Context) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.endedLocked()
}

// endedLocked is Err.
func (c *Context) endedLocked() error {
	switch {
	case c.err != nil:
	case c.timed != nil:
		c.err = c.timed.Err()
	default:
		if c.err = c.parent.Err(); c.err != nil {
			c.cause = context.Cause(c.parent)
		} else if !time.Now().Before(c.at) {
			c.err, c.cause = context.DeadlineExceeded, context.DeadlineExceeded
		}
	}
	return c.err
}

// Value is that of the parent. Package context finds by it what ends with this context, and the cause of its end.
func (c *Context) Value(key any) any {
	c.mu.Lock()
	if c.err != nil {
		c.startLocked() // the parent may end later, with another cause
	}
	in := c.timed
	if in == nil {
		in = c.parent
	}
	c.mu.Unlock()
	return in.Value(key)
}

// Alarm wakes a goroutine that waits with a Context. The zero value is ready, and may be used again and again by one goroutine
// after the other, either for Receive or for Watch with one function: its timer is made once.
type Alarm struct {
	timer *time.Timer
	f     func()      // of Watch; nil: the alarm is for Receive
	ctx   *Context    // that Watch has lent it to
	stop  func() bool // of what waits for a channel for Watch
}

// Receive receives from ch. ok is false if ctx has ended first. If ctx is a Context, it still has no timer and no channel then.
func Receive[T any](ctx context.Context, a *Alarm, ch <-chan T) (v T, ok bool) {
	select {
	case v = <-ch:
		return v, true
	default: // an alarm is needed
	}
	c, _ := ctx.(*Context)
	if c == nil || !c.lend(a) {
		select {
		case v = <-ch:
			return v, true
		case <-ctx.Done():
			return v, false
		}
	}
	defer c.release()
	for {
		select {
		case v = <-ch:
			return v, true
		case <-c.parent.Done():
		case <-a.timer.C:
		}
		ended, timed := c.woken(a)
		if ended {
			return v, false
		}
		if timed != nil { // made meanwhile: it ends a moment later than the alarm
			select {
			case v = <-ch:
				return v, true
			case <-timed.Done():
				return v, false
			}
		}
	}
}

// woken tells whether the context has ended when an alarm has woken its goroutine, and sets the alarm again if it was too early.
func (c *Context) woken(a *Alarm) (ended bool, timed context.Context) {
	c.mu.Lock()
	defer c.mu.Unlock()
	ended = c.endedLocked() != nil
	if !ended && c.timed == nil {
		a.timer.Reset(time.Until(c.at))
	}
	return ended, c.timed
}

// lend sets an alarm to the deadline. It returns false where Done has to be waited for.
func (c *Context) lend(a *Alarm) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil || c.timed != nil || c.alarm != nil {
		return false
	}
	switch left := time.Until(c.at); {
	case a.timer != nil:
		a.timer.Reset(left)
	case a.f != nil:
		a.timer = time.AfterFunc(left, a.f)
	default:
		a.timer = time.NewTimer(left)
	}
	if a.f != nil && c.parent.Done() != nil {
		a.stop = context.AfterFunc(c.parent, a.f)
	}
	c.alarm = a
	return true
}

// release takes the alarm away that lend has set.
func (c *Context) release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.alarm.timer.Stop()
	c.alarm.unwatch()
	c.alarm = nil
}

// Watch has f called, on another goroutine, when ctx has ended, until Stop is called: context.AfterFunc for a goroutine that does so again and
// again. If ctx is a Context, it still has no timer and no channel then. f is always the same, and may be called more than once.
func (a *Alarm) Watch(ctx context.Context, f func()) {
	a.f = f
	if c, _ := ctx.(*Context); c != nil && c.lend(a) {
		a.ctx = c
	} else if ctx.Done() != nil {
		a.stop = context.AfterFunc(ctx, f)
	}
}

// Stop ends what Watch has begun. The function may still be running.
func (a *Alarm) Stop() {
	if c := a.ctx; c != nil {
		a.ctx = nil
		c.release()
		return
	}
	a.unwatch()
}

// unwatch ends what waits for a channel.
func (a *Alarm) unwatch() {
	if a.stop != nil {
		a.stop()
		a.stop = nil
	}
}
