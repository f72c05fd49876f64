package balance

import (
	"math/bits"
	"time"
)

// P2C draws two servers at random, in proportion to their weights, and picks the
// one that will answer sooner, by its latency and its calls in flight (see [Stats]).
// It is the default.
//
// Two random choices keep the clients from running all to the one best server at
// the same time (Mitzenmacher 2001). Servers that answer about equally fast get what
// their weights say, however many calls are in flight. One that is three times slower
// gets about a third of its share, one that is ten times slower a twentieth, and one
// that stops answering keeps the calls it has and gets hardly any new one.
func P2C() Balancer { return p2c{latency: true} }

// P2CConfig is what a P2C can look at besides latency and calls in flight.
type P2CConfig struct {
	// Reports has it look at the load that servers report as well; see [LeastReported].
	// It helps when each of many clients makes so few calls that it learns little from
	// them.
	Reports bool
}

// P2CWith is [P2C] with a configuration.
func P2CWith(cfg P2CConfig) Balancer { return p2c{latency: true, reports: cfg.Reports} }

// LeastReported is [P2C] by the load that servers report of themselves (see [Node].Load)
// in place of the latency, and by this client's calls in flight. A server that works for
// other clients as well gets less, and so does one whose calls are long; but reports are
// rare, so only P2C sees at once that a server has become slow.
//
// The load is the number of calls that ran in a server at the same time, for its weight.
// Loads that differ by less than a half count as equal. A report counts in full when it
// comes, for half after 30 seconds, for a quarter after a minute: what has not been
// confirmed is forgotten, and a server that gets more calls then reports more. Servers
// that report nothing count as one of mean load.
func LeastReported() Balancer { return p2c{reports: true} }

type p2c struct{ latency, reports bool }

func (b p2c) Build(set []Node) Picker {
	return inTiers(set, func(set []Node) Picker {
		p := &p2cPicker{pool: newPool(set), latency: b.latency}
		if b.reports {
			p.reports = newReports(set)
		}
		return p
	})
}

// orDefault lets a wrapper be written without naming what it wraps.
func orDefault(b Balancer) Balancer {
	if b == nil {
		return P2C()
	}
	return b
}

// The latencies of two servers count as equal up to a ratio of near, and beyond it with
// a chance that falls with the square of the ratio: measured latencies differ by chance,
// and a server that looks slow has to get calls to show that it is not. far is the same
// where a server was drawn twice.
const (
	near = 1.5
	far  = 4
)

type p2cPicker struct {
	pool    pool
	latency bool
	reports *reports
}

func (p *p2cPicker) Pick(c Call) int {
	first := p.pool.untried(&c, c.Random)
	if first < 0 {
		return -1
	}
	random := next(c.Random)
	if p.pool.weight == nil {
		return p.better(&c, first, p.pool.another(&c, first, random), next(random))
	}
	// Two independent draws give the shares of the weights exactly when all servers
	// look alike; of two draws that must differ, each of two servers would win half.
	second := p.pool.untried(&c, random)
	random = next(random)
	if second != first {
		return p.better(&c, first, second, random)
	}
	if second = p.pool.another(&c, first, random); second >= 0 {
		if ratio := p.ratio(&c, first, second); ratio > far && !alike(ratio, far, next(random)) {
			return second
		}
	}
	return first
}

// better returns the second server if it is there and will answer sooner. Of two equals
// the first wins: it was drawn by weight alone.
func (p *p2cPicker) better(c *Call, first, second int, random uint64) int {
	if second < 0 {
		return first
	}
	ratio := p.ratio(c, first, second)
	if alike(ratio, near, random) {
		ratio = 1
	}
	qa, qb := p.pool.queues(first, second, bits.RotateLeft64(random, 32))
	if ratio*(1+qa) > 1+qb {
		return second
	}
	return first
}

// alike reports whether a server that takes ratio times as long as another is treated
// as equal to it: always up to limit, then in (limit/ratio)² of the cases.
func alike(ratio, limit float64, random uint64) bool {
	switch {
	case ratio > limit:
		return ratio*ratio*unit(random) < limit*limit
	case ratio*limit < 1:
		return unit(random) < limit*limit*ratio*ratio
	}
	return true
}

// ratio is how many times as long the first server takes as the second, by latency, by
// reported load, or by both.
func (p *p2cPicker) ratio(c *Call, first, second int) float64 {
	a, b := p.pool.stats[first], p.pool.stats[second]
	ratio := 1.0
	if p.latency {
		ratio = latencyRatio(a, b, c.Now)
	}
	if p.reports != nil {
		ratio *= p.reports.ratio(first, second, a, b, c.Now)
	}
	return ratio
}

// latencyRatio is how many times as long server a takes as b. One of which too little is
// known counts as equal, unless its calls already wait for longer.
func latencyRatio(a, b *Stats, now time.Duration) float64 {
	la, sureA := a.expected(now)
	lb, sureB := b.expected(now)
	switch {
	case !sureA && !sureB:
		return 1
	case !sureA:
		return max(la/lb, 1)
	case !sureB:
		return min(la/lb, 1)
	}
	return la / lb
}
