package registrytest

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrpc/weft/registry"
)

// TestRunSurvivesStandstills: a registry that stands still again and again, each time with
// the end of all watches behind it, breaks no promise.
func TestRunSurvivesStandstills(t *testing.T) {
	t.Parallel()
	f := newFake()
	l := usual()
	l.still = silence / 2 // it is noticed before a watch that begins meanwhile gives up
	freezes := 0
	every(t, time.Second, func() {
		if freezes++; freezes > 10 {
			return // what takes long needs its time
		}
		// Freeze would end the watches at once, as if the registry had gone.
		f.mu.Lock()
		f.thawed = make(chan struct{})
		f.mu.Unlock()
		time.Sleep(6 * l.still)
		f.Thaw(t)
	})
	run(t, Config{New: func(*testing.T) registry.Driver { return fakeDriver{f} }}, l)
}

func TestPulse(t *testing.T) {
	const least = 500 * time.Millisecond
	t.Run("the process", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			p := &pulse{least: least}
			p.tick()
			stands := func(want bool) {
				t.Helper()
				if p.stands() != want {
					t.Errorf("stands is %v", !want)
				}
			}
			for range 100 {
				time.Sleep(least / 10)
				p.tick()
			}
			stands(false)
			time.Sleep(least)
			stands(true) // now
			p.tick()
			stands(true) // a moment ago
			for range 2*aftermath/least - 1 {
				time.Sleep(least / 2)
				p.tick()
			}
			stands(true)
			time.Sleep(least - 1)
			p.tick()
			stands(false)
			if !p.stoodSince(time.Now().Add(-2 * aftermath)) {
				t.Error("the standstill is forgotten")
			}
		})
	})
	t.Run("the clock", func(t *testing.T) {
		for _, step := range []time.Duration{-time.Hour, -time.Second, time.Second, time.Hour} {
			p := &pulse{least: time.Minute}
			p.tick()
			p.tick()
			if p.stands() {
				t.Error("a clock that was not set stands still")
			}
			p.least = 400 * time.Millisecond
			p.clock += int64(step)
			p.tick()
			if !p.stands() {
				t.Errorf("a clock that was set by %v is not noticed", -step)
			}
		}
	})
	t.Run("the registry", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := newFake()
			p := newPulse(t, least)
			p.ask(t, fakeDriver{f})
			time.Sleep(time.Minute)
			if p.stands() {
				t.Error("a registry that answers stands still")
			}
			f.Freeze(t)
			time.Sleep(2 * least)
			if !p.stands() {
				t.Error("a frozen registry does not stand still")
			}
			f.Thaw(t)
			time.Sleep(time.Second)
			if !p.stands() {
				t.Error("the standstill is forgotten at once")
			}
			time.Sleep(aftermath)
			if p.stands() {
				t.Error("the standstill is remembered for too long")
			}
		})
	})
}
