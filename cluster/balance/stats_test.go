package balance

import (
	"testing"
	"time"
	"unsafe"
)

const ms = time.Millisecond

func TestStatsFillACacheLine(t *testing.T) {
	if size := unsafe.Sizeof(Stats{}); size != 64 {
		t.Errorf("Stats has %d bytes, want 64: two servers would share a cache line", size)
	}
}

func TestLatency(t *testing.T) {
	type call struct {
		at, took time.Duration
		result   Result
		times    int // 0: once
	}
	for _, test := range []struct {
		name        string
		calls       []call
		least, most time.Duration
	}{
		{"nothing seen", nil, 0, 0},
		{"the first call", []call{{1 * ms, 3 * ms, OK, 0}}, 3 * ms, 3 * ms},
		{"the mean of few is that of their logarithms", []call{{1 * ms, 2 * ms, OK, 0}, {2 * ms, 8 * ms, OK, 0}}, 3900 * time.Microsecond, 4100 * time.Microsecond},
		{"the first one, which waited for the connection, soon counts little", []call{{1 * ms, 100 * ms, OK, 0}, {2 * ms, ms, OK, 3}}, 3 * ms, 5 * ms},
		{"one slow answer of many changes little", []call{{1 * ms, ms, OK, 20}, {2 * ms, 100 * ms, OK, 0}}, 1200 * time.Microsecond, 1500 * time.Microsecond},
		{"ten change much", []call{{1 * ms, ms, OK, 20}, {2 * ms, 10 * ms, OK, 10}}, 2500 * time.Microsecond, 4 * ms},
		{"so do fast ones", []call{{1 * ms, 10 * ms, OK, 20}, {2 * ms, ms, OK, 20}}, 1500 * time.Microsecond, 2500 * time.Microsecond},
		{"after a while one answer counts in full", []call{{1 * ms, 30 * ms, OK, 20}, {time.Minute, 3 * ms, OK, 0}}, 3 * ms, 3 * ms},
		{"a fast failure counts as slow", []call{{1 * ms, 2 * ms, OK, 20}, {2 * ms, ms / 100, Failed, 0}}, 8 * ms, 8 * ms},
		{"a first failure too", []call{{1 * ms, ms / 100, Failed, 0}}, ms, ms},
		{"failures count a second at most", []call{{1 * ms, 900 * ms, OK, 0}, {2 * ms, ms, Failed, 0}}, 999 * ms, time.Second},
		{"a timeout counts as long as it took", []call{{1 * ms, ms, OK, 20}, {2 * ms, 10 * time.Second, Failed, 0}}, 10 * time.Second, 10 * time.Second},
		{"an early cancel says nothing", []call{{1 * ms, 9 * ms, OK, 0}, {2 * ms, ms, Canceled, 0}}, 9 * ms, 9 * ms},
		{"a late cancel says that it takes longer", []call{{1 * ms, 9 * ms, OK, 0}, {2 * ms, 36 * ms, Canceled, 0}}, 17 * ms, 19 * ms},
		{"a clock that stands still", []call{{0, 9 * ms, OK, 0}, {0, ms, OK, 0}}, 2800 * time.Microsecond, 3400 * time.Microsecond},
	} {
		t.Run(test.name, func(t *testing.T) {
			var s Stats
			for _, c := range test.calls {
				for range max(c.times, 1) {
					s.Begin(c.at)
					s.End(c.at, c.took, c.result)
				}
			}
			if got := s.Latency(); got < test.least || got > test.most {
				t.Errorf("latency %v, want %v to %v", got, test.least, test.most)
			}
			if s.InFlight() != 0 {
				t.Errorf("%d calls in flight after all ended", s.InFlight())
			}
		})
	}
}

func TestExpected(t *testing.T) {
	var s Stats
	check := func(what string, now, want time.Duration, sure bool) {
		t.Helper()
		got, isSure := s.expected(now)
		if d := got - float64(want); d < -1 || d > 1 || isSure != sure {
			t.Errorf("%s: a call is expected to take %v (sure %v), want %v (%v)", what, time.Duration(got), isSure, want, sure)
		}
	}
	check("a new server", 0, 0, false)
	s.Begin(0)
	check("one that never answered, with a call in flight", 0, unknown, false)
	s.End(ms, ms, OK)
	check("one that answered once", ms, ms, false)
	for range trusted - 1 {
		s.Begin(ms)
		s.End(ms, ms, OK)
	}
	check("one that answered often enough", time.Second, ms, true)
	if got, _ := s.expected(10 * time.Second); got > float64(ms)/20 || got == 0 {
		t.Errorf("ten seconds later %v, want a small part of the latency", time.Duration(got))
	}
	if c := s.steadyCost(10 * time.Second); c != float64(ms) {
		t.Errorf("the steady cost went to %v, want the latency", c)
	}
	for range witnesses / 2 {
		s.Begin(20 * time.Second)
	}
	check("with four calls in flight", 20*time.Second, ms, true)
	check("after a second without an answer", 21*time.Second, time.Second/2, true)
	for range witnesses / 2 {
		s.Begin(21 * time.Second)
	}
	check("with eight calls in flight", 21*time.Second, time.Second, true)
	if c := s.steadyCost(20 * time.Second); c != (witnesses+1)*float64(ms) {
		t.Errorf("eight calls in flight cost %v, want nine times the latency", c)
	}
	s.Restart(30 * time.Second)
	if s.Latency() != 0 || s.InFlight() != witnesses {
		t.Errorf("after Restart latency %v and %d in flight, want 0 and %d", s.Latency(), s.InFlight(), witnesses)
	}
	if age := s.age(35 * time.Second); age != 5*time.Second {
		t.Errorf("five seconds after Restart the age is %v", age)
	}
}

func TestTried(t *testing.T) {
	stats := make([]Stats, triedLimit+1)
	var tried Tried
	for i := range stats[:triedLimit] {
		tried.Add(&stats[i])
		tried.Add(&stats[i]) // twice is once
	}
	before := tried
	tried.Add(&stats[triedLimit])
	for i := range stats {
		if want := i > 0; tried.Has(&stats[i]) != want {
			t.Errorf("after nine, has server %d: %v, want %v", i, !want, want)
		}
	}
	if tried.Len() != triedLimit || !before.Has(&stats[0]) || before.Has(&stats[triedLimit]) {
		t.Error("a copy changed with the original")
	}
}
