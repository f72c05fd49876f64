package balance

import (
	"math"
	"sync/atomic"
	"time"

	"github.com/weftrpc/weft/instance"
)

const (
	// decay is how fast the latency of an idle server fades: to 37 % in this time. A
	// server that once answered a thousand times slower than the others is looked at
	// again after seven times that.
	decay = 2 * time.Second

	// fresh is how long an idle server's latency does not fade at all. Otherwise
	// the one not used for longest, which is one of little weight, would always
	// look a little faster.
	fresh = 2 * time.Second

	// unknown stands for the latency of a server that has calls in flight and
	// has never answered: so long that it gets one call at a time as long as
	// another server answers.
	unknown = time.Second

	// trusted is after how many answers the average is compared with others: the first
	// of them may have waited for the connection.
	trusted = 4

	// settled is up to how many answers are counted.
	settled = 16

	// witnesses is how many calls have to wait together for their silence to count in
	// full.
	witnesses = 8

	// A failed call counts as if it had taken failureFactor times the average,
	// between these bounds, or as long as it took if that was longer. A server
	// that fails fast would otherwise look like the best.
	failureFactor = 4
	failureFloor  = time.Millisecond
	failureCap    = time.Second
)

// Result is how an attempt ended.
type Result uint8

const (
	// OK: the server answered. An error of the application is an answer too.
	OK Result = iota

	// Failed: the server did not do its work: no connection, a timeout, a refusal.
	Failed

	// Canceled: the caller no longer wanted the answer: its context ended, or another
	// attempt was faster. It shows only that the server would have taken longer.
	Canceled
)

// Stats is what a client has seen of one server: its calls in flight, and a moving
// average of its latency.
//
// The average is that of the logarithms, an answer counting for a sixteenth: a single
// slow one changes it little, a server that has become slow shows after some ten of
// them, and servers of equal latency have equal averages, whatever the number of their
// calls. A failure raises it at once. While calls are in flight the latency is at least
// the time since the last answer; and it fades while a server is not used, so that it is
// looked at again (after the peak-EWMA balancer of Twitter's Finagle,
// twitter.github.io/finagle/guide/Clients.html, whose peaks make a server look slower
// the more it is used).
//
// A client has one for each server and keeps it as long as it knows the server;
// clients do not share them. All methods may be called at the same time; none
// takes a lock. Times are of the clock of [Call].Now.
type Stats struct {
	inFlight atomic.Int64
	latency  atomic.Uint64                 // bits of a float64, in nanoseconds; 0: none seen
	seen     atomic.Int64                  // when the latency was last updated
	progress atomic.Int64                  // the last answer, or the begin of the first call since idle
	since    atomic.Int64                  // when the server was new
	answers  atomic.Uint32                 // seen so far, up to settled
	held     atomic.Bool                   // a sticky picker holds on to this server
	report   atomic.Pointer[instance.Load] // what the server last reported of itself
	reported atomic.Int64                  // when that was first used
	// That fills a cache line, so that two servers share none.
}

// NewStats returns the empty statistics of a server that was new at a time, from which
// [SlowStart] counts: now for one that has just joined, a time long before for one that
// was there before its client. The zero Stats is of one that was new at time 0.
func NewStats(since time.Duration) *Stats {
	s := new(Stats)
	s.since.Store(int64(since))
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
	took := float64(max(latency, 1))
	switch result {
	case OK:
		s.progress.Store(int64(now))
	case Failed:
		s.progress.Store(int64(now))
		s.fail(now, took)
		return
	case Canceled:
		if took <= s.average() {
			return // the server might have answered in time
		}
	}
	s.observe(now, took)
}

// Drop counts a call that is over and has shown nothing of the server, such as a one-way
// call. It takes the place of End.
func (s *Stats) Drop() { s.inFlight.Add(-1) }

// Restart forgets the latency and makes the server new again, from a time on: for one
// that comes back after an ejection, or with a new process. Calls in flight stay counted.
func (s *Stats) Restart(since time.Duration) {
	s.latency.Store(0)
	s.answers.Store(0)
	s.since.Store(int64(since))
}

// InFlight is the number of calls that have begun and not ended.
func (s *Stats) InFlight() int { return int(s.inFlight.Load()) }

// Latency is the average as last updated, 0 if nothing was seen yet.
func (s *Stats) Latency() time.Duration { return time.Duration(s.average()) }

func (s *Stats) average() float64 { return math.Float64frombits(s.latency.Load()) }

// observe moves the average towards what a call took: by half of the way for the second
// answer, by a sixteenth from the ninth on, and further when the average is old.
func (s *Stats) observe(now time.Duration, took float64) {
	age := time.Duration(int64(now) - s.seen.Swap(int64(now)))
	answers := s.answers.Load()
	if answers < settled {
		answers = s.answers.Add(1)
	}
	step := 4
	switch {
	case answers <= 1 || age > 4*decay:
		step = 0
	case answers == 2 || age > 2*decay:
		step = 1
	case answers <= 4 || age > decay:
		step = 2
	case answers <= 8 || age > decay/2:
		step = 3
	}
	// The bits of a positive float64, read as a number, grow as its logarithm does: in a
	// straight line from each power of two to the next.
	sample := math.Float64bits(took)
	for {
		old := s.latency.Load()
		average := sample
		if old != 0 {
			average = old + uint64(int64(sample-old)>>step)
		}
		if s.latency.CompareAndSwap(old, average) {
			return
		}
	}
}

// fail raises the average to what a failed call counts.
func (s *Stats) fail(now time.Duration, took float64) {
	s.seen.Store(int64(now))
	s.answers.Store(settled)
	for {
		old := s.latency.Load()
		average := math.Float64frombits(old)
		penalty := max(failureFactor*average, float64(failureFloor))
		average = max(average, took, min(penalty, float64(failureCap)))
		if s.latency.CompareAndSwap(old, math.Float64bits(average)) {
			return
		}
	}
}

// expected is how long a call to the server is likely to take, the calls before it
// left aside, and whether that is sure: whether enough have been answered. The latency
// fades while the server is idle.
func (s *Stats) expected(now time.Duration) (latency float64, sure bool) {
	latency, sure = s.lasting(now)
	if idle := now - time.Duration(s.seen.Load()); idle > fresh && s.inFlight.Load() <= 0 {
		latency *= math.Exp(-float64(idle-fresh) / float64(decay))
	}
	return latency, sure
}

// lasting is expected without fading.
//
// An average alone would never notice a server that stopped answering. So while
// calls are in flight it is at least the time since the last answer, or, of fewer than
// witnesses calls, that part of it: that a single call waits means little.
func (s *Stats) lasting(now time.Duration) (latency float64, sure bool) {
	average, answers := s.average(), s.answers.Load()
	n := s.inFlight.Load()
	if n <= 0 {
		return average, answers >= trusted
	}
	silence := float64(int64(now)-s.progress.Load()) * (float64(min(n, witnesses)) / witnesses)
	switch {
	case answers == 0:
		return max(silence, float64(unknown)), false
	case answers < trusted:
		return silence, false
	}
	return max(average, silence), true
}

// steadyCost is how long a call sent now would wait: the latency times the calls that
// are before it and its own. It does not fade.
func (s *Stats) steadyCost(now time.Duration) float64 {
	average, n := s.average(), s.inFlight.Load()
	if n <= 0 {
		return average
	}
	if average == 0 {
		average = float64(unknown)
	}
	silence := float64(int64(now) - s.progress.Load())
	return max(average, silence) * float64(1+n)
}

// age is how long ago the server was new.
func (s *Stats) age(now time.Duration) time.Duration { return now - time.Duration(s.since.Load()) }
