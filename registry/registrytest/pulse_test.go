package registrytest

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/registry"
)

// brief are limits by which a standstill is noticed before a watch that begins meanwhile
// gives up.
func brief() limits {
	l := usual()
	l.still = silence / 2
	return l
}

// bubble runs one check on a driver of a fake registry, where no other program takes the
// processor away. disturb stands for a machine.
func bubble(t *testing.T, promise string, disturb func(*testing.T, *suite, *fake), driver func(*fake) registry.Driver) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		s := newSuite(t, Config{New: func(*testing.T) registry.Driver { return driver(f) }, Probe: f.probe}, brief())
		s.pulse.ask(t, s.Probe)
		disturb(t, s, f)
		for _, check := range append(s.checks(), documentChecks()...) {
			if check.promise == promise {
				check.run(t, s)
				return
			}
		}
		t.Fatalf("there is no check %q", promise)
	})
}

func sound(f *fake) registry.Driver { return fakeDriver{f} }

// TestRunSurvivesStandstills: a registry that stands still again and again breaks no
// promise, whether its driver reports that after a while or at once, before the kit can
// have noticed it.
func TestRunSurvivesStandstills(t *testing.T) {
	t.Parallel()
	for name, freeze := range map[string]func(*testing.T, *fake){
		"silent": func(_ *testing.T, f *fake) {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.thawed = make(chan struct{})
		},
		"watches end at once":   func(t *testing.T, f *fake) { f.Freeze(t) },
		"everything fails soon": func(t *testing.T, f *fake) { f.change(func() { f.thawed, f.prompt = make(chan struct{}), true }) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			standing := func(t *testing.T, s *suite, f *fake) {
				freezes := 0
				every(t, time.Second, func() {
					if freezes++; freezes > 10 {
						return // what takes long needs its time
					}
					freeze(t, f)
					time.Sleep(6 * s.still)
					f.Thaw(t)
				})
			}
			for _, check := range append((&suite{}).checks(), documentChecks()...) {
				t.Run(check.promise, func(t *testing.T) { bubble(t, check.promise, standing, sound) })
			}
		})
	}
}

func TestPulse(t *testing.T) {
	least, recent := usual().still, usual().recent
	t.Run("the process", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			p := &pulse{least: least, recent: recent}
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
			for range 2*recent/least - 1 {
				time.Sleep(least / 2)
				p.tick()
			}
			stands(true)
			time.Sleep(least - 1)
			p.tick()
			stands(false)
			if !p.stoodSince(time.Now().Add(-2 * recent)) {
				t.Error("the standstill is forgotten")
			}
		})
	})
	t.Run("the clock", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			for _, step := range []time.Duration{-time.Hour, -time.Second, time.Second, time.Hour} {
				p := &pulse{least: 400 * time.Millisecond, recent: recent}
				p.tick()
				p.tick()
				if p.stands() {
					t.Error("a clock that was not set stands still")
				}
				p.clock += int64(step)
				p.tick()
				if !p.stands() {
					t.Errorf("a clock that was set by %v is not noticed", -step)
				}
			}
		})
	})
	t.Run("the registry", func(t *testing.T) {
		for name, end := range map[string]func(*testing.T, *fake){"frozen": func(t *testing.T, f *fake) { f.Freeze(t) }, "refusing": func(t *testing.T, f *fake) { f.Kill(t) }} {
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					f := newFake()
					p := newPulse(t, usual())
					p.ask(t, f.probe)
					time.Sleep(time.Minute)
					if p.stands() {
						t.Error("a registry that answers stands still")
					}
					end(t, f)
					time.Sleep(2 * least)
					if !p.stands() {
						t.Error("a registry that does not answer does not stand still")
					}
					time.Sleep(2 * recent)
					if !p.stands() {
						t.Error("a registry that never answers stands still no more")
					}
					f.change(func() { f.down = false; f.thaw() })
					time.Sleep(time.Second)
					if !p.stands() {
						t.Error("the standstill is forgotten at once")
					}
					time.Sleep(recent)
					if p.stands() {
						t.Error("the standstill is remembered for too long")
					}
				})
			})
		}
	})
}

// A driver that refuses an instance does so once more each time, and not until the machine no longer stands still.
func TestRefusalIsNoStandstill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		refusing := faulty{both: fakeDriver{f}}
		refusing.put = func(ctx context.Context, i weft.Instance, ttl time.Duration) error {
			if err := i.Check(); err != nil {
				return err
			}
			return refusing.both.Put(ctx, i, ttl)
		}
		s := newSuite(t, Config{New: func(*testing.T) registry.Driver { return refusing }, Probe: f.probe}, brief())
		standing(t, s, f)
		began := time.Now()
		checkInvalid(t, s)
		if took := time.Since(began); took > s.patience/2 {
			t.Errorf("the check took %v", took)
		}
	})
}

// What mends a server and ends the check is not called again by the cleanup.
func TestMendingEndsTheCheck(t *testing.T) {
	calls := 0
	t.Run("check", func(t *testing.T) {
		mend := mending(t, func() {
			calls++
			runtime.Goexit() // as FailNow does
		})
		ended := make(chan struct{})
		// It ends with mend.
		go func() {
			defer close(ended)
			mend()
		}()
		<-ended
	})
	if calls != 1 {
		t.Errorf("mend was called %d times", calls)
	}
}

// TestPulseExplains: what fails when a standstill begins is explained by it.
func TestPulseExplains(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		p := newPulse(t, usual())
		p.ask(t, f.probe)
		over := make(chan struct{})
		for range 10 {
			time.Sleep(2*p.recent + 70*time.Millisecond) // anywhere between two questions
			began := time.Now()
			if p.explains(over) {
				t.Error("a failure without a standstill is explained")
			}
			if took := time.Since(began); took < p.shows || took > p.shows+p.least {
				t.Errorf("that took %v, want about %v", took, p.shows)
			}
			f.Freeze(t)
			if !p.explains(over) {
				t.Error("a failure at the beginning of a standstill is not explained")
			}
			f.Thaw(t)
		}
		time.Sleep(2 * p.recent)
		close(over)
		began := time.Now()
		if p.explains(over) || time.Since(began) != 0 {
			t.Error("explains waits when the question is over")
		}
	})
}
