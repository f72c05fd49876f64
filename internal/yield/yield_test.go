package yield

import (
	"sync/atomic"
	"testing"
	"time"
)

var epoch = time.Now()

func clock() time.Duration { return time.Since(epoch) }

func start(f func()) { go f() } // the goroutine ends with the write

// A share is due after its slice of work, and what it has waited counts for it.
func TestDue(t *testing.T) {
	var s Share
	var p Pauses
	s.Begin(0)
	if s.Due(leastSlice - 1) {
		t.Error("a pause is due before the slice is over")
	}
	s.Waited(&p, 2*leastSlice, 0)
	if s.worked != 0 {
		t.Errorf("after a wait as long as the work %v are counted", s.worked)
	}
	s.Begin(0)
	s.Waited(&p, leastSlice, leastSlice)
	if s.worked != leastSlice {
		t.Errorf("%v of work in a read are counted as %v", leastSlice, s.worked)
	}
	if !s.Due(leastSlice) {
		t.Error("no pause is due after the slice")
	}
}

// A pause ends, also when several goroutines pause at once, and after Close.
func TestPauseEnds(t *testing.T) {
	var p Pauses
	var left atomic.Int32
	done := make(chan struct{})
	left.Store(4)
	for range 4 {
		go func() { // it ends with the last pause
			var s Share
			for range 200 {
				s.Begin(clock())
				s.worked = leastSlice
				s.Pause(&p, clock, start)
			}
			s.End(&p)
			if left.Add(-1) == 0 {
				close(done)
			}
		}()
	}
	<-done
	if n := p.busy.Load(); n != 0 {
		t.Errorf("%d are busy after the end", n)
	}
	p.Close()
	var s Share
	s.worked = leastSlice
	s.Begin(clock())
	s.Pause(&p, clock, start)
}

// Without others the slices grow.
func TestSlicesGrow(t *testing.T) {
	var p Pauses
	defer p.Close()
	var s Share
	for range 1000 {
		s.Begin(clock())
		s.worked = leastSlice
		if s.Pause(&p, clock, start); s.slice == mostSlice {
			return
		}
	}
	t.Errorf("after a thousand pauses a slice has %v", s.slice)
}
