package balance

import "math"

const (
	// scanned is up to how many servers of equal weight LeastInFlight looks at all of
	// them.
	scanned = 16
	// sampled is how many it draws otherwise.
	sampled = 4
)

// LeastInFlight picks the server with the fewest calls in flight relative to its
// weight. Among equals it picks in proportion to the weights.
//
// Up to 16 servers of equal weight it looks at all of them. Otherwise it takes the best
// of four at random, drawn by weight: two choices already keep the longest queue
// exponentially shorter than one does (Mitzenmacher: The Power of Two Choices in
// Randomized Load Balancing, IEEE TPDS 2001), and four keep a server that hangs from
// filling up.
func LeastInFlight() Balancer { return leastInFlight{} }

type leastInFlight struct{}

func (leastInFlight) Build(set []Node) Picker {
	return inTiers(set, func(set []Node) Picker { return &leastInFlightPicker{newPool(set)} })
}

type leastInFlightPicker struct{ pool pool }

func (p *leastInFlightPicker) Pick(c Call) int {
	first := p.pool.untried(&c, c.Random)
	if first < 0 {
		return -1
	}
	if p.pool.weight == nil && len(p.pool.stats) <= scanned {
		return p.scan(&c, first)
	}
	return p.sample(&c, first)
}

// scan looks at every server. It starts with the one drawn, which wins among
// equals, so that the order of the list favours none.
func (p *leastInFlightPicker) scan(c *Call, drawn int) int {
	best, least := drawn, p.pool.stats[drawn].inFlight.Load()
	i := drawn
	for range len(p.pool.stats) - 1 {
		if i++; i == len(p.pool.stats) {
			i = 0
		}
		if n := p.pool.stats[i].inFlight.Load(); n < least && !c.Tried.Has(p.pool.stats[i]) {
			best, least = i, n
		}
	}
	return best
}

// sample draws three more servers, which may be the same, and takes the one with the
// shortest queue; the first drawn wins among equals.
func (p *leastInFlightPicker) sample(c *Call, first int) int {
	drawn, random := [sampled]int{first}, c.Random
	lightest, same := p.weight(first), true
	for k := 1; k < sampled; k++ {
		random = next(random)
		i := p.pool.draw(random)
		if c.Tried.Has(p.pool.stats[i]) {
			i = first
		}
		drawn[k] = i
		lightest, same = min(lightest, p.weight(i)), same && i == first
	}
	if same {
		return p.relieved(c, first, random)
	}
	best, least := first, math.Inf(1)
	for _, i := range drawn {
		random = next(random)
		if q := p.pool.queue(i, lightest, random); q < least {
			best, least = i, q
		}
	}
	return best
}

// relieved returns another server than the one drawn four times when the queue of that
// one is more than twice as long.
func (p *leastInFlightPicker) relieved(c *Call, drawn int, random uint64) int {
	random = next(random)
	if i := p.pool.another(c, drawn, random); i >= 0 {
		if long, short := p.pool.queues(drawn, i, next(random)); long > 1+2*short {
			return i
		}
	}
	return drawn
}

func (p *leastInFlightPicker) weight(i int) float64 {
	if p.pool.weight == nil {
		return 1
	}
	return p.pool.weight[i]
}
