package overload

import (
	"math"
	"sync"
	"sync/atomic"
)

const (
	window     = 100_000_000    // the least length of a window, ns
	longest    = 1_000_000_000  // after which a window ends though little has happened in it
	enough     = 5              // starts that a window of the server needs
	floor      = 2              // for each processor, below which no limit goes: what runs, and what runs next
	shallow    = 8              // calls in flight, beside which others do not wait in a queue that stays
	free       = 4096           // up to which the limit grows without being used
	calm       = 30_000_000_000 // without a long wait, after which the limit is lifted
	NoBudget   = 10_000_000_000 // the time, ns, that a call without a deadline is taken to have
	mostCalls  = 1 << 20        // what no limit exceeds
	burst      = 16             // times the target: what does not pass for a burst even in a single window
	aim        = 0.4            // times the target: waits that are longer than that lower a limit, those of half of it raise one
	mayIdle    = 0.05           // the part of the time in which processors may have nothing to do though there is a limit
	remembered = 1_000_000_000  // for how long a limit counts as too low with which they had, ns
	still      = window / 2     // without a look, after which the process has stood still
)

// Controller is the state of one server. Its methods, and those of its Methods, may be called
// from any goroutine. now is the time since any fixed moment, in ns, and never 0.
type Controller struct {
	most  int64        // calls in flight at most
	least atomic.Int64 // below which the limit does not go
	use

	inflight atomic.Int64
	_        [56]byte
	places   places
	peak     atomic.Int64 // the most in flight of the window
	next     atomic.Int64 // when the window can end
	cut      atomic.Int64 // when the limit was last lowered: calls that were read before do not count
	waits    waits        // of calls, from when they were read
	older    atomic.Int64 // calls that have started in the window and were read before cut
	looks    looks
	budget   atomic.Int64

	mu      sync.Mutex
	from    int64   // when the window began
	long    int64   // when calls last waited too long in a window, or the controller began
	high    int64   // windows in a row in which they did
	prompt  float64 // of the last window
	refused atomic.Uint64
	journal journal
}

// looks is what a Watcher sees.
type looks struct {
	waits waits        // of what was put at the end of the queue for processors
	last  atomic.Int64 // when the process was last seen to run; 0: nothing looks
	stood atomic.Int64 // when it was last seen to run again that had stood still
}

// seen notes that the process runs at now. It is called every lookEvery, until over is.
func (l *looks) seen(now int64) {
	if before := l.last.Swap(now); before != 0 && now-before > still {
		l.stood.Store(now)
	}
}

// over notes that nothing looks until the next call comes.
func (l *looks) over() { l.last.Store(0) }

// stoodStill tells whether the process has stood still since a moment.
func (l *looks) stoodStill(since, now int64) bool {
	last := l.last.Load()
	return l.stood.Load() > since || last != 0 && now-last > still
}

// New returns the controller of a server that never has more than most calls in
// flight, or any number if most is 0, on so many processors.
func New(most, processors int) *Controller {
	c := &Controller{most: mostCalls}
	if most > 0 {
		c.most = min(int64(most), mostCalls)
	}
	c.run(processors)
	c.places.limit.Store(c.most)
	c.next.Store(math.MinInt64)
	c.cut.Store(math.MinInt64)
	return c
}

// run notes on how many processors the process runs now.
func (c *Controller) run(processors int) {
	if n := int64(processors); c.processors.Swap(n) != n {
		c.least.Store(min(floor*n, c.most))
		c.idle.reset() // which counts from when there were others
	}
}

// enter counts a call that has budget ns, unless the limit is reached.
func (c *Controller) enter(now, budget int64, class Class) Verdict {
	if c.inflight.Load() >= min(c.places.of(class, budget, 0), class.share(c.most, 0, 0)) {
		c.refused.Add(1)
		if c.places.limit.Load() == c.most {
			return Most
		}
		return Waits
	}
	n := c.inflight.Add(1)
	if n == c.processors.Load() && c.limited() {
		c.idle.end(now)
	}
	for p := c.peak.Load(); n > p && !c.peak.CompareAndSwap(p, n); p = c.peak.Load() {
	}
	return Admitted
}

// leave counts a call that has ended.
func (c *Controller) leave(now int64) {
	n := c.inflight.Add(-1)
	if n == c.processors.Load()-1 && c.limited() {
		c.idle.begin(now)
	}
	if n == 0 {
		c.empty.Store(now)
	}
	if n <= max(shallow, c.least.Load()) && !c.drained.Load() {
		c.drained.Store(true)
	}
}

// started notes that the handler of a call starts which was read at came.
func (c *Controller) started(came, now, budget int64) {
	if came >= c.cut.Load() {
		c.waits.note(now-came, budget)
	} else {
		c.older.Add(1)
	}
	if b := c.budget.Load(); budget > b+b/8 || budget < b-b/8 {
		c.budget.Store(budget)
	}
}

// Queue notes how long something waited for a processor that was put at the end of
// the queue, as the goroutines are that read connections: calls wait in these as well before they are
// read, which no call shows.
func (c *Controller) Queue(wait int64) { c.looks.waits.note(wait, c.budget.Load()) }

// limited tells whether waits have set a limit that is in force.
func (c *Controller) limited() bool { return c.places.limit.Load() < c.most }

// Scarce tells whether a call that has just come should wait until the processors have nothing else to do: a limit is in force that waits have
// set, and more calls are in flight than there are processors. While calls are refused as many are enough, since others may have come that
// were not read yet; otherwise a call that is alone need not wait for any.
func (c *Controller) Scarce() bool {
	if !c.limited() {
		return false
	}
	n := c.inflight.Load()
	return n > c.processors.Load() || n == c.processors.Load() && c.pressed.Load()
}

// Beyond tells whether more calls are in flight than the limit allows that are not Critical.
func (c *Controller) Beyond() bool { return c.inflight.Load() > c.places.limit.Load() }

// InFlight is how many calls are.
func (c *Controller) InFlight() int64 { return c.inflight.Load() }

// turn closes the window if it is over.
func (c *Controller) turn(now int64) {
	if now < c.next.Load() || !c.mu.TryLock() {
		return
	}
	defer c.mu.Unlock()
	if now < c.next.Load() {
		return
	}
	if c.from == 0 {
		c.from, c.long = now, now
	}
	// No call came for a while and none was in flight: no queue stays, neither of calls nor of what has yet to read some. If some were, the
	// readers may have waited for these to end.
	over := c.inflight.Load() == 0 && now-max(c.next.Load(), c.empty.Load()) >= window/10
	c.next.Store(now + window)
	passed := now - c.from
	if passed < window || c.waits.count()+c.looks.waits.count() < enough && passed < longest {
		return
	}
	n, prompt := c.waits.take()
	c.places.note(int64(n)+c.older.Swap(0), passed)
	drained, idle := c.drained.Swap(false), 0.0
	if c.limited() {
		idle = float64(c.idle.take(c.from, now, c.inflight.Load() < c.processors.Load())) / float64(passed)
		drained = false // a low limit is no sign of a short queue
	} else {
		c.idle.reset()
	}
	if drained {
		prompt = min(prompt, 0.5) // the calls that were read wait in no queue that stays
	}
	if m, queue := c.looks.waits.take(); m > 0 {
		n, prompt = n+m, prompt+queue
	}
	if over || idle >= mayIdle {
		prompt = min(prompt, aim)
	}
	peak := c.peak.Swap(c.inflight.Load())
	refused := c.refused.Swap(0)
	c.pressed.Store(refused > 0)
	c.from = now
	c.adjustLocked(now, passed, n, prompt, peak, refused, idle)
}

// patience is for how long calls may wait too long, ns: a part of the time that they have.
func (c *Controller) patience() int64 { return min(max(c.budget.Load()/4, window), longest) }

// adjustLocked sets the limit by what a window has shown. idle is the part of it in which fewer calls were in flight than there are processors.
func (c *Controller) adjustLocked(now, passed int64, n uint32, prompt float64, peak int64, refused uint64, idle float64) {
	old := c.places.limit.Load()
	limit := old
	c.prompt = prompt
	if n >= enough && prompt > 1 {
		c.high++
		if old == c.most && prompt < burst && c.high*window < c.patience() {
			return // it may be a burst, after which there is time for all of its calls
		}
	} else {
		c.high = 0
	}
	switch {
	case n >= enough && prompt > 1:
		c.long = now
		used := min(old, peak)
		limit = max(int64(float64(used)*max(0.125, math.Sqrt(1/prompt))), c.need.least(now), c.least.Load())
		limit = min(limit, old)
		c.cut.Store(now)
	case old >= c.most:
	case now-c.long >= calm && old >= free:
		limit = c.most
	case refused > 0 && idle >= mayIdle:
		c.need = need{old, now}
		limit = min(old+int64(float64(old)*min(idle, 0.5))+1, c.most) // some of those could have run
	case refused > 0 && n >= enough && prompt > aim:
		limit = min(old, max(int64(float64(old)*math.Sqrt(aim/prompt)), c.need.least(now), c.least.Load()))
	case refused > 0 && n >= enough && prompt >= aim/2: // it is as it should be
	case refused > 0 && n >= enough:
		limit = min(old+old/5+1, c.most)
	case refused > 0 || peak*10 >= old*9:
		limit = min(old+old/20+1, c.most)
	case old < free:
		// A server on which nothing happens recovers as if windows had passed.
		limit = int64(float64(old)*math.Pow(1.02, float64(min(passed, 100*longest)/window))) + 1
		limit = min(limit, free, c.most)
	}
	if limit == old {
		return
	}
	c.places.limit.Store(limit)
	switch {
	case limit < old && prompt > 1:
		c.journal.add(Decision{At: now, What: LimitLowered, From: min(old, peak), To: limit, Ratio: prompt})
	case limit == c.most:
		c.journal.add(Decision{At: now, What: LimitLifted, From: old, To: limit})
	}
}
