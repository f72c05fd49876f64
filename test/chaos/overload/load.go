package main

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weftrpc/weft"
)

// Plan is what a generator process does, one phase after the other.
type Plan struct {
	Wire     string
	At       string // the server
	Control  []string
	Conns    int
	Deadline time.Duration
	Critical float64 // share of the calls
	Throttle bool    // calls are made through a cluster client
	Calls    []Call
	Phases   []Phase
}

// Call is a kind of call and its share of all.
type Call struct {
	Method string
	Micros int
	Share  float64
}

// Phase is a load.
type Phase struct {
	Name    string
	Load    float64       // as a multiple of the capacity, where the rate is one
	Again   bool          // it follows an overload
	Callers int           // of a closed loop; 0: open
	Rate    float64       // calls in a second of an open loop
	Burst   time.Duration // of every 300 ms in which calls are made; 0: all
	Settle  time.Duration // at the beginning, which does not count
	Length  time.Duration
	SleepMs int // what Work.Sleep takes from here on; 0: as before
}

// Result is what a phase was like.
type Result struct {
	Phase     Phase
	Seconds   float64
	Offered   int
	Good      int // answered within the deadline from when it was due
	Refused   map[string]int
	Failed    int
	Throttled int
	Critical  int
	CritGood  int
	CritLost  map[string]int // the other critical calls, by why
	P50, P99  time.Duration  // of the good ones
	// Waited, Ran and Outside are how long the slowest 1 % waited in the server, ran there, and were elsewhere: each by itself. 0: not known.
	Waited, Ran, Outside time.Duration
	RefuseP99            time.Duration
	Begun                time.Duration // after they were due, 99 % of the calls had begun: the generator's own lateness
	CPU                  float64       // seconds, of the server; 0: not known
	Reports              []Report      // of the servers at the end
	Most                 int64         // the largest RSS of the first server
	Error                string        // one of the failures
	// Back is how long after the beginning of the phase fewer than usual of its calls were answered in time.
	Back time.Duration
}

// caller makes calls.
type caller func(ctx context.Context, n uint64, method string, micros int, d *Done) error

// sample is a call that has ended.
type sample struct {
	due      time.Time
	begun    time.Duration // since due
	took     time.Duration // since due
	done     Done
	critical bool
	err      error
}

// generate runs a plan and prints the results.
func generate(p Plan) error {
	call, end, err := p.connect()
	if err != nil {
		return err
	}
	defer end()
	var controls []*weft.Client
	for _, at := range p.Control {
		// A server without protection has no processor left for seconds, and its figures are wanted nevertheless.
		c, err := weft.Dial(context.Background(), "tcp://"+at, &weft.ClientConfig{
			Logger: slog.New(slog.DiscardHandler), Timeout: 30 * time.Second, Limits: weft.Limits{PingTimeout: 30 * time.Second},
		})
		if err != nil {
			return err
		}
		defer c.Close()
		controls = append(controls, c)
	}
	g := &generator{plan: p, call: call, controls: controls}
	out := json.NewEncoder(os.Stdout)
	for _, ph := range p.Phases {
		r, err := g.run(ph)
		if err != nil {
			return err
		}
		if err := out.Encode(r); err != nil {
			return err
		}
	}
	return nil
}

// connect makes the clients.
func (p *Plan) connect() (caller, func(), error) {
	if p.Wire == "grpc" {
		c, err := dialGRPC(p.At, p.Conns)
		return func(ctx context.Context, n uint64, method string, micros int, _ *Done) error {
			ctx, cancel := context.WithTimeout(ctx, p.Deadline)
			defer cancel()
			return c.call(ctx, n, method, micros)
		}, func() {}, err
	}
	if p.Throttle {
		c, err := clusterOf(p.At, p.Conns, p.Deadline)
		return func(ctx context.Context, _ uint64, method string, micros int, d *Done) error {
			return c.Call(ctx, "Work."+method, &Job{micros}, d)
		}, func() { c.Close() }, err
	}
	var all []*weft.Client
	for range p.Conns {
		c, err := weft.Dial(context.Background(), "tcp://"+p.At, &weft.ClientConfig{MaxConns: 1, Timeout: p.Deadline, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			return nil, nil, err
		}
		all = append(all, c)
	}
	return func(ctx context.Context, n uint64, method string, micros int, d *Done) error {
			return all[n%uint64(len(all))].Call(ctx, "Work."+method, &Job{micros}, d)
		}, func() {
			for _, c := range all {
				c.Close()
			}
		}, nil
}

// generator makes the calls of a plan.
type generator struct {
	plan     Plan
	call     caller
	controls []*weft.Client
	n        atomic.Uint64

	mu      sync.Mutex
	samples []sample
}

// reports asks all servers.
func (g *generator) reports() (out []Report, err error) {
	for _, c := range g.controls {
		r, err := weft.Invoke[Report](context.Background(), c, "Control.Report", &Job{})
		if err != nil {
			return nil, err
		}
		out = append(out, *r)
	}
	return out, nil
}

// run runs a phase.
func (g *generator) run(ph Phase) (*Result, error) {
	if ph.SleepMs > 0 {
		if _, err := weft.Invoke[Done](context.Background(), g.controls[0], "Work.Set", &Job{ph.SleepMs * 1000}); err != nil {
			return nil, err
		}
	}
	g.samples = nil
	began := time.Now()
	counted := began.Add(ph.Settle)
	end := counted.Add(ph.Length)
	seen := make(chan watched, 1)
	halt := make(chan struct{})
	go func() { seen <- g.watch(counted, halt) }() // it ends with the phase
	var wg sync.WaitGroup
	if ph.Callers > 0 {
		g.closed(&wg, ph.Callers, end)
	} else {
		g.open(&wg, ph, began, end)
	}
	wg.Wait()
	over := time.Now()
	if ph.Callers == 0 || over.Before(end) {
		over = end
	}
	close(halt)
	w := <-seen
	if w.err != nil {
		return nil, w.err
	}
	after, err := g.reports()
	if err != nil {
		return nil, err
	}
	back := usualAfter(g.samples, began, g.plan.Deadline)
	counted, timed := w.before[0].countedFrom(counted, end)
	g.samples = slices.DeleteFunc(g.samples, func(s sample) bool { return s.due.Before(counted) })
	r := summarize(ph, over.Sub(counted), g.samples, g.plan.Deadline)
	r.Reports, r.Most, r.Back = after, w.most, back
	if timed {
		r.CPU = float64(after[0].CPU-w.before[0].CPU) / 1e9
	}
	for i := range r.Reports {
		r.Reports[i].Attempts -= w.before[i].Attempts
		r.Reports[i].Made -= w.before[i].Made
	}
	return r, nil
}

// countedFrom is when counting begins in a phase: with the processor time of the report, which a
// generator and a server without time to spare ask for, and tell, late. timed is false when less than half of the phase
// follows the report: then the whole phase counts, and its processor time is not known.
func (r *Report) countedFrom(began, end time.Time) (from time.Time, timed bool) {
	at := time.Unix(0, r.At)
	switch {
	case at.After(began.Add(end.Sub(began) / 2)):
		return began, false
	case at.After(began):
		return at, true
	}
	return began, true
}

// watched is what was seen of the servers during a phase.
type watched struct {
	before []Report // when counting began
	most   int64    // the largest RSS of the first one
	err    error
}

// watch looks at the servers from a time on.
func (g *generator) watch(from time.Time, halt <-chan struct{}) (w watched) {
	time.Sleep(time.Until(from))
	if w.before, w.err = g.reports(); w.err != nil {
		return w
	}
	for {
		if r, err := weft.Invoke[Report](context.Background(), g.controls[0], "Control.Report", &Job{}); err == nil {
			w.most = max(w.most, r.RSS)
		}
		select {
		case <-halt:
			return w
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// closed lets callers call without a pause until a time.
func (g *generator) closed(wg *sync.WaitGroup, callers int, until time.Time) {
	for range callers {
		wg.Go(func() {
			var own []sample
			for time.Now().Before(until) {
				own = append(own, g.one(time.Now()))
			}
			g.mu.Lock()
			defer g.mu.Unlock()
			g.samples = append(g.samples, own...)
		})
	}
}

// open makes calls when they are due: every millisecond those of the millisecond.
func (g *generator) open(wg *sync.WaitGroup, ph Phase, began, end time.Time) {
	due := 0.0
	last := began
	for now := began; now.Before(end); {
		time.Sleep(time.Millisecond)
		now = time.Now()
		if ph.Burst == 0 || now.Sub(began)%(300*time.Millisecond) < ph.Burst {
			due += now.Sub(last).Seconds() * ph.Rate
		}
		for ; due >= 1; due-- {
			at := now
			wg.Go(func() {
				s := g.one(at)
				g.mu.Lock()
				defer g.mu.Unlock()
				g.samples = append(g.samples, s)
			})
		}
		last = now
	}
}

// one makes a call that was due at a time.
func (g *generator) one(due time.Time) sample {
	ctx := context.Background()
	s := sample{due: due, begun: time.Since(due), critical: rand.Float64() < g.plan.Critical}
	if s.critical {
		ctx = weft.WithPriority(ctx, weft.PriorityCritical)
	}
	c, x := 0, rand.Float64()
	for ; c < len(g.plan.Calls)-1 && x >= g.plan.Calls[c].Share; c++ {
		x -= g.plan.Calls[c].Share
	}
	kind := g.plan.Calls[c]
	s.err = g.call(ctx, g.n.Add(1), kind.Method, kind.Micros, &s.done)
	s.took = time.Since(due)
	return s
}

// summarize makes the result of a phase.
func summarize(ph Phase, took time.Duration, samples []sample, deadline time.Duration) *Result {
	r := &Result{Phase: ph, Seconds: took.Seconds(), Offered: len(samples), Refused: make(map[string]int), CritLost: make(map[string]int)}
	var good, refused, begun, waited, ran, outside []time.Duration
	for _, s := range samples {
		begun = append(begun, s.begun)
		if s.critical {
			r.Critical++
		}
		e, ok := errors.AsType[*weft.Error](s.err)
		if s.critical && (s.err != nil || s.took > deadline) {
			r.CritLost[lossOf(e)]++
		}
		switch {
		case s.err == nil && s.took <= deadline:
			r.Good++
			if s.critical {
				r.CritGood++
			}
			good = append(good, s.took)
			if d := s.done; d.Ran > 0 {
				waited, ran = append(waited, time.Duration(d.Waited)), append(ran, time.Duration(d.Ran))
				outside = append(outside, s.took-time.Duration(d.Waited+d.Ran))
			}
		case ok && e.Reason == weft.ReasonThrottled:
			r.Throttled++
		case ok && e.Outcome == weft.Refused && e.Code == weft.ResourceExhausted:
			r.Refused[e.Reason]++
			refused = append(refused, s.took)
		default:
			r.Failed++
			if s.err != nil {
				r.Error = s.err.Error()
			}
		}
	}
	for _, all := range [][]time.Duration{good, refused, begun, waited, ran, outside} {
		slices.Sort(all)
	}
	r.Begun = quantile(begun, 0.99)
	r.Waited, r.Ran, r.Outside = quantile(waited, 0.99), quantile(ran, 0.99), quantile(outside, 0.99)
	r.P50, r.P99, r.RefuseP99 = quantile(good, 0.5), quantile(good, 0.99), quantile(refused, 0.99)
	return r
}

// lossOf is why a call is not counted as answered in time.
func lossOf(e *weft.Error) string {
	switch {
	case e == nil:
		return "late"
	case e.Reason != "":
		return e.Reason
	}
	return e.Code.String()
}

// usualAfter is the end of the last quarter of a second in which fewer than 95 % of the calls were answered in time.
func usualAfter(samples []sample, began time.Time, deadline time.Duration) (last time.Duration) {
	const window = 250 * time.Millisecond
	all, good := make(map[time.Duration]int), make(map[time.Duration]int)
	for _, s := range samples {
		w := s.due.Sub(began) / window
		all[w]++
		if s.err == nil && s.took <= deadline {
			good[w]++
		}
	}
	for w, n := range all {
		if good[w]*100 < 95*n {
			last = max(last, (w+1)*window)
		}
	}
	return last
}

func quantile(d []time.Duration, q float64) time.Duration {
	if len(d) == 0 {
		return 0
	}
	return d[int(q*float64(len(d)-1))]
}
