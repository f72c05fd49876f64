package balance

// P2C draws two servers at random, in proportion to their weights, and picks the
// one that will answer sooner: its latency, as a peak-sensitive moving average
// (see [Stats]), times the calls that wait there. It is the default.
//
// Two random choices keep every client from running to the one best server at
// the same time (Mitzenmacher 2001); peak-EWMA is from Twitter's Finagle. A
// server that answers ten times slower keeps a few percent of its share; one
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

// How many times cheaper a server has to be to get a call past the weights.
// What is used more has higher peaks, so small differences say nothing; and the
// weights give way altogether when a server is far slower than the others.
const (
	near = 1.25
	far  = 4
)

type p2cPicker struct{ pool pool }

func (p *p2cPicker) Pick(c Call) int {
	first := p.pool.untried(&c, c.Random)
	if first < 0 {
		return -1
	}
	random := next(c.Random)
	if p.pool.crowding == nil {
		return p.better(&c, first, p.pool.another(&c, first, random), 1)
	}
	// Two independent draws give the shares of the weights exactly when all
	// servers look alike; two that must differ would give each of two servers half
	// as soon as chance decides which looks faster.
	second := p.pool.untried(&c, random)
	if second != first {
		return p.better(&c, first, second, near)
	}
	return p.better(&c, first, p.pool.another(&c, first, next(random)), far)
}

// better returns the second server if it is there and more than factor times
// cheaper. Of two equals the first wins: it was drawn by weight alone.
func (p *p2cPicker) better(c *Call, first, second int, factor float64) int {
	if second < 0 {
		return first
	}
	a, b := p.pool.stats[first], p.pool.stats[second]
	if factor*b.cost(c.Now, p.pool.weigh(second)) < a.cost(c.Now, p.pool.weigh(first)) {
		return second
	}
	return first
}
