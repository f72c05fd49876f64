// Package breaker stops calls of a method to a server that fails them, and finds
// out with single calls when it has recovered.
//
// A client has a [Breaker] for each method of each server, 128 bytes, all with the
// same [Settings]:
//
//	settings, err := breaker.NewSettings(breaker.Config{})  once for a client
//	b := settings.New(random)                               for each server and method
//	if b.Allow(now) { ... b.Done(now, took, result) }       around each attempt
//
// Closed, a breaker lets every call through and counts: those that failed, those
// that went well, and those that are overdue. It opens when half of at least 20
// calls in ten seconds have failed, or ten in a row. Open, it lets none through for
// five seconds. Then it is half-open: one call goes through, the probe, and
// decides. If it goes well the breaker closes; if not, it is open for twice as long
// as before, up to a minute. (The states are those of Nygard: Release It!, 2007.)
//
// A method that hangs never fails, so calls count from when they are sent: one that
// takes four times as long as the slowest good one of late is overdue, and counts
// like one that has failed. A probe that hangs counts as failed as well.
//
// When too many servers would be left out, the caller may send a call although Allow
// refused it, and says so with [Breaker.Pass].
//
// What is a failure is the caller's decision. A breaker is for errors that the
// method would not give if it was well, such as Unavailable, Internal, or no answer
// in time; NotFound is an answer. A stream is done, for a breaker, with its first
// message, however long that takes; see [Breaker.AllowStream].
package breaker

import (
	"fmt"
	"math"
	"sync/atomic"
	"time"
)

// gate is the state of a breaker in one word: the State in the lowest two bits, and
// above them when an open one lets its probe through, or when the probe of a
// half-open one was sent. A closed one is 0.
type gate int64

const (
	shut gate = 0
	// changing is the state while one goroutine opens or closes a breaker. No other
	// goroutine changes it then, and no call goes through.
	changing State = 3
)

func gateAt(s State, t time.Duration) gate { return gate(t)<<2 | gate(s) }
func (g gate) state() State                { return State(g & 3) }
func (g gate) time() time.Duration         { return time.Duration(g >> 2) }

// cause is why a breaker opened.
type cause uint32

const (
	inARow cause = iota
	tooMany
	hanging
	probeFailed
	probeHung
)

// causeBits is how many bits a cause has.
const causeBits = 3

// overdueAfter is how many times the slowest good call of late a call may take.
const overdueAfter = 4

// Breaker decides for one method of one server. All methods may be called at the
// same time; none takes a lock, and Allow, Done and State allocate nothing. now is
// the time since any fixed moment, not below 0 and never going back.
type Breaker struct {
	settings *Settings
	gate     atomic.Int64 // a gate
	changed  atomic.Int64 // when it opened after having been closed, or closed
	slowest  atomic.Uint32
	row      atomic.Uint32 // failures since the last good call
	opening  atomic.Uint32 // the cause of the last opening, and above it how often the time was doubled
	opened   atomic.Uint32 // how often it opened after having been closed
	stream   atomic.Bool   // the call that was let through is a stream
	random   uint32        // guarded by changing: only the goroutine that set it reads and writes
	counts   counts
}

// New returns a closed breaker. random are random bits, others for each breaker, so
// that not all probes of all clients fall on a server in the same moment.
func (s *Settings) New(random uint64) *Breaker {
	return &Breaker{settings: s, random: uint32(random ^ random>>32)}
}

// streamTrial is how long a stream that was let through has to last to show that the
// method works: it may say nothing for hours.
const streamTrial = time.Second

// Allow reports whether a call may be sent now. Each true needs one Done.
func (b *Breaker) Allow(now time.Duration) bool { return b.allow(now, false) }

func (b *Breaker) allow(now time.Duration, stream bool) bool {
	bucket, turned := b.counts.bucket(now, b.settings.width)
	if turned {
		b.fade()
		b.judge(now)
	}
	if g := gate(b.gate.Load()); g != shut && !b.probe(now, g, stream) {
		return false
	}
	b.counts.sent(bucket)
	return true
}

// Ready reports whether it is worth to ask Allow: not while the breaker is open, nor while
// the call that was let through is under way.
func (b *Breaker) Ready(now time.Duration) bool {
	switch g := gate(b.gate.Load()); g.state() {
	case Closed:
		return g == shut
	case Open:
		return now >= g.time()
	case HalfOpen:
		return now-g.time() >= b.patience() // Allow finds that it hangs
	}
	return false
}

// patience is how long the call that was let through may take.
func (b *Breaker) patience() time.Duration {
	if b.stream.Load() {
		return streamTrial
	}
	return max(b.settings.window, overdueAfter*b.usual())
}

// Until orders breakers that refuse calls: the larger it is, the later they let the
// next call through. It is 0 for one that is Ready.
func (b *Breaker) Until(now time.Duration) time.Duration {
	if b.Ready(now) {
		return 0
	}
	return max(gate(b.gate.Load()).time(), 1)
}

// Pass counts a call that is sent although Allow has just refused it. It needs one Done,
// and closes the breaker if it goes well.
func (b *Breaker) Pass(now time.Duration) {
	bucket, _ := b.counts.bucket(now, b.settings.width)
	b.counts.sent(bucket)
}

// PassStream is Pass after AllowStream. It needs one DoneStream.
func (b *Breaker) PassStream(now time.Duration) {
	b.Pass(now)
	b.counts.carried.Add(-1)
}

// probe reports whether a breaker that is not closed lets a call through.
func (b *Breaker) probe(now time.Duration, g gate, stream bool) bool {
	switch g.state() {
	case Open:
		if now >= g.time() && b.gate.CompareAndSwap(int64(g), int64(gateAt(HalfOpen, now))) {
			b.stream.Store(stream)
			return true
		}
	case HalfOpen:
		switch {
		case now-g.time() < b.patience():
		case b.stream.Load():
			b.close(now, g)
			return b.gate.Load() == int64(shut)
		default:
			b.trip(now, g, probeHung)
		}
	}
	return false
}

// Done tells how a call ended that Allow let through: now, how long after that Allow,
// exactly, and how.
func (b *Breaker) Done(now, took time.Duration, r Result) {
	if r == OK {
		b.learn(took)
	}
	b.done(now, took, r)
}

func (b *Breaker) done(now, took time.Duration, r Result) {
	g := gate(b.gate.Load())
	if g != shut || r == Canceled || now-took < time.Duration(b.changed.Load()) {
		b.aside(now, took, r, g)
		return
	}
	bucket, turned := b.counts.bucket(now, b.settings.width)
	if turned {
		b.fade()
	}
	if r == OK {
		bucket.Add(oneOK)
		if b.row.Load() != 0 {
			b.row.Store(0)
		}
		return
	}
	bucket.Add(oneFailed)
	if b.row.Add(1) == b.settings.consecutive {
		b.trip(now, shut, inARow)
		return
	}
	b.judge(now)
}

// AllowStream is Allow for a call that may wait as long as it likes for its first
// message, such as a subscription, and so is never overdue. Each true needs one
// DoneStream.
func (b *Breaker) AllowStream(now time.Duration) bool {
	if !b.allow(now, true) {
		return false
	}
	b.counts.carried.Add(-1)
	return true
}

// DoneStream is Done for a call that AllowStream let through, when its first message
// has come or it has failed before.
func (b *Breaker) DoneStream(now, took time.Duration, r Result) {
	b.counts.carried.Add(1)
	b.done(now, took, r)
}

// aside is the end of a call that does not count: one that was canceled, one sent
// before the breaker last closed, or one that ends while it is not closed. It may
// be a probe, which only calls sent since the breaker opened can be.
func (b *Breaker) aside(now, took time.Duration, r Result, g gate) {
	b.counts.carried.Add(-1)
	if g == shut || g.state() == changing || now-took <= time.Duration(b.changed.Load()) {
		return
	}
	switch {
	case r == OK: // also one that comes after it was taken for hanging
		b.close(now, g)
	case g.state() != HalfOpen:
	case r == Failed:
		b.trip(now, g, probeFailed)
	default:
		b.gate.CompareAndSwap(int64(g), int64(gateAt(Open, now))) // the next call is the probe
	}
}

// learn keeps how long the slowest good call took, in units of 65 microseconds,
// which 32 bits can count for three days.
func (b *Breaker) learn(took time.Duration) {
	units := uint32(min(max(took, 0)>>16+1, math.MaxUint32))
	if units > b.slowest.Load() {
		b.slowest.Store(units)
	}
}

// usual is how long good calls take at most, 0 if none was seen.
func (b *Breaker) usual() time.Duration { return time.Duration(b.slowest.Load()) << 16 }

// fade halves the memory of the slowest call in about six buckets.
func (b *Breaker) fade() {
	s := b.slowest.Load()
	b.slowest.CompareAndSwap(s, s-s/8)
}

// tally adds up the calls of the window.
func (b *Breaker) tally(now time.Duration) (ok, failed, late int) {
	width, grace := b.settings.width, int64(buckets) // until it is known how long the method takes
	if usual := b.usual(); usual > 0 {
		// The newest bucket may have begun just now, so it never counts.
		grace = 2 + int64((overdueAfter*usual-1)/width)
	}
	return b.counts.tally(now, width, grace)
}

// judge opens a closed breaker when too many calls have failed or are overdue.
func (b *Breaker) judge(now time.Duration) {
	ok, failed, late := b.tally(now)
	total := ok + failed + late
	if total < b.settings.calls || float64(failed+late) < b.settings.ratio*float64(total) {
		return
	}
	why := tooMany
	if late > failed {
		why = hanging
	}
	b.trip(now, shut, why)
}

// trip opens a breaker whose gate is from.
func (b *Breaker) trip(now time.Duration, from gate, why cause) {
	if !b.gate.CompareAndSwap(int64(from), int64(changing)) {
		return
	}
	s, level := b.settings, b.opening.Load()>>causeBits
	if from == shut {
		b.opened.Add(1)
		if now-time.Duration(b.changed.Load()) > s.most {
			level = 0 // it was well for long enough
		}
		b.changed.Store(int64(now))
	}
	wait := s.open
	for range level {
		wait = min(2*wait, s.most)
	}
	if wait < s.most {
		level++
	}
	b.opening.Store(level<<causeBits | uint32(why))
	b.gate.Store(int64(gateAt(Open, now+b.jitter(wait))))
}

// jitter gives or takes a fifth.
func (b *Breaker) jitter(d time.Duration) time.Duration {
	b.random = b.random*747796405 + 2891336453 // the generator of PCG (O'Neill 2014)
	fifth := float64(d) / 5
	return time.Duration(float64(d) + fifth*(float64(b.random>>8)/(1<<23)-1))
}

// close lets calls through again, and forgets how earlier ones ended.
func (b *Breaker) close(now time.Duration, from gate) {
	if !b.gate.CompareAndSwap(int64(from), int64(changing)) {
		return
	}
	b.counts.clear()
	b.row.Store(0)
	b.changed.Store(int64(now))
	b.gate.Store(int64(shut))
}

// State is what the breaker would do with a call now.
func (b *Breaker) State(now time.Duration) State {
	g := gate(b.gate.Load())
	switch {
	case g == shut:
		return Closed
	case g.state() == HalfOpen || g.state() == Open && now >= g.time():
		return HalfOpen
	default:
		return Open
	}
}

// Status is what the breaker knows now.
func (b *Breaker) Status(now time.Duration) Status {
	g := gate(b.gate.Load())
	ok, failed, late := b.tally(now)
	s := Status{State: b.State(now), Calls: ok + failed + late, Failed: failed, Overdue: late, Opened: int(b.opened.Load())}
	if s.State == Closed {
		return s
	}
	if g.state() == Open {
		s.Until = g.time()
	}
	switch cause(b.opening.Load() & (1<<causeBits - 1)) {
	case inARow:
		s.Why = fmt.Sprintf("%d calls in a row failed", b.settings.consecutive)
	case tooMany:
		s.Why = fmt.Sprintf("%.0f %% of the calls or more failed", 100*b.settings.ratio)
	case hanging:
		s.Why = "calls get no answer"
	case probeFailed:
		s.Why = "the call that was let through failed"
	case probeHung:
		s.Why = "the call that was let through got no answer"
	}
	return s
}
