package cluster

import (
	"testing"

	"google.golang.org/protobuf/types/known/durationpb"
)

// TestMove: the reply of the attempt that was taken becomes that of the call, with all its fields.
func TestMove(t *testing.T) {
	type timed struct {
		*durationpb.Duration
		Name string
	}
	from, to := &timed{durationpb.New(5), "from"}, &timed{nil, "to"}
	if move(to, from); to.Name != "from" || to.Duration != from.Duration {
		t.Errorf("a struct that embeds a message has become %v", to)
	}
	if move(to, &timed{nil, "none"}); to.Name != "none" || to.Duration != nil {
		t.Errorf("a struct that embeds no message has become %v", to)
	}
	message, other := &durationpb.Duration{Seconds: 5}, &durationpb.Duration{Nanos: 7}
	if move(message, other); message.Seconds != 0 || message.Nanos != 7 {
		t.Errorf("a message has become %v", message)
	}
	move(nil, nil)
}
