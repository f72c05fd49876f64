package stall

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// target is one that goes on at once when work is taken away from it.
type target struct {
	running atomic.Uint64
	known   atomic.Bool
	last    uint64
	stolen  atomic.Int32
}

func (t *target) Running() *atomic.Uint64 { return &t.running }

func (t *target) Known() *atomic.Bool { return &t.known }

func (t *target) Steal() {
	t.stolen.Add(1)
	t.running.Store(0)
}

// begin begins a run, and has the monitor watch it.
func (t *target) begin(m *Monitor) (run uint64) {
	t.last += 2
	run = t.last | 1
	t.running.Store(run)
	if !t.known.Load() {
		m.See(t)
	}
	return run
}

// end ends a run. It returns false when what comes next was taken away.
func (t *target) end(run uint64) bool { return t.running.CompareAndSwap(run, 0) }

// A run that does not come back loses what is behind it after two looks at most, and no other run does.
func TestStealsFromStalledRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var m Monitor
		defer m.Close()
		var quick, slow target
		slow.begin(&m)
		for range 1000 {
			run := quick.begin(&m)
			time.Sleep(lookOften / 2)
			if !quick.end(run) {
				t.Fatal("a run lost what is behind it that came back between two looks")
			}
		}
		if n := slow.stolen.Load(); n != 1 {
			t.Errorf("work was taken %d times from a run that does not come back, want 1", n)
		}
		for range 10 {
			run, before := slow.begin(&m), slow.stolen.Load()
			if time.Sleep(3 * LookRarely); slow.end(run) || slow.stolen.Load() != before+1 {
				t.Fatal("a run that did not come back between two looks keeps what is behind it")
			}
		}
	})
}

// However rare the looks are, a run that stalls is found before two of them have passed.
func TestFindsStallSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var m Monitor
		defer m.Close()
		var one target
		for i := range 100 {
			time.Sleep(time.Duration(i) * time.Millisecond)
			one.end(one.begin(&m))
			before := one.stolen.Load()
			from := time.Now()
			one.begin(&m)
			for one.stolen.Load() == before {
				time.Sleep(100 * time.Microsecond)
			}
			if took := time.Since(from); took > LookRarely+secondLook+time.Millisecond {
				t.Errorf("a stalled run was found after %v", took)
			}
		}
	})
}

// A target in which nothing runs leaves the list, with its timer, and comes back with its next run.
func TestForgetsQuietTargets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var m Monitor
		defer m.Close()
		var one target
		for range 3 {
			if run := one.begin(&m); m.Len() != 1 || !one.end(run) {
				t.Fatalf("%d targets are watched, want 1", m.Len())
			}
			if time.Sleep((forget + 1) * LookRarely); m.Len() != 0 || one.known.Load() {
				t.Fatalf("%d targets are watched in which nothing runs", m.Len())
			}
		}
	})
}

// The monitor looks the more often the more runs there are, and rarely when there are few.
func TestLooksAsOftenAsNeeded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var m Monitor
		defer m.Close()
		every := func() time.Duration {
			m.mu.Lock()
			defer m.mu.Unlock()
			return m.every
		}
		var one target
		runs := func(n int, each time.Duration) {
			for range n {
				run := one.begin(&m)
				time.Sleep(each)
				one.end(run)
			}
		}
		runs(10_000, 2*time.Microsecond)
		if d := every(); d > lookOften {
			t.Errorf("%v between two looks while runs are short, want %v", d, lookOften)
		}
		runs(1000, time.Millisecond)
		if d := every(); d != LookRarely {
			t.Errorf("%v between two looks while runs are long, want %v", d, LookRarely)
		}
	})
}

// A monitor that was closed watches nothing.
func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var m Monitor
		var before, after target
		before.begin(&m)
		m.Close()
		after.begin(&m)
		time.Sleep(time.Second)
		if before.stolen.Load() != 0 || after.stolen.Load() != 0 || after.known.Load() {
			t.Error("a monitor that was closed looks")
		}
	})
}

// A target that is over leaves the list at the next look; the others stay.
func TestForgetsWhatIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var m Monitor
		defer m.Close()
		all := make([]target, 100)
		for i := range all {
			one := &all[i]
			one.end(one.begin(&m))
			if i > 0 {
				one.running.Store(Over)
			}
		}
		time.Sleep(LookRarely)
		if n := m.Len(); n != 1 {
			t.Errorf("%d targets are watched after a look, want the one that is not over", n)
		}
	})
}
