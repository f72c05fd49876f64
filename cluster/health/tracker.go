package health

import (
	"math"
	"sync/atomic"
	"time"
)

// The stages of a probe.
const (
	noProbe uint32 = iota
	wanted         // the next call is to be it
	claimed        // a call will be it
	sent           // it is under way
	passed
	missed
)

// never is a time that no call begins after.
const never = math.MaxInt64

// Tracker is what a client knows of the health of one server. Calls report to it;
// what follows from the reports is decided by the [Panel] it belongs to.
//
// All methods may be called at the same time; none takes a lock or allocates. now is
// the time since any fixed moment, not below 0 and never going back.
type Tracker struct {
	name  string
	panel *Panel

	inFlight   atomic.Int64
	lastAnswer atomic.Int64  // the last answer, to the millisecond; below 0: none
	since      atomic.Int64  // begin of the first of the calls that no answer came after; below 0: none
	failedAt   atomic.Int64  // the last failure
	from       atomic.Int64  // calls that began before this time do not count
	row        atomic.Uint32 // failures since the last answer
	slowest    atomic.Uint32 // answer of late, in units of 65 microseconds; 0: none seen
	recent     window

	state   atomic.Uint32 // a State, of the panel's making
	stage   atomic.Uint32 // of the probe
	probing atomic.Int64  // when the server was last made one to probe
	asked   atomic.Int64  // when a call claimed the probe
	replied atomic.Int64  // when the server last answered though it is out

	lost  atomic.Bool   // there is no connection
	brief atomic.Uint32 // how many in a row were lost soon after they were made
	made  atomic.Int64  // when the last one was

	record // belongs to the panel
}

func newTracker(p *Panel, name string) *Tracker {
	t := &Tracker{name: name, panel: p}
	t.lastAnswer.Store(-1)
	t.since.Store(-1)
	t.made.Store(math.MinInt64 / 2) // long ago
	return t
}

// Name is the name that the tracker was added with.
func (t *Tracker) Name() string { return t.name }

// State is what the panel last made of the server.
func (t *Tracker) State() State { return State(t.state.Load()) }

// Available reports whether the server is healthy.
func (t *Tracker) Available() bool { return t.State() == Healthy }

// Begin counts a call that is about to be sent. Each Begin needs one End.
func (t *Tracker) Begin(now time.Duration) {
	if t.inFlight.Add(1) == 1 && t.waitsAnew(now) {
		t.since.Store(int64(now))
	}
	t.begun(now)
}

// waitsAnew reports whether the silence of a server that was idle begins now. It began
// earlier if the last call has just failed: a server that is frozen answers nothing,
// and its calls end one after the other when their time is over.
func (t *Tracker) waitsAnew(now time.Duration) bool {
	since := t.since.Load()
	if now-time.Duration(since) < time.Millisecond && since >= 0 {
		return false // near enough
	}
	return since < 0 || t.lastAnswer.Load() >= since || now-time.Duration(t.failedAt.Load()) > t.panel.cfg.Stall
}

// begun notes a call that may be a probe.
func (t *Tracker) begun(now time.Duration) {
	if t.from.Load() == never && t.stage.Load() == claimed {
		t.stage.CompareAndSwap(claimed, sent)
	}
}

// BeginStream is Begin for a call that may wait as long as it likes for its first
// message, such as a subscription: its silence says nothing. Each BeginStream needs
// one EndStream.
func (t *Tracker) BeginStream(now time.Duration) { t.begun(now) }

// End counts a call that is over: now, how long after its Begin, exactly, and how.
func (t *Tracker) End(now, took time.Duration, r Result) {
	t.inFlight.Add(-1)
	if r == OK && now-took >= time.Duration(t.from.Load()) {
		t.learn(took)
	}
	t.EndStream(now, took, r)
}

// EndStream counts a stream that BeginStream announced, when its first message has
// come or it has failed before.
func (t *Tracker) EndStream(now, took time.Duration, r Result) {
	began := now - took
	if r == OK {
		t.noteAnswer(now)
	}
	if began < time.Duration(t.from.Load()) {
		t.outcome(now, began, r)
		return
	}
	switch r {
	case OK:
		t.recent.add(now, t.panel.width, oneOK)
		if t.row.Load() != 0 {
			t.row.Store(0)
		}
	case Failed:
		t.recent.add(now, t.panel.width, oneFailed)
		t.failedAt.Store(int64(now))
		t.row.Add(1)
	}
}

// outcome is that of a call which does not count, and which may be the probe.
func (t *Tracker) outcome(now, began time.Duration, r Result) {
	stage := t.stage.Load()
	if stage == noProbe || began < time.Duration(t.probing.Load()) {
		return
	}
	next := wanted // by another call, if this one was canceled
	switch r {
	case OK:
		next = passed // also if the call was no probe, but a stream or the last resort
	case Failed:
		next = missed
	default:
		if stage == sent { // it is not so that no call has come
			t.probing.Store(int64(now))
		}
	}
	if stage == sent || r == OK && (stage == wanted || stage == claimed) {
		t.stage.CompareAndSwap(stage, next)
	}
}

// Answered reports that a server which is out answers, though no call may have shown
// that it works.
func (t *Tracker) Answered(now time.Duration) { t.replied.Store(int64(now)) }

// noteAnswer notes an answer. One store in a millisecond is enough, but for the first
// after a silence.
func (t *Tracker) noteAnswer(now time.Duration) {
	last := time.Duration(t.lastAnswer.Load())
	if now-last >= time.Millisecond || last < time.Duration(t.since.Load()) {
		t.lastAnswer.Store(int64(now))
	}
}

// learn keeps how long the slowest answer took.
func (t *Tracker) learn(took time.Duration) {
	units := uint32(min(max(took, 0)>>16+1, math.MaxUint32))
	if units > t.slowest.Load() {
		t.slowest.Store(units)
	}
}

// usual is how long the server takes to answer at most, 0 if that is not known.
func (t *Tracker) usual() time.Duration { return time.Duration(t.slowest.Load()) << 16 }

// silence is how long the server has answered nothing though a call waits for it, since
// it was last healthy. It is for the panel.
func (t *Tracker) silence(now time.Duration) time.Duration {
	if t.inFlight.Load() <= 0 {
		return 0
	}
	return now - max(time.Duration(t.lastAnswer.Load()), time.Duration(t.since.Load()), t.healed)
}

// Lost reports that the server has no connection any more, or does not take one. The
// panel knows it from the next Tick on.
func (t *Tracker) Lost(now time.Duration) {
	if !t.lost.CompareAndSwap(false, true) {
		return
	}
	if now-time.Duration(t.made.Load()) < t.panel.cfg.Window {
		t.brief.Add(1)
	} else {
		t.brief.Store(0)
	}
}

// Connected reports that the server has a connection. The panel knows it from the
// next Tick on.
func (t *Tracker) Connected(now time.Duration) {
	if t.lost.CompareAndSwap(true, false) {
		t.made.Store(int64(now))
	}
}
