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
	}
	for _, test := range []struct {
		name        string
		calls       []call
		least, most time.Duration
	}{
		{"nothing seen", nil, 0, 0},
		{"the first call", []call{{1 * ms, 3 * ms, OK}}, 3 * ms, 3 * ms},
		{"a peak counts at once", []call{{1 * ms, 3 * ms, OK}, {2 * ms, 30 * ms, OK}}, 30 * ms, 30 * ms},
		{"a fast answer counts little soon after", []call{{1 * ms, 30 * ms, OK}, {2 * ms, 3 * ms, OK}}, 29 * ms, 30 * ms},
		{"and all after a while", []call{{1 * ms, 30 * ms, OK}, {time.Minute, 3 * ms, OK}}, 3 * ms, 3*ms + ms/10},
		{"a fast failure counts as slow", []call{{1 * ms, 2 * ms, OK}, {2 * ms, ms / 100, Failed}}, 8 * ms, 8 * ms},
		{"a first failure too", []call{{1 * ms, ms / 100, Failed}}, ms, ms},
		{"failures count a second at most", []call{{1 * ms, 900 * ms, OK}, {2 * ms, ms, Failed}}, 999 * ms, time.Second},
		{"a timeout counts as long as it took", []call{{1 * ms, ms, OK}, {2 * ms, 10 * time.Second, Failed}}, 10 * time.Second, 10 * time.Second},
		{"an early cancel says nothing", []call{{1 * ms, 9 * ms, OK}, {2 * ms, ms, Canceled}}, 9 * ms, 9 * ms},
		{"a late cancel says that it takes longer", []call{{1 * ms, 9 * ms, OK}, {2 * ms, 20 * ms, Canceled}}, 20 * ms, 20 * ms},
		{"a clock that stands still", []call{{0, 9 * ms, OK}, {0, ms, OK}}, 9 * ms, 9 * ms},
	} {
		t.Run(test.name, func(t *testing.T) {
			var s Stats
			for _, c := range test.calls {
				s.Begin(c.at)
				s.End(c.at, c.took, c.result)
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

func TestCost(t *testing.T) {
	var s Stats
	if c := s.cost(0, 1); c != 0 {
		t.Errorf("a new server costs %v, want 0: it has to be tried", c)
	}
	s.Begin(0)
	if c := s.cost(0, 1); c < float64(unknown) {
		t.Errorf("a server that never answered costs %v with a call in flight, want more than any other", c)
	}
	s.End(ms, ms, OK)
	if c := s.cost(time.Second, 1); c != float64(ms) {
		t.Errorf("a second later it costs %v, want its latency", c)
	}
	if c := s.cost(10*time.Second, 1); c > float64(ms)/20 || c == 0 {
		t.Errorf("ten seconds later it costs %v, want a small part of its latency", c)
	}
	if c := s.steadyCost(10*time.Second, 1); c != float64(ms) {
		t.Errorf("the steady cost went to %v, want the latency", c)
	}
	s.Begin(20 * time.Second)
	s.Begin(20 * time.Second)
	if c := s.cost(20*time.Second, 1); c != 3*float64(ms) {
		t.Errorf("two calls in flight cost %v, want three times the latency", c)
	}
	if c := s.cost(20*time.Second, 0.5); c != 2*float64(ms) {
		t.Errorf("on a server of twice the mean weight %v, want two times the latency", c)
	}
	if c := s.cost(21*time.Second, 1); c != 3*float64(time.Second) {
		t.Errorf("after a second of silence %v, want three seconds", c)
	}
	s.Restart(30 * time.Second)
	if s.Latency() != 0 || s.InFlight() != 2 {
		t.Errorf("after Restart latency %v and %d in flight, want 0 and 2", s.Latency(), s.InFlight())
	}
	if w := s.warmth(35*time.Second, 10*time.Second); w != 0.5 {
		t.Errorf("halfway through its ramp a server is at %v", w)
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
