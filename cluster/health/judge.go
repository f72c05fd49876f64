package health

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

const (
	// slack is how many times its slowest answer of late a server may take.
	slack = 2
	// flaps is how many connections in a row have to be lost soon after they were made.
	flaps = 3
	// lapse is after how many times its last ejection a healthy server has no record.
	lapse = 4
	// fading is which part of the slowest answer is forgotten with each bucket: half of
	// it in about twenty seconds. Calls that wait for news at the server take a
	// minute or so each time, and should be remembered from one to the next.
	fading = 24
	// waiting is how many calls have to wait without an answer, or have done so since the last
	// answer. One alone may be such a call.
	waiting = 2
)

// record is what the panel keeps of a server.
type record struct {
	before      State         // at the begin of a tick
	why         string        // it is in its state
	note        string        // what is wrong with it though it is healthy
	unwell      bool          // it is down, and was not healthy before
	stalled     bool          // it was ejected for its silence
	ejected     time.Duration // when
	until       time.Duration
	last        time.Duration // for how long
	level       int           // how often that was doubled
	healed      time.Duration // when it last became healthy
	fadedAnswer int64         // its last answer, when its slowest last faded
}

// view is what a tick sees of all servers.
type view struct {
	healthy    int           // servers
	ok, failed int           // calls of these
	lastAnswer time.Duration // the last answer of any
	usual      time.Duration // the slowest answer of the slowest
}

func (p *Panel) look(now time.Duration) view {
	v := view{lastAnswer: -1}
	for _, t := range p.all {
		v.lastAnswer = max(v.lastAnswer, time.Duration(t.lastAnswer.Load()))
		v.usual = max(v.usual, t.usual())
		if t.Available() {
			ok, failed := t.recent.sum(now, p.width)
			v.healthy++
			v.ok += ok
			v.failed += failed
		}
	}
	return v
}

// follow has the state of a server follow its connections.
func (p *Panel) follow(t *Tracker, now time.Duration) {
	switch lost := t.lost.Load(); {
	case lost && t.State() != Down:
		t.unwell = t.State() != Healthy
		t.enter(Down, never, "no connection")
	case !lost && t.State() == Down && t.unwell:
		p.admit(t, now)
	case !lost && t.State() == Down:
		t.heal(now, "connected again")
	}
}

// examine updates a server that is out.
func (p *Panel) examine(t *Tracker, now time.Duration, v view) {
	switch t.State() {
	case Ejected:
		// A server that was silent and speaks is asked at once.
		if now >= t.until || t.stalled && time.Duration(t.lastAnswer.Load()) > t.ejected {
			p.admit(t, now)
		}
	case Probing:
		asked := now - time.Duration(t.asked.Load())
		switch t.stage.Load() {
		case wanted:
			// Streams and one-way calls are no probes, and there may be no others.
			probing := time.Duration(t.probing.Load())
			if now-probing >= p.cfg.Eject && time.Duration(t.replied.Load()) >= probing {
				t.restore(now, "it answers, and no call has come to show more")
			}
		case passed:
			t.restore(now, "a call went well again")
		case missed:
			p.eject(t, now, fault{why: "the call that was to show how it is failed"})
		case claimed:
			if asked >= p.cfg.Stall { // and not begun: another call may be it
				t.stage.CompareAndSwap(claimed, wanted)
			}
		case sent:
			if asked >= max(p.cfg.Stall, slack*v.usual) {
				p.eject(t, now, fault{why: "the call that was to show how it is got no answer", stall: true})
			}
		}
	}
}

// admit lets one call through to a server that is out.
func (p *Panel) admit(t *Tracker, now time.Duration) {
	t.probing.Store(int64(now))
	t.asked.Store(int64(now))
	t.enter(Probing, never, t.why)
	t.stage.Store(wanted)
}

// enter sets the state of a server. Calls that began before from do not count.
func (t *Tracker) enter(s State, from int64, why string) {
	t.stage.Store(noProbe)
	t.from.Store(from)
	t.state.Store(uint32(s))
	t.why, t.note = why, ""
}

// restore heals a server that was out.
func (t *Tracker) restore(now time.Duration, why string) {
	if t.brief.Load() >= flaps {
		t.brief.Store(flaps - 1) // one more will do
	}
	t.heal(now, why)
}

// heal makes a server healthy and forgets its failures.
func (t *Tracker) heal(now time.Duration, why string) {
	t.row.Store(0)
	t.slowest.Store(0)
	t.recent.clear()
	t.healed = now
	t.enter(Healthy, int64(now), why)
}

// release makes a server healthy because too many are out. What it was ejected for
// still holds.
func (t *Tracker) release(now time.Duration, why string) {
	t.healed = now
	t.enter(Healthy, int64(now), why)
}

// eject leaves a server out for a while, longer each time.
func (p *Panel) eject(t *Tracker, now time.Duration, f fault) {
	if t.State() == Healthy && now-t.healed > lapse*t.last {
		t.level = 0
	}
	t.last = p.cfg.Eject
	for range t.level {
		t.last = min(2*t.last, p.cfg.MaxEject)
	}
	if t.last < p.cfg.MaxEject {
		t.level++
	}
	t.ejected, t.stalled = now, f.stall
	t.until = now + p.jitter(t.last)
	t.enter(Ejected, never, f.why)
}

// jitter gives or takes a tenth.
func (p *Panel) jitter(d time.Duration) time.Duration {
	p.random = p.random*6364136223846793005 + 1442695040888963407 // Knuth's generator
	part := float64(p.random>>11) / (1 << 53)
	return time.Duration(float64(d) * (0.9 + 0.2*part))
}

// fault is what is wrong with a server; one without a reason is nothing.
type fault struct {
	why   string
	stall bool
	part  float64 // of its calls that it does not answer
}

// judge ejects the servers that are not well, the worst first, as far as the others
// can spare them.
func (p *Panel) judge(now time.Duration, v view, awake bool) {
	type suspect struct {
		*Tracker
		fault
	}
	var suspects []suspect
	var out []*Tracker
	alive, limit := 0, len(p.all)/2
	for _, t := range p.all {
		switch t.State() {
		case Down:
			limit--
			continue
		case Ejected, Probing:
			out = append(out, t)
		default:
			f := p.faultOf(t, now, v, awake)
			if t.note = f.why; f.why != "" {
				suspects = append(suspects, suspect{t, f})
			}
		}
		alive++
	}
	why := "too many servers are out"
	limit = max(limit, 0)
	panicking := len(suspects) > 0 && len(suspects)+len(out) == alive
	if panicking {
		why, limit = "all servers fail, so none is left out", 0
	}
	p.panicking.Store(panicking)

	// The first to go back is the one whose time would be over first.
	slices.SortStableFunc(out, func(a, b *Tracker) int { return cmp.Compare(b.until, a.until) })
	for len(out) > limit {
		out[len(out)-1].release(now, why)
		out = out[:len(out)-1]
	}
	slices.SortStableFunc(suspects, func(a, b suspect) int { return cmp.Compare(b.part, a.part) })
	for _, s := range suspects[:min(len(suspects), limit-len(out))] {
		p.eject(s.Tracker, now, s.fault)
	}
}

// faultOf says what is wrong with a healthy server.
func (p *Panel) faultOf(t *Tracker, now time.Duration, v view, awake bool) fault {
	ok, failed := t.recent.sum(now, p.width)
	part := float64(failed) / float64(max(ok+failed, 1))
	if n := t.brief.Load(); n >= flaps {
		return fault{why: fmt.Sprintf("its connection was lost %d times in a row, soon after it was made", n), part: part}
	}
	if row := t.row.Load(); row >= uint32(p.cfg.Failures) {
		return fault{why: fmt.Sprintf("%d failures in a row", row), part: part}
	}
	if silence := t.silence(now); awake && silence >= p.patience(t, v) && now-v.lastAnswer < p.cfg.Stall {
		if n := t.inFlight.Load(); n+int64(t.row.Load()) >= waiting {
			return fault{why: fmt.Sprintf("%d calls wait and nothing was answered for %v", n, silence.Round(time.Millisecond)), stall: true, part: 1}
		}
	}
	if n := ok + failed; n >= p.cfg.Calls && v.healthy > 1 {
		// Compared to the others: what all have in common is no fault of one.
		usual := 1.0
		if others := v.ok + v.failed - n; others >= p.cfg.Calls {
			usual = float64(v.ok-ok) / float64(others)
		}
		if float64(ok)/float64(n) < usual-(1-p.cfg.Rate) {
			return fault{why: fmt.Sprintf("%d of %d calls failed", failed, n), part: part}
		}
	}
	return fault{}
}

// patience is how long a server with calls waiting may answer nothing.
func (p *Panel) patience(t *Tracker, v view) time.Duration {
	usual := t.usual()
	if usual == 0 {
		usual = v.usual
	}
	return max(p.cfg.Stall, slack*usual)
}

// fade gradually forgets slow answers, but not while there are no newer ones.
func (p *Panel) fade(now time.Duration) {
	if now-p.faded < p.width {
		return
	}
	p.faded = now
	for _, t := range p.all {
		if last := t.lastAnswer.Load(); last != t.fadedAnswer {
			t.fadedAnswer = last
			s := t.slowest.Load()
			t.slowest.CompareAndSwap(s, s-s/fading)
		}
	}
}
