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
// A server was new at the time of its [NewStats] or [Stats.Restart]. That counts beside
// older servers only: where all are equally new, all get their share at once, and beside
// servers that are themselves younger than the window a new one gets more than a tenth.
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
		stats := p.set[i].Stats
		if stats.age(c.Now) >= p.window {
			return i
		}
		part := p.part(stats, c.Now)
		if part == 1 {
			return i
		}
		c.Random = aside(c.Random)
		if unit(c.Random) < part || c.Tried.n >= triedLimit {
			return i
		}
		c.Tried.Add(stats)
		if i = p.inner.Pick(c); i < 0 {
			return first
		}
	}
	return i
}

// part is the part of its share that a server gets. The older the oldest server is, the
// more counts how much younger this one is: servers that have started within a few
// seconds of each other, and not long ago, get nearly equal parts.
func (p *slowStartPicker) part(s *Stats, now time.Duration) float64 {
	age, oldest := p.warmth(s, now), p.warmth(p.oldest, now)
	if age >= oldest {
		return 1
	}
	share := func(warmth float64) float64 { return 1 - (1-warmth)*oldest }
	return max(share(age)/share(oldest), coldest)
}

// warmth is the age of a server in parts of the window, from 0 to 1.
func (p *slowStartPicker) warmth(s *Stats, now time.Duration) float64 {
	return min(max(float64(s.age(now))/float64(p.window), 0), 1)
}
