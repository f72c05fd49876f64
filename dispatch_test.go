package weft_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrpc/weft"
)

// Calls that are read together, of a method that is not known to be slow yet,
// begin together: one that waits does not hold up those behind it one by one.
func TestSlowCallsOfNewMethodBeginTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const calls, each = 16, 100 * time.Millisecond
		w := start(t, nil, func(s *weft.Server) error {
			return weft.Handle(s, "Slow.Sleep", func(context.Context, *Args) (*Product, error) {
				time.Sleep(each)
				return &Product{}, nil
			})
		})
		c := w.dial(nil)
		began := time.Now()
		done := make(chan *weft.Call, calls)
		for range calls {
			c.Go(t.Context(), "Slow.Sleep", &Args{}, new(Product), done)
		}
		for range calls {
			must(t, (<-done).Error)
		}
		// Two looks of the monitor, of at most 10 ms each, tell that the first one waits.
		if took := time.Since(began); took > each+30*time.Millisecond {
			t.Errorf("%d calls of %v at once took %v", calls, each, took)
		}
	})
}
