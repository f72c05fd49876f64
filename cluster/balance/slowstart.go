package balance

import (
	"fmt"
	"time"
)

// defaultWindow is the window of a SlowStart that names none.
const defaultWindow = 30 * time.Second

// SlowStart gives a new server a tenth of what inner (nil: [P2C]) would give it,
// growing in a straight line to all of it over window, so that it can fill its
// caches and pools. A server is new when its [Stats] were made or restarted; when
// all are new, all get their share. A window of 0 means 30 seconds.
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
		return &slowStartPicker{s.inner.Build(set), window, set}
	})
}

type slowStartPicker struct {
	inner  Picker
	window time.Duration
	set    []Node
}

func (p *slowStartPicker) Pick(c Call) int {
	i := p.inner.Pick(c)
	if i < 0 || c.Tried.n >= triedLimit {
		return i
	}
	warmth := p.set[i].Stats.warmth(c.Now, p.window)
	if warmth == 1 {
		return i
	}
	c.Random = next(c.Random)
	if float64(c.Random>>11)/(1<<53) < warmth {
		return i
	}
	// Once only: where most servers are new, they are each other's choice.
	c.Tried.Add(p.set[i].Stats)
	if k := p.inner.Pick(c); k >= 0 {
		return k
	}
	return i
}
