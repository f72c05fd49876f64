package twin

import (
	"testing"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/weftrpc/weft/internal/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

// TestMove: the reply of the attempt that was taken becomes that of the call, with all its fields.
func TestMove(t *testing.T) {
	type timed struct {
		*durationpb.Duration
		Name string
	}
	from, to := &timed{durationpb.New(5), "from"}, &timed{nil, "to"}
	if Move(to, from); to.Name != "from" || to.Duration != from.Duration {
		t.Errorf("a struct that embeds a message has become %v", to)
	}
	if Move(to, &timed{nil, "none"}); to.Name != "none" || to.Duration != nil {
		t.Errorf("a struct that embeds no message has become %v", to)
	}
	message, other := &durationpb.Duration{Seconds: 5}, &durationpb.Duration{Nanos: 7}
	if Move(message, other); message.Seconds != 0 || message.Nanos != 7 {
		t.Errorf("a message has become %v", message)
	}
	Move(nil, nil)
}
