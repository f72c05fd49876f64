package overload

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// The path of a call allocates nothing.
func TestPathAllocatesNothing(t *testing.T) {
	c := New(0, 2)
	m := c.Method("m", 0)
	now := int64(1)
	if n := testing.AllocsPerRun(1000, func() {
		now += 100_000
		if m.Admit(now, NoBudget, Default) == Admitted {
			m.Started(now, now+1000, NoBudget)
			m.Ended(now+1000, 1000)
		}
	}); n != 0 {
		t.Errorf("%v allocations for a call", n)
	}
}

// What is counted is right whatever the goroutines, and no limit is exceeded.
func TestConcurrentCalls(t *testing.T) {
	const most = 5
	c := New(0, 2)
	m := c.Method("m", most)
	var now atomic.Int64
	var inside, peak, refused atomic.Int64
	now.Store(1)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 20_000 {
				at := now.Add(50_000)
				if m.Admit(at, NoBudget, Default) != Admitted {
					refused.Add(1)
					continue
				}
				if n := inside.Add(1); n > peak.Load() {
					peak.Store(n)
				}
				m.Started(at, at+10, NoBudget)
				inside.Add(-1)
				m.Ended(at+10, 1000)
			}
		})
	}
	wg.Wait()
	if s := c.State(now.Load()); s.InFlight != 0 {
		t.Errorf("%d calls are in flight after the last one", s.InFlight)
	}
	if s := m.State(now.Load()); s.InFlight != 0 || s.Limit != most {
		t.Errorf("the method has %d calls in flight and limit %d", s.InFlight, s.Limit)
	}
	if peak.Load() > most {
		t.Errorf("%d calls were in flight with a limit of %d", peak.Load(), most)
	}
}

// Calls that take long do not exceed what a window can count, and do not make the method seem fast.
func TestManyLongCalls(t *testing.T) {
	const calls, each = 300_000, 20_000 * int64(ms)
	c := New(0, 2)
	m := c.Method("m", 0)
	turn := func(now int64) {
		m.Admit(now, NoBudget, Default)
		m.Dropped(now)
	}
	turn(1)
	for range calls {
		m.over.add(each)
	}
	if n, took := splitCounted(m.over.Load()); n != calls || took < full*1000 {
		t.Errorf("the window has %d calls that took %d ns together, want %d and at least %d", n, took, calls, int64(full*1000))
	}
	turn(1 + window)
	if m.past.r != 0 || m.fast.Load() != 0 {
		t.Errorf("the calls took %d ns in the mean, and %d at the least, want that neither is known", m.past.r, m.fast.Load())
	}
	for range 30 {
		m.over.add(each)
	}
	turn(1 + 2*window)
	if want := 10_000 * int64(ms); m.past.r != want || m.slow.Load() {
		t.Errorf("30 calls took %d ns in the mean, slow %v, want %d, which is not slow", m.past.r, m.slow.Load(), want)
	}
	for range calls {
		m.over.add(each)
	}
	turn(1 + 3*window)
	if want := 10_000 * int64(ms); m.past.r != want || m.fast.Load() != want {
		t.Errorf("after a full window, calls took %d ns in the mean, and %d at the least, want %d as before", m.past.r, m.fast.Load(), want)
	}
}

// A method with a limit of its own refuses the calls beyond it, and says how many it has.
func TestFixedLimit(t *testing.T) {
	c := New(0, 2)
	m := c.Method("m", 2)
	for range 2 {
		if v := m.Admit(1, NoBudget, Default); v != Admitted {
			t.Fatalf("got %v", v)
		}
	}
	if v := m.Admit(1, NoBudget, Critical); v != FullFixed {
		t.Errorf("the third call got %v", v)
	}
	m.Dropped(1)
	if v := m.Admit(1, NoBudget, Default); v != Admitted {
		t.Errorf("after one had ended got %v", v)
	}
}

// A server has no more calls in flight than it is given.
func TestMostInFlight(t *testing.T) {
	c := New(10, 2)
	m := c.Method("m", 0)
	n := 0
	for range 20 {
		if m.Admit(1, NoBudget, Sheddable) == Admitted {
			n++
		}
	}
	if n != 7 {
		t.Errorf("%d sheddable calls were admitted, want two thirds of 10", n)
	}
}

// Critical calls get as many places above a limit as are free again in the time for which they may wait longer, but
// never more than a third above what the server may have in flight.
func TestPlacesOfCriticalCalls(t *testing.T) {
	for _, test := range []struct {
		name                      string
		most                      int
		limit, rate, budget, want int64
	}{
		{"a rate that is not known", 0, 30, 0, 600 * int64(ms), 40},
		{"a small limit", 0, 9, 0, 600 * int64(ms), 17},
		{"a hundred calls more in a tenth of a second", 0, 30, 1000, 600 * int64(ms), 130},
		{"without a deadline", 0, 30, 1000, NoBudget, 30 + 166},
		{"with ten minutes", 0, 30, 1000, 600_000 * int64(ms), 30 + 166},
		{"in a tenth of a millisecond", 0, 30, 1000, 100_000, 40},
		{"a bound for all calls", 60, 30, 1000, NoBudget, 80},
		{"the bound itself", 60, 60, 1000, NoBudget, 80},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := New(test.most, 2)
			c.places.limit.Store(test.limit)
			c.places.rate.Store(test.rate * 1000)
			m := c.Method("m", 1<<20) // it has neither guard nor probe
			n := int64(0)
			for n < 10_000 && m.Admit(1, test.budget, Critical) == Admitted {
				n++
			}
			if n != test.want {
				t.Errorf("%d critical calls were admitted, want %d", n, test.want)
			}
			if v := m.Admit(1, test.budget, Default); v == Admitted {
				t.Error("so was another call")
			}
		})
	}
}

// Of a method every call may be in flight up to a few, so the places of critical calls are above these.
func TestPlacesAboveAFew(t *testing.T) {
	c := New(0, 2)
	m := c.Method("m", 0)
	m.places.limit.Store(8)
	n := 0
	for range 2 * few {
		if m.Admit(1, NoBudget, Default) == Admitted {
			n++
		}
	}
	for range 2 * few {
		if m.Admit(1, NoBudget, Critical) == Admitted {
			n++
		}
	}
	if n != few+spare {
		t.Errorf("%d calls were admitted, want %d and %d critical ones", n, few, spare)
	}
}

// Decisions can be read.
func TestDecisions(t *testing.T) {
	var j journal
	for what := LimitLowered; what <= MethodSlower; what++ {
		for range 3 {
			j.add(Decision{What: what, Method: "m"})
		}
	}
	last := j.last()
	if len(last) != kept || last[0].What != MethodSlower {
		t.Errorf("got %d decisions, the first of kind %d", len(last), last[0].What)
	}
	for _, d := range last {
		if d.String() == "" || d.String() == (Decision{What: 99}).String() {
			t.Errorf("decision %+v says %q", d, d)
		}
	}
}

// The score of a wait tells half octaves apart, and where the target is.
func TestScore(t *testing.T) {
	const target = 5_000_000
	for _, c := range []struct {
		wait int64
		want int
	}{{0, 0}, {-1, 0}, {target - 1, middle - 1}, {target, middle}, {target * 3 / 2, middle + 1}, {2 * target, middle + 2}, {1 << 60, scores - 1}} {
		if got := score(c.wait, target); got != c.want {
			t.Errorf("the score of %d is %d, want %d", c.wait, got, c.want)
		}
	}
}

// Calls wait for their turn while waits have set a limit and no processor is left; while calls are refused that begins with one call less.
func TestScarce(t *testing.T) {
	for _, processors := range []int{1, 2} {
		for _, pressed := range []bool{false, true} {
			c := New(0, processors)
			m := c.Method("m", 0)
			c.pressed.Store(pressed)
			for n := 1; n <= processors+2; n++ {
				m.Admit(1, NoBudget, Default)
				if c.Scarce() {
					t.Errorf("%d processors are scarce with %d calls in flight and no limit", processors, n)
				}
				c.places.limit.Store(free)
				if got, want := c.Scarce(), n > processors || n == processors && pressed; got != want {
					t.Errorf("%d processors, %d calls in flight, some refused %v: scarce %v, want %v", processors, n, pressed, got, want)
				}
				c.places.limit.Store(c.most)
			}
		}
	}
}

// The time is counted in which fewer calls are in flight than there are processors, while there is a limit.
func TestIdle(t *testing.T) {
	c := New(0, 2)
	m := c.Method("m", 0)
	admit := func(at time.Duration) {
		t.Helper()
		if v := m.Admit(int64(time.Second+at), NoBudget, Default); v != Admitted {
			t.Fatalf("at %v got %v", at, v)
		}
	}
	end := func(at time.Duration) { m.Ended(int64(time.Second+at), 1000) }
	c.places.limit.Store(free)
	c.next.Store(int64(time.Hour)) // no window ends by itself
	c.from = int64(time.Second)
	for range 3 {
		admit(0)
	}
	end(10 * ms)
	end(20 * ms) // from here
	end(25 * ms)
	admit(30 * ms)
	admit(50 * ms) // to here
	end(60 * ms)   // and from here
	take := func(at time.Duration) time.Duration {
		return time.Duration(c.idle.take(c.from, int64(time.Second+at), c.inflight.Load() < c.processors.Load()))
	}
	if got, want := take(100*ms), 70*ms; got != want {
		t.Errorf("processors were idle for %v, want %v", got, want)
	}
	if got, want := take(130*ms), 30*ms; got != want {
		t.Errorf("in the next window they were idle for %v, want %v", got, want)
	}
	c.idle.reset()
	if got := take(160 * ms); got != 0 {
		t.Errorf("without a limit they were idle for %v", got)
	}
}

// Calls that come while others compute are read together when these have ended, so that none is in flight in between: the queue stays
// nevertheless. After a burst nothing comes for a while.
func TestEmptyBetweenReads(t *testing.T) {
	const budget = int64(200 * ms)
	for pause, want := range map[time.Duration]bool{0: true, 5 * ms: true, 20 * ms: false} {
		c := New(0, 1)
		m := c.Method("m", 0)
		now := int64(time.Second)
		for range 4 {
			came := now
			const read = 120
			for range read {
				m.Admit(now, budget, Default)
			}
			c.Queue(int64(read * ms)) // of the readers
			for range read {
				m.Started(came, now, budget)
				now += int64(ms)
				m.Ended(now, int64(ms))
			}
			now += int64(pause)
		}
		if c.limited() != want {
			t.Errorf("when the next calls are read %v later: limited %v, want %v", pause, !want, want)
		}
	}
}

// A limit with which processors had nothing to do is not set again at once.
func TestNeed(t *testing.T) {
	if n := (need{}).least(1); n != 0 {
		t.Errorf("without any the limit is %d at least", n)
	}
	n := need{limit: 5, at: 1}
	if got := n.least(remembered); got != 6 {
		t.Errorf("soon after it the limit is %d at least, want 6", got)
	}
	if got := n.least(1 + remembered); got != 0 {
		t.Errorf("later the limit is %d at least", got)
	}
}

func BenchmarkCall(b *testing.B) {
	c := New(0, 2)
	m := c.Method("m", 0)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		now := int64(1)
		for pb.Next() {
			now += 1000
			if m.Admit(now, NoBudget, Default) == Admitted {
				m.Started(now, now+100, NoBudget)
				m.Ended(now+100, 1000)
			}
		}
	})
}

// A process has stood still when nothing has looked for a while though it was to, and not when there was nothing to look for.
func TestStoodStill(t *testing.T) {
	var l looks
	check := func(what string, since, now time.Duration, want bool) {
		t.Helper()
		if got := l.stoodStill(int64(since), int64(now)); got != want {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	check("nothing has looked yet", 0, time.Hour, false)
	l.seen(int64(1000 * ms))
	check("20 ms after a look", 900*ms, 1020*ms, false)
	check("60 ms after a look", 900*ms, 1060*ms, true)
	l.seen(int64(1060 * ms))
	check("after a look that was late", 900*ms, 1065*ms, true)
	check("in the next window", 1060*ms, 1065*ms, false)
	l.over()
	check("when no call was in flight", 1060*ms, time.Hour, false)
	l.seen(int64(time.Hour))
	check("when one is again", 1060*ms, time.Hour+20*ms, false)
}

// TestProcessorsChange has the process run on more processors, and on fewer, while calls are refused: the limit goes as low as there are processors for, and
// the time in which fewer calls are in flight than there are processors counts from then on.
func TestProcessorsChange(t *testing.T) {
	c := New(0, 2)
	if n := c.least.Load(); n != 2*floor {
		t.Fatalf("no limit goes below %d, want %d", n, 2*floor)
	}
	c.places.limit.Store(100)
	m := c.Method("m", 0)
	now := int64(1e9)
	for range 3 {
		if v := m.Admit(now, NoBudget, Default); v != Admitted {
			t.Fatal(v)
		}
	}
	m.Dropped(now) // two are in flight, which two processors run
	c.run(4)
	if c.least.Load() != 4*floor || c.Scarce() {
		t.Errorf("with 4 processors no limit goes below %d, and a call waits: %v", c.least.Load(), c.Scarce())
	}
	c.run(1)
	if c.least.Load() != floor || !c.Scarce() {
		t.Errorf("with one processor no limit goes below %d, and a call waits: %v", c.least.Load(), c.Scarce())
	}
	m.Dropped(now)
	m.Dropped(now + 5) // now none is in flight
	if idle := c.idle.take(now, now+10, true); idle != 5 {
		t.Errorf("the processor had nothing to do for %d ns, want 5", idle)
	}
}

// TestWatcherFollowsProcessors changes how many processors the process runs on.
func TestWatcherFollowsProcessors(t *testing.T) {
	c := New(0, 77)
	w := c.Watch(func() int64 { return 1 })
	defer w.Stop()
	w.look()
	if n := int(c.processors.Load()); n != runtime.GOMAXPROCS(0) {
		t.Errorf("the controller goes by %d processors, want %d", n, runtime.GOMAXPROCS(0))
	}
}
