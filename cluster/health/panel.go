package health

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Panel judges the servers of one client. All methods may be called at the same
// time; Probe takes no lock and allocates nothing.
type Panel struct {
	cfg   Config
	width time.Duration // of a bucket of the windows

	probes    atomic.Pointer[[]*Tracker] // the servers to probe; nil: none
	panicking atomic.Bool

	mu     sync.Mutex
	all    []*Tracker
	ticked time.Duration // when Tick was last called
	faded  time.Duration // when the slowest answers last were
	random uint64
}

// NewPanel returns a panel without servers.
func NewPanel(cfg Config) (*Panel, error) {
	if err := cfg.resolve(); err != nil {
		return nil, err
	}
	return &Panel{cfg: cfg, width: cfg.Window / buckets}, nil
}

// Add returns the tracker of a server that has just become known. It is healthy
// until something else is known.
func (p *Panel) Add(name string) *Tracker {
	t := newTracker(p, name)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all = append(p.all, t)
	return t
}

// Remove forgets a server. What calls still report to its tracker has no effect.
func (p *Panel) Remove(t *Tracker) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all = slices.DeleteFunc(p.all, func(other *Tracker) bool { return other == t })
	t.stage.Store(noProbe)
	p.offer()
}

// Tick judges the servers and returns those whose state has changed, or nil. Call it
// every quarter of a second, and also when a connection was lost or made. random are
// random bits, fresh for each tick.
func (p *Panel) Tick(now time.Duration, random uint64) []Change {
	p.mu.Lock()
	defer p.mu.Unlock()
	// When this process itself did not run for a while, all servers look silent.
	awake := now-p.ticked <= p.cfg.Stall
	p.ticked, p.random = now, random

	seen := p.look(now)
	for _, t := range p.all {
		t.before = t.State()
		p.follow(t, now)
		p.examine(t, now, seen)
	}
	p.judge(now, seen, awake)
	p.fade(now)

	var changes []Change
	for _, t := range p.all {
		if s := t.State(); s != t.before {
			changes = append(changes, Change{Tracker: t, From: t.before, To: s, Why: t.why})
		}
	}
	if changes != nil {
		p.offer()
	}
	return changes
}

// offer publishes the servers to probe.
func (p *Panel) offer() {
	var probes []*Tracker
	for _, t := range p.all {
		if t.State() == Probing {
			probes = append(probes, t)
		}
	}
	if probes == nil {
		p.probes.Store(nil)
		return
	}
	p.probes.Store(&probes)
}

// Probe returns a server that wants a call to show how it is, and nil when there is
// none, which costs next to nothing: ask before each pick. The caller that gets it sends
// a call there, at once and whatever the balancer says; no other caller gets it
// meanwhile, unless no call has begun there within a second. may reports whether that
// call may go to that server, as it may not if the server does not have its service;
// nil stands for yes.
//
// Since that server was not well, the call should be one that can be tried again
// elsewhere, if there are such.
func (p *Panel) Probe(now time.Duration, may func(*Tracker) bool) *Tracker {
	probes := p.probes.Load()
	if probes == nil {
		return nil
	}
	for _, t := range *probes {
		if t.stage.Load() == wanted && (may == nil || may(t)) && t.stage.CompareAndSwap(wanted, claimed) {
			t.asked.Store(int64(now))
			return t
		}
	}
	return nil
}

// Panic reports whether all servers fail, so that none is ejected.
func (p *Panel) Panic() bool { return p.panicking.Load() }

// Reports returns what is known of every server, in the order in which they were
// added.
func (p *Panel) Reports(now time.Duration) []Report {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := make([]Report, len(p.all))
	for i, t := range p.all {
		ok, failed := t.recent.sum(now, p.width)
		r := Report{
			Name: t.name, State: t.State(), Why: t.why, InFlight: int(t.inFlight.Load()),
			Calls: ok + failed, Failed: failed, Row: int(t.row.Load()),
		}
		switch r.State {
		case Healthy:
			r.Why = t.note
		case Ejected:
			r.Until = t.until
			r.Why += fmt.Sprintf(", tried again in %v", max(t.until-now, 0).Round(100*time.Millisecond))
		case Probing:
			r.Why += ", one call is to show how it is now"
		}
		out[i] = r
	}
	return out
}
