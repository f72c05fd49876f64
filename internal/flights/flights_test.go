package flights

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
)

// closed reports whether a channel is.
func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// What Close returns is closed when the last call has ended, and no further call is let in.
func TestCloseWaitsForTheLast(t *testing.T) {
	var f Flights
	for range 2 {
		if !f.Enter() {
			t.Fatal("a call is not let in")
		}
	}
	if n := f.Count(); n != 2 {
		t.Fatalf("%d calls are under way, want 2", n)
	}
	idle := f.Close()
	if f.Enter() || f.Close() != idle {
		t.Error("a call is let in behind Close, or Close returns another channel")
	}
	if f.Leave(); closed(idle) {
		t.Error("it is said to be idle with a call under way")
	}
	if f.Leave(); !closed(idle) || f.Count() != 0 {
		t.Error("it is not said to be idle when the last call has ended")
	}
	var none Flights
	if !closed(none.Close()) {
		t.Error("it is not said to be idle where there was no call")
	}
}

// End does not wait for the calls, which may still leave, and may come before or behind Close.
func TestEndWaitsForNone(t *testing.T) {
	for _, early := range []bool{false, true} {
		var f Flights
		f.Enter()
		if early {
			f.Close()
		}
		f.End()
		f.End()
		if !closed(f.Close()) || f.Enter() {
			t.Error("End waits for a call, or one is let in behind it")
		}
		f.Leave()
	}
}

// No more are under way than EnterBelow says.
func TestEnterBelow(t *testing.T) {
	var f Flights
	for range 3 {
		if !f.EnterBelow(3) {
			t.Fatal("there is no room for three")
		}
	}
	if f.EnterBelow(3) || !f.Enter() {
		t.Error("there is room for a fourth, or none where there is no bound")
	}
	f.Leave()
	f.Leave()
	if !f.EnterBelow(3) {
		t.Error("there is no room after one has left")
	}
}

// Calls that are let in while it is closed are all waited for.
func TestCloseAmongCalls(t *testing.T) {
	for range 100 {
		synctest.Test(t, func(t *testing.T) {
			var f Flights
			var under atomic.Int32
			var wg sync.WaitGroup
			for range 8 {
				wg.Go(func() {
					for f.Enter() {
						under.Add(1)
						under.Add(-1)
						f.Leave()
					}
				})
			}
			if <-f.Close(); under.Load() != 0 {
				t.Error("a call was under way when all had ended")
			}
			wg.Wait()
		})
	}
}
