package balance

import "math/bits"

// P2C draws two servers at random, in proportion to their weights, and picks the
// one that will answer sooner, by its latency and its calls in flight (see [Stats]).
// It is the default.
//
// Two random choices keep the clients from running all to the one best server at
// the same time (Mitzenmacher 2001). Servers that answer about equally fast get what
// their weights say, however many calls are in flight. One that is three times slower
// gets about a third of its share, one that is ten times slower a twentieth, and one
// that stops answering keeps the calls it has and gets hardly any new one.
func P2C() Balancer { return p2c{} }

type p2c struct{}

func (p2c) Build(set []Node) Picker {
	return inTiers(set, func(set []Node) Picker { return &p2cPicker{newPool(set)} })
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

type p2cPicker struct{ pool pool }

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
	if second = p.pool.another(&c, first, random); second >= 0 && !alike(p.ratio(&c, first, second), far, next(random)) {
		return second
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
	if alike(ratio, near, random) && alike(1/ratio, near, random) {
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
	return ratio <= limit || ratio*ratio*unit(random) < limit*limit
}

// ratio is how many times as long the first server takes as the second. A server of
// which too little is known counts as equal, unless its calls already wait for longer.
func (p *p2cPicker) ratio(c *Call, first, second int) float64 {
	a, sureA := p.pool.stats[first].expected(c.Now)
	b, sureB := p.pool.stats[second].expected(c.Now)
	switch {
	case !sureA && !sureB:
		return 1
	case !sureA:
		return max(a/b, 1)
	case !sureB:
		return min(a/b, 1)
	}
	return a / b
}
