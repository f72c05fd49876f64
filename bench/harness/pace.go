package harness

import "time"

// pace is one caller's share of a fixed rate: when its calls are to begin,
// whatever became of those before. Latency counts from then, so that a system
// which stalls is charged for the calls that had to wait (Gil Tene's coordinated
// omission).
type pace struct {
	first    time.Duration // of the caller's first call, from the beginning of the phase
	interval time.Duration // from one of its calls to the next
}

// newPace spreads a rate, in calls a second, evenly over the callers.
func newPace(caller, callers int, rate float64) *pace {
	interval := float64(callers) / rate * float64(time.Second)
	return &pace{
		first:    time.Duration(interval * float64(caller) / float64(callers)),
		interval: time.Duration(interval),
	}
}

// at is when call k is to begin, after the beginning of the phase.
func (p *pace) at(k int64) time.Duration { return p.first + time.Duration(k)*p.interval }
