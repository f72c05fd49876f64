package cluster

import (
	"context"
	"time"

	"github.com/weftrpc/weft"
)

// deadline is when a call has to be over; the zero deadline is none.
type deadline struct {
	at      time.Time
	limited bool
}

// deadlineOf resolves the deadline of a call that began at a time: that of its context
// or the timeout of its options, whichever is earlier. The default timeout is for calls
// that have neither; a timeout below zero leaves the context's deadline alone.
func (c *Client) deadlineOf(ctx context.Context, opts []weft.CallOption, began time.Time) deadline {
	at, limited := ctx.Deadline()
	timeout := c.timeout
	if s, err := weft.SettingsOf(opts...); err == nil && s.HasTimeout { // a wrong option is the error of the attempt
		timeout = s.Timeout
	} else if limited {
		return deadline{at, true}
	}
	if timeout > 0 {
		if end := began.Add(timeout); !limited || end.Before(at) {
			at, limited = end, true
		}
	}
	return deadline{at, limited}
}

// left is the time until the deadline; ok is false when there is none.
func (d deadline) left() (left time.Duration, ok bool) {
	if !d.limited {
		return 0, false
	}
	return time.Until(d.at), true
}

// within returns a context that ends at the deadline.
func (d deadline) within(ctx context.Context) (context.Context, context.CancelFunc) {
	if !d.limited {
		return ctx, func() {}
	}
	return context.WithDeadline(ctx, d.at)
}

// options adds to the options of an attempt what is left of the call's time.
func (d deadline) options(opts []weft.CallOption) []weft.CallOption {
	left, ok := d.left()
	if !ok {
		return opts
	}
	return append(opts, weft.WithTimeout(max(left, 1)))
}

// until is the deadline of the call. The first attempt of most calls does without it,
// because the client of the server resolves the same options at the same time; it is
// resolved once, when it is first asked for, and every further attempt gets what is left.
func (x *call) until() deadline {
	if !x.resolved {
		x.deadline, x.resolved = x.c.deadlineOf(x.ctx, x.opts, x.c.began.Add(x.began)), true
	}
	return x.deadline
}
