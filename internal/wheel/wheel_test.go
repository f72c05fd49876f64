package wheel

import (
	"math/rand/v2"
	"testing"
	"time"
)

// clockwork drives a wheel as a timer of the runtime would.
type clockwork struct {
	t      *testing.T
	w      Wheel
	timers []Timer
	now    int64
	next   int64
	fired  map[uint32]int64
	visits int
}

func newClockwork(t *testing.T, n int) *clockwork {
	return &clockwork{t: t, timers: make([]Timer, n), now: int64(rand.Uint64() >> 12), fired: make(map[uint32]int64)}
}

func (c *clockwork) timer(n uint32) *Timer {
	c.visits++
	return &c.timers[n]
}

func (c *clockwork) set(n uint32, due int64) {
	c.timers[n].Due = due
	c.w.Add(n, &c.timers[n], c.now)
	if c.next == 0 || due < c.next {
		c.next = due
	}
}

// until moves the clock and returns at what time each timer was found.
func (c *clockwork) until(at int64) {
	for c.next != 0 && c.next <= at {
		c.now = max(c.now, c.next)
		c.next = c.w.Expire(c.now, c.timer, func(n uint32) { c.fired[n] = c.now })
		if c.next != 0 && c.next <= c.now {
			c.t.Fatalf("at %d the next look is at %d", c.now, c.next)
		}
	}
	c.now = at
}

// Every timer is found when it is due, and not before, however far away that is.
func TestDue(t *testing.T) {
	for range 200 {
		c := newClockwork(t, 500)
		due := make([]int64, len(c.timers))
		from := c.now
		for i := range c.timers {
			span := []int64{1e6, 1e9, 20e9}[rand.IntN(3)]
			due[i] = from + 1 + rand.Int64N(span)
			c.set(uint32(i), due[i])
			if i%100 == 0 {
				c.until(c.now + rand.Int64N(1e6))
			}
		}
		c.until(from + 30e9)
		for i, want := range due {
			got, ok := c.fired[uint32(i)]
			if !ok || got < want || got > max(want, from+5e6)+2*Spacing {
				t.Fatalf("a timer that is due after %v was found after %v (%v)", time.Duration(want-from), time.Duration(got-from), ok)
			}
		}
		if c.w.count != 0 || c.next != 0 {
			t.Fatalf("%d entries are left, the next look is at %d", c.w.count, c.next)
		}
	}
}

// A single timer is found at once when it is due.
func TestExact(t *testing.T) {
	for _, d := range []int64{1, 1e3, 1e6, 7e6, 9e6, 1e9, 10e9} {
		c := newClockwork(t, 1)
		from := c.now
		c.set(0, from+d)
		c.until(from + 20e9)
		if got := c.fired[0] - from; got != d {
			t.Errorf("a timer of %v was found after %v", time.Duration(d), time.Duration(got))
		}
	}
}

// Timers that are set and cleared again and again leave nothing behind, and are hardly ever
// looked at.
func TestSetAgain(t *testing.T) {
	c := newClockwork(t, 4)
	const calls = 1_000_000 // one each 10 µs
	for i := range calls {
		n := uint32(i) % 4
		c.timers[n].Due = 0
		c.set(n, c.now+10e9)
		c.until(c.now + 10e3)
	}
	if len(c.fired) > 0 {
		t.Errorf("%d timers were found that were never due", len(c.fired))
	}
	if most := 20 * 4 * 10 * 2; c.visits > most { // 10 seconds
		t.Errorf("timers were looked at %d times, want %d at most", c.visits, most)
	}
	for i := range c.timers {
		c.timers[i].Due = 0
	}
	c.until(c.now + 2e9)
	if c.w.count != 0 || c.next != 0 {
		t.Errorf("%d entries are left, the next look is at %d", c.w.count, c.next)
	}
}

// What one timer that is due costs does not depend on how many others are set.
func TestCostOfOne(t *testing.T) {
	visits := func(others int) int {
		c := newClockwork(t, others+1000)
		from := c.now
		for i := range others {
			c.set(uint32(1000+i), from+3600e9)
		}
		c.visits = 0
		for i := range 1000 { // within 100 ms
			c.set(uint32(i), from+1e6+int64(i)*100e3)
		}
		c.until(from + 300e6)
		if len(c.fired) != 1000 {
			t.Fatalf("%d of 1000 timers were found", len(c.fired))
		}
		return c.visits
	}
	if few, many := visits(0), visits(16_000); many > 2*few {
		t.Errorf("1,000 timers cost %d looks among few, %d among many", few, many)
	}
}

// The clock may stand still for long, and ticks may wrap around.
func TestLateLook(t *testing.T) {
	c := newClockwork(t, 100)
	c.now = 1<<(32+tickBits) - 50e6
	for i := range c.timers {
		c.set(uint32(i), c.now+int64(i)*1e6)
	}
	c.now += 3600e9
	c.next = c.w.Expire(c.now, c.timer, func(n uint32) { c.fired[n] = c.now })
	if len(c.fired) != 100 || c.next != 0 {
		t.Errorf("%d of 100 timers were found, the next look is at %d", len(c.fired), c.next)
	}
}
