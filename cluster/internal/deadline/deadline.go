// Package deadline resolves when a call has to be over, and hands it to each of its attempts.
package deadline

import (
	"context"
	"time"

	"github.com/weftrpc/weft"
)

// Deadline is when a call has to be over; the zero value is never.
type Deadline struct {
	at      time.Time
	limited bool
}

// Of resolves the deadline of a call that began at a time: that of its context or the timeout of its options, whichever is earlier.
// usual is the timeout of calls that have neither; a timeout below zero leaves the context's deadline alone.
func Of(ctx context.Context, opts []weft.CallOption, began time.Time, usual time.Duration) Deadline {
	at, limited := ctx.Deadline()
	timeout := usual
	if s, err := weft.SettingsOf(opts...); err == nil && s.HasTimeout { // a wrong option is the error of the attempt
		timeout = s.Timeout
	} else if limited {
		return Deadline{at, true}
	}
	if timeout > 0 {
		if end := began.Add(timeout); !limited || end.Before(at) {
			at, limited = end, true
		}
	}
	return Deadline{at, limited}
}

// Left is the time until the deadline; ok is false when there is none.
func (d Deadline) Left() (left time.Duration, ok bool) {
	if !d.limited {
		return 0, false
	}
	return time.Until(d.at), true
}

// Within returns a context that ends at the deadline.
func (d Deadline) Within(ctx context.Context) (context.Context, context.CancelFunc) {
	if !d.limited {
		return ctx, func() {}
	}
	return context.WithDeadline(ctx, d.at)
}

// Options adds to the options of an attempt what is left of the call's time.
func (d Deadline) Options(opts []weft.CallOption) []weft.CallOption {
	left, ok := d.Left()
	if !ok {
		return opts
	}
	return append(opts, weft.WithTimeout(max(left, 1)))
}
