package balance

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// coldest is the part of its share with which a new server begins.
const coldest = 0.1

// defaultWindow is the window of a SlowStart that names none.
const defaultWindow = 30 * time.Second

// SlowStart gives a new server a tenth of what inner (nil: [P2C]) would give it,
// growing in a straight line to all of it over window, so that it can fill its
// caches and pools. A window of 0 means 30 seconds.
//
// A server was new at the time of its [NewStats] or [Stats.Restart]. It is compared with
// the oldest server of the list: where all are equally new, all get their share at once.
// One that is added ten seconds after the first has a tenth of its share then, a third
// five seconds later, and all of it after its window.
//
// Around a consistent hash it moves keys away from the new server for that time.
func SlowStart(window time.Duration, inner Balancer) Balancer {
	return slowStart{window, orDefault(inner)}
}

type slowStart struct {
	window time.Duration
	inner  Balancer
}

// Check refuses a window below zero.
func (s slowStart) Check() error {
	if s.window < 0 {
		return fmt.Errorf("balance.SlowStart: the window is %v, want 0 (for %v) or more", s.window, defaultWindow)
	}
	return Check(s.inner)
}

func (s slowStart) Build(set []Node) Picker {
	window := s.window
	if window <= 0 {
		window = defaultWindow
	}
	return inTiers(set, func(set []Node) Picker {
		oldest := slices.MinFunc(set, func(a, b Node) int {
			return cmp.Compare(a.Stats.since.Load(), b.Stats.since.Load())
		})
		return &slowStartPicker{s.inner.Build(set), window, set, oldest.Stats}
	})
}

type slowStartPicker struct {
	inner  Picker
	window time.Duration
	set    []Node
	oldest *Stats
}

// redraws bounds how many servers a call may pass by because they are new. Where most
// servers are new they are each other's choice.
const redraws = 4

func (p *slowStartPicker) Pick(c Call) int {
	first := p.inner.Pick(c)
	if first < 0 {
		return first
	}
	i := first
	for range redraws {
		part := p.part(p.set[i].Stats, c.Now)
		if part >= 1 {
			return i
		}
		c.Random = aside(c.Random)
		if unit(c.Random) < part || c.Tried.n >= triedLimit {
			return i
		}
		c.Tried.Add(p.set[i].Stats)
		if i = p.inner.Pick(c); i < 0 {
			return first
		}
	}
	return i
}

// part is the part of its share that a server gets: its age for that of the oldest one,
// at least coldest. Both count at most the window, and at least a tenth of it: servers
// that were found one after the other when the list was read are equally old.
func (p *slowStartPicker) part(s *Stats, now time.Duration) float64 {
	age := s.age(now)
	if age >= p.window {
		return 1
	}
	oldest := p.oldest.age(now)
	whole := float64(min(max(oldest, p.window/10), p.window))
	ramp := func(age time.Duration) float64 { return min(max(float64(age)/whole, coldest), 1) }
	return ramp(age) / ramp(oldest)
}
