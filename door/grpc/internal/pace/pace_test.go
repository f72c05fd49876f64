package pace_test

import (
	"testing"

	"github.com/weftrpc/weft/door/grpc/internal/pace"
)

func TestNext(t *testing.T) {
	var p pace.Pace
	now := int64(1)
	for i := range 3 * pace.Run {
		if got := p.Next(now); got != (i >= pace.Run) {
			t.Errorf("message %d of a run: %v", i, got)
		}
		now += pace.Behind
	}
	for range pace.Run {
		now += pace.Behind + 1
		if p.Next(now) {
			t.Error("a message after a pause belongs to a run")
		}
	}
}
