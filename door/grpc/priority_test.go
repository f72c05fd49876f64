package grpc

import (
	"context"
	"testing"

	"github.com/weftrpc/weft"
)

// TestPriority calls with each priority.
func TestPriority(t *testing.T) {
	seen := make(chan weft.Priority, 1)
	c := served(t, func(srv *weft.Server) error {
		return weft.Handle(srv, "Test.Pause", func(ctx context.Context, p *Pause) (*Pause, error) {
			seen <- weft.PriorityFrom(ctx)
			return p, nil
		})
	})
	for _, want := range []weft.Priority{weft.PriorityDefault, weft.PrioritySheddable, weft.PriorityCritical} {
		if _, err := weft.Invoke[Pause](weft.WithPriority(t.Context(), want), c, "Test.Pause", &Pause{}); err != nil {
			t.Fatal(err)
		}
		if got := <-seen; got != want {
			t.Errorf("a call with priority %v ran with %v", want, got)
		}
	}
}
