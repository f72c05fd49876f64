package logger

import (
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// One event of each interval is logged, and the number of the others is told at its end.
func TestSparse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s Sparse
		logged := 0
		var left atomic.Int64 // the functions that add to it run in goroutines of their own
		event := func() {
			if s.Allow(func(n int) { left.Add(int64(n)) }) {
				logged++
			}
		}
		for range 1000 {
			event()
		}
		if logged != 1 || left.Load() != 0 {
			t.Errorf("%d logged, %d told as left out, want 1 and 0", logged, left.Load())
		}
		time.Sleep(2 * Interval)
		synctest.Wait()
		if logged != 1 || left.Load() != 999 {
			t.Errorf("%d logged, %d told as left out, want 1 and 999", logged, left.Load())
		}
		event()
		time.Sleep(2 * Interval)
		event()
		if logged != 3 || left.Load() != 999 {
			t.Errorf("%d logged, %d told as left out, want 3 and 999", logged, left.Load())
		}
	})
}

// With Most the first ones are logged.
func TestSparseMost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, told := Sparse{Most: 3}, 0
		for interval := range 3 {
			logged := 0
			for range 10 {
				if s.Allow(func(n int) { told += n }) {
					logged++
				}
			}
			time.Sleep(Interval)
			synctest.Wait()
			if logged != 3 || told != 7*(interval+1) {
				t.Errorf("interval %d: %d logged, %d told as left out so far", interval, logged, told)
			}
		}
	})
}

// An error that stays the same is logged at once and then once a minute; another one is logged at once.
func TestRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r Repeated
		count := func(err error) (logged int) {
			for range 100 { // ten minutes
				if r.Allow(err) {
					logged++
				}
				time.Sleep(6 * time.Second)
			}
			return logged
		}
		if n := count(errors.New("away")); n != 10 {
			t.Errorf("an error was logged %d times in ten minutes, want 10", n)
		}
		if n := count(errors.New("full")); n != 10 {
			t.Errorf("another error was logged %d times in ten minutes, want 10", n)
		}
	})
}
