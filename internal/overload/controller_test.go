package overload

import (
	"sync"
	"sync/atomic"
	"testing"
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
			m.Ended(1000)
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
				m.Ended(1000)
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
	m.Dropped()
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
				m.Ended(1000)
			}
		}
	})
}
