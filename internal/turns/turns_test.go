package turns

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
)

// No more goroutines than allowed have a turn, and all get one.
func TestTurns(t *testing.T) {
	const most, many = 3, 200
	var turns Turns
	var now, peak, done atomic.Int32
	var wg sync.WaitGroup
	for range many {
		wg.Go(func() {
			for range 50 {
				turns.Take(most)
				n := now.Add(1)
				for p := peak.Load(); n > p && !peak.CompareAndSwap(p, n); p = peak.Load() {
				}
				now.Add(-1)
				turns.Give()
			}
			done.Add(1)
		})
	}
	wg.Wait()
	if peak.Load() > most || done.Load() != many {
		t.Errorf("%d had a turn at the same time, %d of %d were done", peak.Load(), done.Load(), many)
	}
}

// After the end none waits.
func TestEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var turns Turns
		var wg sync.WaitGroup
		for range 5 {
			wg.Go(func() { turns.Take(1) })
		}
		synctest.Wait()
		turns.End()
		wg.Wait()
		turns.Take(1)
	})
}
