package overload

import (
	"container/heap"
	"math/rand/v2"
	"slices"
	"time"
)

// kind is a kind of call in the model: it computes, and then sleeps, or holds one of the
// slots of a pool.
type kind struct {
	share float64 // of all calls
	cpu   time.Duration
	sleep time.Duration
	slots int // of the pool; 0: none
}

// load is the calls that come during a run.
type load struct {
	kinds    []kind
	deadline time.Duration
	critical float64                         // the share of critical calls
	rate     func(at time.Duration) float64  // calls in a second
	change   func(at time.Duration, k *kind) // changes a kind while the run goes on
	throttle bool                            // callers throttle
	refusal  int64                           // ns that a refusal costs
	batch    time.Duration                   // calls are read together after each such time; 0: each as it comes
	stall    time.Duration                   // for which the process stands still each time: it reads nothing then
	every    time.Duration                   // how often it does; 0: each second
	single   bool                            // there is one processor
	length   time.Duration
}

// run is a run of the model: processors with one queue, first in, first out.
type run struct {
	load
	rng     *rand.Rand
	c       *Controller // nil: every call is let in
	methods []*Method
	now     int64
	events  events
	queue   []*task
	head    int
	idle    int   // processors
	debt    int64 // processor time for refusals that was not spent yet
	unread  []int // calls that have come and were not read yet, of results
	looking bool
	pools   []pool
	caller  [3]throttle // by class

	each    func() // is called every 100 ms
	results []result
}

// result is what became of a call.
type result struct {
	came, took int64
	class      Class
	kind       int
	verdict    Verdict
	good       bool // it was answered in time
	local      bool // its caller did not send it
}

// task is a call that was let in.
type task struct {
	i       int // of its result
	kind    int
	came    int64
	start   int64
	phase   phase
	allowed int64 // until when its answer counts
}

type phase uint8

const (
	queued phase = iota
	computing
	sleeping
)

type pool struct {
	free  int
	queue []*task
}

type event struct {
	at   int64
	t    *task // nil: a call comes, if call is set
	call bool
	read bool // what has come is read
	look bool // the process is seen to run
}

type events []event

func (e events) Len() int           { return len(e) }
func (e events) Less(i, j int) bool { return e[i].at < e[j].at }
func (e events) Swap(i, j int)      { e[i], e[j] = e[j], e[i] }
func (e *events) Push(v any)        { *e = append(*e, v.(event)) }
func (e *events) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

// throttle is that of package cluster/throttle: the formula of Google's book on site
// reliability with factor 2, a memory of 10 s, and half of the excess forgotten in each half
// second in which nothing is refused.
type throttle struct {
	requests, accepted float64
	sent               int
	refused            bool
	at, half           int64
}

func (t *throttle) fade(now int64) {
	if now-t.at >= 100_000_000 {
		t.requests, t.accepted = t.requests*0.99, t.accepted*0.99
		t.at = now
	}
	if now-t.half >= 500_000_000 {
		if excess := t.requests - t.accepted; !t.refused && t.sent > 0 {
			t.requests -= excess / 2
		}
		t.half, t.sent, t.refused = now, 0, false
	}
}

const (
	processors = 2
	expiry     = 1_000 // ns that finding out costs that a call has expired
)

// simulate runs the model. guarded says whether the controller decides.
func simulate(l load, seed uint64, guarded bool) *run {
	return (&run{load: l, rng: rand.New(rand.NewPCG(seed, 1))}).start(guarded)
}

func (r *run) start(guarded bool) *run {
	r.kinds = slices.Clone(r.kinds)
	if r.every == 0 {
		r.every = time.Second
	}
	r.pools = make([]pool, len(r.kinds))
	if r.idle = processors; r.single {
		r.idle = 1
	}
	if guarded {
		r.c = New(0, r.idle)
	}
	for i, k := range r.kinds {
		r.pools[i].free = k.slots
		if guarded {
			r.methods = append(r.methods, r.c.Method("m", 0))
		}
	}
	const began = int64(time.Second)
	r.now = began
	end := began + int64(r.length)
	r.push(event{at: began + 1})
	tick := began
	for len(r.events) > 0 {
		e := heap.Pop(&r.events).(event)
		if e.at > end {
			break
		}
		if into := e.at % int64(r.every); into < int64(r.stall) && (e.t != nil || e.read || e.look) {
			e.at += int64(r.stall) - into
			r.push(e)
			continue
		}
		r.now = e.at
		if r.now >= tick {
			tick = r.now + 100_000_000
			if r.change != nil {
				for i := range r.kinds {
					r.change(time.Duration(r.now-began), &r.kinds[i])
				}
			}
			if r.each != nil {
				r.each()
			}
		}
		if e.t != nil {
			r.step(e.t)
			continue
		}
		if e.read {
			r.read()
			continue
		}
		if e.look {
			r.look()
			continue
		}
		if e.call {
			r.arrive()
		}
		rate := r.rate(time.Duration(r.now - began))
		const soon = int64(5 * ms) // the rate may change meanwhile
		gap := soon + 1
		if rate > 0 {
			gap = int64(r.rng.ExpFloat64() * 1e9 / rate)
		}
		r.push(event{at: r.now + min(max(gap, 1), soon), call: gap <= soon})
	}
	return r
}

func (r *run) push(e event) { heap.Push(&r.events, e) }

// arrive lets a call come.
func (r *run) arrive() {
	k, x := 0, r.rng.Float64()
	for ; k < len(r.kinds)-1 && x >= r.kinds[k].share; k++ {
		x -= r.kinds[k].share
	}
	class := Default
	if r.rng.Float64() < r.critical {
		class = Critical
	}
	r.results = append(r.results, result{came: r.now, class: class, kind: k})
	i := len(r.results) - 1
	if r.throttle {
		res, t := &r.results[i], &r.caller[class]
		t.fade(r.now)
		t.requests++
		if r.rng.Float64() < (t.requests-2*t.accepted)/(t.requests+1) {
			res.local, res.verdict = true, Waits
			return
		}
	}
	if r.batch == 0 {
		r.admit(i)
		r.dispatch()
		return
	}
	if r.unread = append(r.unread, i); len(r.unread) == 1 {
		r.push(event{at: (r.now/int64(r.batch) + 1) * int64(r.batch), read: true})
	}
}

// read takes all calls that have come.
func (r *run) read() {
	for _, i := range r.unread {
		r.admit(i)
	}
	r.unread = r.unread[:0]
	r.dispatch()
}

// look does what a Watcher does, but for the wait for a processor.
func (r *run) look() {
	r.c.looks.seen(r.now)
	if r.looking = r.c.InFlight() > 0; !r.looking {
		r.c.looks.over()
		return
	}
	r.push(event{at: r.now + int64(lookEvery), look: true})
}

// admit has the controller decide over a call that is read.
func (r *run) admit(i int) {
	res := &r.results[i]
	if r.c != nil {
		if !r.looking {
			r.looking = true
			r.c.looks.seen(r.now)
			r.push(event{at: r.now + int64(lookEvery), look: true})
		}
		res.verdict = r.methods[res.kind].Admit(r.now, int64(r.deadline), res.class)
	}
	if res.verdict != Admitted {
		r.caller[res.class].refused = true
		r.debt += r.refusal
		return
	}
	r.caller[res.class].accepted++
	r.caller[res.class].sent++
	if res.class == Critical && r.c != nil && r.c.Scarce() && r.c.Beyond() {
		r.displace()
	}
	r.queue = append(r.queue, &task{i: i, kind: res.kind, came: r.now, allowed: res.came + int64(r.deadline)})
}

// displace refuses the last call in the queue that is not critical, as the executor of a server does.
func (r *run) displace() {
	for i := len(r.queue) - 1; i >= r.head; i-- {
		t := r.queue[i]
		if res := &r.results[t.i]; res.class != Critical {
			r.queue = slices.Delete(r.queue, i, i+1)
			r.methods[t.kind].Dropped(r.now)
			res.verdict = Waits
			r.debt += r.refusal
			return
		}
	}
}

// dispatch gives idle processors the next calls.
func (r *run) dispatch() {
	for r.idle > 0 && r.head < len(r.queue) {
		t := r.queue[r.head]
		r.queue[r.head] = nil
		if r.head++; r.head > 1024 && r.head*2 > len(r.queue) {
			r.queue = slices.Delete(r.queue, 0, r.head)
			r.head = 0
		}
		r.idle--
		t.phase, t.start = computing, r.now
		cost := r.debt + int64(r.kinds[t.kind].cpu)
		r.debt = 0
		if r.now > t.allowed {
			cost += expiry - int64(r.kinds[t.kind].cpu)
			if r.c != nil {
				r.methods[t.kind].Dropped(r.now)
			}
			t.start = 0
		} else if r.c != nil {
			r.methods[t.kind].Started(t.came, r.now, int64(r.deadline))
		}
		r.push(event{at: r.now + cost, t: t})
	}
}

// step goes on with a call.
func (r *run) step(t *task) {
	k, p := &r.kinds[t.kind], &r.pools[t.kind]
	switch {
	case t.phase == computing:
		r.idle++
		switch {
		case t.start == 0: // it had expired
		case k.slots > 0 && p.free == 0:
			p.queue = append(p.queue, t)
		case k.sleep > 0:
			p.free--
			t.phase = sleeping
			r.push(event{at: r.now + int64(k.sleep), t: t})
		default:
			r.done(t)
		}
		r.dispatch()
	case t.phase == sleeping:
		r.done(t)
		p.free++
		if k.slots > 0 && len(p.queue) > 0 {
			next := p.queue[0]
			p.queue = p.queue[1:]
			p.free--
			next.phase = sleeping
			r.push(event{at: r.now + int64(k.sleep), t: next})
		}
	}
}

func (r *run) done(t *task) {
	if r.c != nil {
		r.methods[t.kind].Ended(r.now, r.now-t.start)
	}
	res := &r.results[t.i]
	res.took, res.good = r.now-t.came, r.now <= t.allowed
}

// summary is what a part of a run was like.
type summary struct {
	offered, good, refused, local   int
	critical, criticalGood          int
	verdicts                        [4]int
	p99                             time.Duration // of the calls that were answered in time
	goodput                         float64       // of these in a second
	refusedShare, criticalGoodShare float64
}

// between sums up the calls that came in a part of the run.
func (r *run) between(from, to time.Duration) summary {
	var s summary
	var took []int64
	for _, x := range r.results {
		at := time.Duration(x.came) - time.Second
		if at < from || at >= to {
			continue
		}
		s.offered++
		s.verdicts[x.verdict]++
		if x.verdict != Admitted {
			s.refused++
		}
		if x.local {
			s.local++
		}
		if x.good {
			s.good++
			took = append(took, x.took)
		}
		if x.class == Critical {
			s.critical++
			if x.good {
				s.criticalGood++
			}
		}
	}
	slices.Sort(took)
	if n := len(took); n > 0 {
		s.p99 = time.Duration(took[n*99/100])
	}
	s.goodput = float64(s.good) / (to - from).Seconds()
	s.refusedShare = float64(s.refused) / float64(max(s.offered, 1))
	s.criticalGoodShare = float64(s.criticalGood) / float64(max(s.critical, 1))
	return s
}
