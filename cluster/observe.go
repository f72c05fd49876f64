package cluster

import (
	"context"
	"time"

	"github.com/weftrpc/weft"
)

// EventKind says what has happened to a call.
type EventKind string

// The kinds of events.
const (
	Picked         EventKind = "picked"          // an attempt goes to a server: Address
	BreakerRefused EventKind = "breaker refused" // the breaker of a server let the attempt not through: Address
	Retrying       EventKind = "retrying"        // an attempt failed with Err, and another follows after After
	PushedBack     EventKind = "pushed back"     // a server said with Err when to come back: After; below zero: never
	NoBudget       EventKind = "no budget"       // an attempt failed with Err, and the budget pays for no other
	Hedging        EventKind = "hedging"         // a second attempt begins, since the first takes longer than After
)

// Event is one thing that has happened to a call, for tracing.
type Event struct {
	Kind    EventKind
	Method  string
	Address string // of the server, for Picked and BreakerRefused
	After   time.Duration
	Err     error
}

// observer is Config.Observe.
type observer func(ctx context.Context, e Event)

// tell tells of an event of a call.
func (o observer) tell(x *call, e Event) {
	if o != nil {
		e.Method = x.m.name
		o(x.ctx, e)
	}
}

// failed tells of a failed attempt that is followed by another, if again, or is not because the budget is spent.
func (o observer) failed(x *call, e *weft.Error, after time.Duration, again bool) {
	if o == nil {
		return
	}
	if wait, told := e.RetryAfter(); told {
		o.tell(x, Event{Kind: PushedBack, After: wait, Err: e})
	}
	if again {
		o.tell(x, Event{Kind: Retrying, After: after, Err: e})
	} else {
		o.tell(x, Event{Kind: NoBudget, Err: e})
	}
}
