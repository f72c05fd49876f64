package breaker

import (
	"fmt"
	"time"
)

// State is what a breaker does with calls.
type State uint8

// The states.
const (
	Closed   State = iota // lets every call through
	Open                  // lets none through
	HalfOpen              // lets one through, or waits for how that one ends
)

// String is the state in lower case.
func (s State) String() string {
	switch s {
	case Closed:
		return "closed"
	case Open:
		return "open"
	default:
		return "half-open"
	}
}

// Result is how a call ended, as far as a breaker cares. The values are those of
// the results that a balancer and the health of a server are told.
type Result uint8

const (
	// OK means that the method did its work.
	OK Result = iota

	// Failed means that it did not, though it should have.
	Failed

	// Canceled means that nothing is known: the caller no longer wanted the answer,
	// or the call was not sent after all.
	Canceled
)

// Status is what a breaker knows.
type Status struct {
	State   State
	Until   time.Duration // when an open one lets its probe through
	Calls   int           // of the window, those that ended and those overdue
	Failed  int           // of these
	Overdue int           // of these
	Opened  int           // how often it opened after having been closed
	Why     string        // why it is not closed; empty when it is
}

// String says it in a few words, such as "open: 10 calls in a row failed".
func (s Status) String() string {
	if s.Why == "" {
		return s.State.String()
	}
	return fmt.Sprintf("%v: %s", s.State, s.Why)
}
