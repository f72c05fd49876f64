package balance

import (
	"math"
	"sync/atomic"
	"time"
)

const (
	// decay is how fast what was learnt about a server fades: to 37 % after
	// this time. A server that once answered a thousand times slower than the
	// others is looked at again after seven times that.
	decay = 2 * time.Second

	// fresh is how long an idle server's latency does not fade at all. Otherwise
	// the one not used for longest, which is one of little weight, would always
	// look a little faster.
	fresh = 2 * time.Second

	// unknown stands for the latency of a server that has calls in flight and
	// has never answered: so long that it gets one call at a time as long as
	// another server answers.
	unknown = time.Second

	// A failed call counts as if it had taken failureFactor times the average,
	// between these bounds, or as long as it took if that was longer. A server
	// that fails fast would otherwise look like the best.
	failureFactor = 4
	failureFloor  = time.Millisecond
	failureCap    = time.Second
)

// Result is how an attempt ended, as far as a balancer cares.
type Result uint8

const (
	// OK means that the server answered. An error of the application is an
	// answer too.
	OK Result = iota

	// Failed means that the server did not do its work: no connection, a
	// timeout, a refusal.
	Failed

	// Canceled means that the caller no longer wanted the answer: its context
	// ended, or another attempt was faster. It tells only that the server
	// would have taken longer.
	Canceled
)

// Stats is what a client has seen of one server: its calls in flight, and a
// peak-sensitive moving average of its latency. The latency jumps up with a slow
// answer and comes down over about two seconds, and fades while a server is
// not used, after the peak-EWMA balancer of Twitter's Finagle
// (twitter.github.io/finagle/guide/Clients.html).
//
// A client has one for each server and keeps it as long as it knows the server;
// clients do not share them. All methods may be called at the same time; none
// takes a lock. Times are of the clock of [Call].Now.
type Stats struct {
	inFlight atomic.Int64
	latency  atomic.Uint64 // bits of a float64, in nanoseconds; 0: none seen
	seen     atomic.Int64  // when the latency was last updated
	progress atomic.Int64  // the last answer, or the begin of the first call since idle
	since    atomic.Int64  // when the server was new
	held     atomic.Bool   // a sticky picker holds on to this server
	_        [20]byte      // fills a cache line, so that two servers share none
}

// NewStats returns the empty statistics of a server first seen now, for which
// [SlowStart] counts from now. The zero Stats is one first seen at time 0.
func NewStats(now time.Duration) *Stats {
	s := new(Stats)
	s.since.Store(int64(now))
	return s
}

// Begin counts a call that is about to be sent. Each Begin needs one End.
func (s *Stats) Begin(now time.Duration) {
	if s.inFlight.Add(1) == 1 {
		s.progress.Store(int64(now))
	}
}

// End counts a call that is over: when, how long it took, and how it ended.
func (s *Stats) End(now, latency time.Duration, result Result) {
	s.inFlight.Add(-1)
	average := s.average()
	took := float64(max(latency, 1))
	switch result {
	case Failed:
		penalty := max(failureFactor*average, float64(failureFloor))
		took = max(took, min(penalty, float64(failureCap)))
	case Canceled:
		if took <= average {
			return // says nothing: the server might have answered in time
		}
	}
	if result != Canceled {
		s.progress.Store(int64(now))
	}
	s.observe(now, took)
}

// Drop counts a call that is over and has shown nothing, such as a one-way call, in the
// place of End.
func (s *Stats) Drop() { s.inFlight.Add(-1) }

// Restart forgets the latency and makes the server new again: for one that
// comes back after an ejection. Calls in flight stay counted.
func (s *Stats) Restart(now time.Duration) {
	s.latency.Store(0)
	s.since.Store(int64(now))
}

// InFlight is the number of calls that have begun and not ended.
func (s *Stats) InFlight() int { return int(s.inFlight.Load()) }

// Latency is the average as last updated, 0 if nothing was seen yet.
func (s *Stats) Latency() time.Duration { return time.Duration(s.average()) }

func (s *Stats) average() float64 { return math.Float64frombits(s.latency.Load()) }

// observe moves the average towards what a call took. The older the average,
// the less it counts; a peak counts at once.
func (s *Stats) observe(now time.Duration, took float64) {
	passed := max(int64(now)-s.seen.Swap(int64(now)), 0)
	x := float64(passed) / float64(decay)
	keep := 1 - x // which is exp(-x) to five digits for so small an x
	if x > 1.0/256 {
		keep = math.Exp(-x)
	}
	for {
		old := s.latency.Load()
		average := math.Float64frombits(old)
		switch {
		case took >= average:
			average = took
		default:
			average = average*keep + took*(1-keep)
		}
		if s.latency.CompareAndSwap(old, math.Float64bits(average)) {
			return
		}
	}
}

// cost is how long a call sent now would wait: the latency times the calls that
// are before it and its own. crowding is what one call in flight weighs on this
// server, 1 for a server of mean weight.
//
// An average alone would never notice a server that stopped answering. So while
// calls are in flight the latency is at least the time since the last answer;
// it fades only while the server is idle.
func (s *Stats) cost(now time.Duration, crowding float64) float64 {
	n := s.inFlight.Load()
	if n <= 0 {
		average, idle := s.average(), now-time.Duration(s.seen.Load())
		if average == 0 || idle <= fresh {
			return average
		}
		return average * math.Exp(-float64(idle-fresh)/float64(decay))
	}
	return s.busy(now, n, crowding)
}

// steadyCost is cost without fading.
func (s *Stats) steadyCost(now time.Duration, crowding float64) float64 {
	if n := s.inFlight.Load(); n > 0 {
		return s.busy(now, n, crowding)
	}
	return s.average()
}

func (s *Stats) busy(now time.Duration, inFlight int64, crowding float64) float64 {
	average := s.average()
	if average == 0 {
		average = float64(unknown)
	}
	silence := float64(int64(now) - s.progress.Load())
	return max(average, silence) * (1 + float64(inFlight)*crowding)
}

// warmth is the part of its share that a server gets whose ramp takes window:
// from a tenth to 1.
func (s *Stats) warmth(now, window time.Duration) float64 {
	age := int64(now) - s.since.Load()
	if age >= int64(window) {
		return 1
	}
	return max(float64(age)/float64(window), 0.1)
}
