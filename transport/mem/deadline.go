package mem

import (
	"sync"
	"time"
)

// deadline turns a time into a flag and a wake-up. The lock of the condition it
// wakes protects it, and is held by the callers of its methods.
type deadline struct {
	at     time.Time // zero: none
	passed bool
	timer  *time.Timer // made once, then reset, so that a deadline per call costs no memory
}

// set replaces the deadline by t and wakes the waiters of c when it passes.
func (d *deadline) set(c *sync.Cond, t time.Time) {
	d.stop()
	d.at, d.passed = t, false
	d.check(c)
}

// check marks the deadline as passed or has the timer look again later.
func (d *deadline) check(c *sync.Cond) {
	if d.at.IsZero() || d.passed {
		return
	}
	left := time.Until(d.at)
	switch {
	case left <= 0:
		d.passed = true
		c.Broadcast()
	case d.timer != nil:
		d.timer.Reset(left)
	default:
		// A timer that fires as the deadline is moved finds the new one here.
		d.timer = time.AfterFunc(left, func() {
			c.L.Lock()
			defer c.L.Unlock()
			d.check(c)
		})
	}
}

// stop ends the timer; a flag that is up stays up.
func (d *deadline) stop() {
	d.at = time.Time{}
	if d.timer != nil {
		d.timer.Stop()
	}
}
