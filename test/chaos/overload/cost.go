package main

import (
	"time"

	"github.com/weftrpc/weft/internal/overload"
)

// costOfCall is what the protection costs a call that is accepted.
func costOfCall() time.Duration {
	c := overload.New(0, 1)
	m := c.Method("Work.Burn", 0)
	now := int64(1)
	return leastTime(func() {
		now += int64(20 * time.Microsecond)
		if m.Admit(now, int64(time.Second), overload.Default) == overload.Admitted {
			m.Started(now, now+1000, int64(time.Second))
			m.Ended(now+11_000, int64(10*time.Microsecond))
		}
	})
}

// costOfRefusal is what the decision costs to refuse a call.
func costOfRefusal() time.Duration {
	c := overload.New(0, 1)
	m := c.Method("Work.One", 1)
	now := int64(1)
	for m.Admit(now, int64(time.Second), overload.Critical) == overload.Admitted { // until the method is full
		now++
	}
	return leastTime(func() {
		now += int64(20 * time.Microsecond)
		m.Admit(now, int64(time.Second), overload.Default)
	})
}

// leastTime is the mean time of f in the fastest of some rounds, of which other programs have disturbed some.
func leastTime(f func()) time.Duration {
	const rounds, each = 20, 100_000
	least := time.Hour
	for range rounds {
		began := time.Now()
		for range each {
			f()
		}
		least = min(least, time.Since(began))
	}
	return least / each
}
