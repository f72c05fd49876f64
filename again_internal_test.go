package weft

import (
	"errors"
	"testing"
)

// A client makes a call again that was not sent, and one that a server has refused because it shuts down, whichever of the two reasons it gives.
func TestAgain(t *testing.T) {
	for _, c := range []struct {
		err  error
		want bool
	}{
		{&Error{Code: Unavailable, Outcome: NotSent}, true},
		{&Error{Code: Unavailable, Outcome: NotSent, Reason: ReasonHandshake}, false},
		{&Error{Code: Unavailable, Outcome: Refused, Reason: ReasonDraining}, true},
		{&Error{Code: Unavailable, Outcome: Refused, Reason: ReasonShutdown}, true},
		{&Error{Code: Unavailable, Outcome: Refused}, false},
		{&Error{Code: Unavailable, Outcome: Executed, Reason: ReasonShutdown}, false},
		{&Error{Code: Unavailable, Outcome: OutcomeUnknown, Reason: ReasonShutdown}, false},
		{&Error{Code: ResourceExhausted, Outcome: NotSent}, false},
		{errors.New("another"), false},
	} {
		if got := again(c.err); got != c.want {
			t.Errorf("a call that failed with %+v is made again: %v, want %v", c.err, got, c.want)
		}
	}
}
