package overload

import (
	"math"
	"sync"
	"sync/atomic"
)

const (
	few    = 16 // calls of a method in flight that it may always have
	sample = 20 // completions that a window of a method needs, unless it is long
	smooth = 0.3

	longWait = 1_000_000 // a wait for a processor that counts, ns
)

// Method is the state of one method of a server.
type Method struct {
	c     *Controller
	name  string
	fixed int64 // a limit that was configured, in place of guard and probe; 0: none

	inflight atomic.Int64
	over     counted // calls that have ended in the window
	_        [48]byte
	places   places       // the limit is that of the probe; 0: none
	waited   atomic.Int64 // µs that the calls waited that have started in the window, where it was long
	rate     atomic.Int64 // completions in a second, times 1000; 0: not known, or there is no queue
	slow     atomic.Bool  // calls took much longer in the last window than they can
	busy     atomic.Bool  // more than few were in flight throughout the window
	began    atomic.Int64 // when the window did
	next     atomic.Int64 // when it can end
	budget   atomic.Int64 // about what the calls have
	fast     atomic.Int64 // the least time that the method has taken, ns; 0: not known
	refused  atomic.Uint64
	late     atomic.Uint64 // refused by the guard

	mu    sync.Mutex
	past  past
	probe probe
}

// past is what the windows up to now have shown of a method.
type past struct {
	ended bool    // calls did in the last one
	x     float64 // completions in a second, smoothed; 0: not known
	r     int64   // the mean time in the handler
	told  bool    // the journal has that the guard refuses

	stalled bool // the process stood still for a while in this one
}

// counted is a number of calls, in its upper 24 bits, and the µs they took, up to about full.
type counted struct{ atomic.Uint64 }

const (
	// full is the time of which no more is counted, which 55,000 calls of 10 s reach, µs. As much again is left for the calls that are
	// added at the same time, and for those of less than brief, which do not look: all 1<<24 of them take an eighth of it.
	full  = 1 << 39
	brief = 1 << 12
)

func (d *counted) add(took int64) {
	const most = 10_000_000
	us := uint64(min(max(took, 0)/1000, most))
	if us >= brief && d.Load()&(1<<40-1) >= full {
		us = 0
	}
	d.Add(1<<40 | us)
}

func splitCounted(v uint64) (n, took int64) { return int64(v >> 40), int64(v&(1<<40-1)) * 1000 }

// Method returns the state of one more method. fixed is a limit to the calls of it in
// flight, 0 for none.
func (c *Controller) Method(name string, fixed int) *Method {
	m := &Method{c: c, name: name, fixed: int64(fixed)}
	m.next.Store(math.MinInt64)
	return m
}

// Admit decides over a call that was read at now and has budget ns. Of one that is
// admitted the user calls Started, and then Ended; or Dropped, if its handler does not run.
func (m *Method) Admit(now, budget int64, class Class) Verdict {
	c := m.c
	if now >= c.next.Load() {
		c.turn(now)
	}
	if now >= m.next.Load() {
		m.turn(now)
	}
	if v := m.allows(now, budget, class); v != Admitted {
		return v
	}
	if v := c.enter(now, budget, class); v != Admitted {
		return v
	}
	if n := m.inflight.Add(1); m.fixed > 0 && n > m.fixed {
		m.Dropped(now) // another call was faster
		m.refused.Add(1)
		return FullFixed
	}
	return Admitted
}

// allows applies the rules of the method.
func (m *Method) allows(now, budget int64, class Class) Verdict {
	n := m.inflight.Load()
	if m.fixed > 0 {
		if n >= m.fixed {
			m.refused.Add(1)
			return FullFixed
		}
		return Admitted
	}
	if n < few {
		return Admitted
	}
	if b := m.budget.Load(); budget > b+b/8 || budget < b-b/8 {
		m.budget.Store(budget)
	}
	if m.places.limit.Load() > 0 && n >= m.places.of(class, budget, few) {
		m.refused.Add(1)
		return Full
	}
	if m.tooLate(n, now, class.patience(budget)) {
		m.late.Add(1)
		return TooLate
	}
	return Admitted
}

// tooLate tells whether a call that joins n others would be answered later than patience from
// now. That can be said of calls that wait for one another alone: of those that took much longer,
// with their wait for a processor, than the method can take, in the last window or in this one. The
// rate may just be rising, so that of this window counts where it is higher. This window alone does not tell:
// the process may have stood still in it.
func (m *Method) tooLate(n, now, patience int64) bool {
	rate := m.rate.Load()
	known := rate > 0 && m.slow.Load()
	if rate == 0 {
		rate = m.places.rate.Load()
	}
	if n <= within(rate, patience) {
		return false
	}
	done, took := splitCounted(m.over.Load())
	passed := now - m.began.Load()
	if done < sample || passed <= 0 {
		return known
	}
	return (known || m.queues(done, took+m.waited.Load()*1000)) && float64(n)*float64(passed) > float64(done)*float64(patience)
}

// queues tells whether calls that took so long together waited for one another.
func (m *Method) queues(done, took int64) bool {
	fast := m.fast.Load()
	return fast > 0 && took > done*max(2*fast, fast+leastTarget)
}

// turn closes the window of the method if it is over.
func (m *Method) turn(now int64) {
	if !m.mu.TryLock() {
		return
	}
	defer m.mu.Unlock()
	if now < m.next.Load() {
		return
	}
	late := now - m.next.Load()
	m.next.Store(now + window)
	if m.began.Load() == 0 {
		m.began.Store(now)
		return
	}
	passed := now - m.began.Load()
	done, _ := splitCounted(m.over.Load())
	if late > still && m.c.looks.stoodStill(m.began.Load(), now) {
		m.past.stalled = true // and it is not that no calls came
	}
	least, need := m.probe.needs()
	if passed < least {
		m.next.Store(now + least - passed)
		return
	}
	if passed < window || done < need && passed < longest || done == 0 && m.inflight.Load() > few {
		return
	}
	if m.past.stalled && done*int64(longest) > 5*sample*passed {
		// The method is called often, and what the window shows is not its doing. What was known before still holds.
		m.past.stalled = false
		m.over.Swap(0)
		m.waited.Store(0)
		m.began.Store(now)
		return
	}
	m.past.stalled = false
	m.closeLocked(now, passed)
}

// closeLocked closes a window that lasted so long.
func (m *Method) closeLocked(now, passed int64) {
	done, took := splitCounted(m.over.Swap(0))
	m.slow.Store(done > 0 && m.queues(done, took+m.waited.Swap(0)*1000))
	m.began.Store(now)
	inflight := m.inflight.Load()
	busy := m.busy.Swap(inflight > few)
	refused, late := m.refused.Swap(0), m.late.Swap(0)
	rate := float64(done) * 1e9 / float64(passed)
	m.places.note(done, passed)
	if done > 0 && took < full*1000 { // otherwise the mean is not known, and counts as that of the window before
		m.past.r = took / done
	}
	// In a long window that begins before the first call has ended there is no rate.
	known := busy && done > 0 && (m.past.ended || done >= sample && passed <= 2*window)
	m.past.ended = done > 0
	switch {
	case !known:
		m.past.x = 0
	case m.past.x == 0:
		m.past.x = rate
	default:
		m.past.x = max(rate, m.past.x+smooth*(rate-m.past.x))
	}
	m.rate.Store(int64(m.past.x * 1000))
	if told := late > 0; told != m.past.told {
		if m.past.told = told; told {
			m.c.journal.add(Decision{At: now, What: CallsTooLate, Method: m.name, From: inflight, Ratio: m.past.x})
		}
	}
	if m.fixed == 0 {
		defer func() { m.fast.Store(leastOf(m.probe.ever)) }()
		m.places.limit.Store(m.probe.step(reading{
			now: now, passed: passed, done: done, r: m.past.r, rate: rate, inflight: inflight, busy: busy, refused: refused,
			target: target(m.budget.Load()),
		}, func(d Decision) {
			d.At, d.Method = now, m.name
			m.c.journal.add(d)
		}))
	}
}

// Started notes that the handler of a call starts at now which was read at came.
func (m *Method) Started(came, now, budget int64) {
	if wait := now - came; wait > longWait {
		m.waited.Add(wait / 1000)
	}
	m.c.started(came, now, budget)
}

// Opened notes that the handler of a stream starts: it no longer counts.
func (m *Method) Opened(came, now int64) {
	m.c.started(came, now, NoBudget)
	m.Dropped(now)
}

// Ended notes that a handler has ended at now that took so long.
func (m *Method) Ended(now, took int64) {
	m.over.add(took)
	m.Dropped(now)
}

// Dropped notes that an admitted call has ended at now whose handler did not run.
func (m *Method) Dropped(now int64) {
	m.c.leave(now)
	if n := m.inflight.Add(-1); n <= few && m.busy.Load() {
		m.busy.Store(false)
	}
}
