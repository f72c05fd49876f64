package logger

import (
	"testing"
	"testing/synctest"
	"time"
)

// One event of each interval is logged, and the number of the others is told at its end.
func TestSparse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s Sparse
		logged, left := 0, 0
		event := func() {
			if s.Allow(func(n int) { left += n }) {
				logged++
			}
		}
		for range 1000 {
			event()
		}
		if logged != 1 || left != 0 {
			t.Errorf("%d logged, %d told as left out, want 1 and 0", logged, left)
		}
		time.Sleep(2 * Interval)
		synctest.Wait()
		if logged != 1 || left != 999 {
			t.Errorf("%d logged, %d told as left out, want 1 and 999", logged, left)
		}
		event()
		time.Sleep(2 * Interval)
		event()
		if logged != 3 || left != 999 {
			t.Errorf("%d logged, %d told as left out, want 3 and 999", logged, left)
		}
	})
}
