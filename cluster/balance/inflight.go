package balance

const (
	// scanned is up to how many servers LeastInFlight looks at all of them.
	scanned = 16
	// sampled is how many it looks at beyond that.
	sampled = 4
)

// LeastInFlight picks the server with the fewest calls in flight relative to its
// weight. Among equals it picks in proportion to the weights.
//
// Up to 16 servers it looks at all of them. Beyond, it takes the best of four at
// random: two choices already keep the longest queue exponentially shorter than
// one does (Mitzenmacher: The Power of Two Choices in Randomized Load Balancing,
// IEEE TPDS 2001), and four keep a server that hangs from filling up.
func LeastInFlight() Balancer { return leastInFlight{} }

type leastInFlight struct{}

func (leastInFlight) Build(set []Node) Picker {
	return inTiers(set, func(set []Node) Picker { return &leastInFlightPicker{newPool(set)} })
}

type leastInFlightPicker struct{ pool pool }

func (p *leastInFlightPicker) Pick(c Call) int {
	best := p.pool.untried(&c, c.Random)
	if best < 0 {
		return -1
	}
	if len(p.pool.stats) <= scanned {
		return p.scan(&c, best)
	}
	least, random := p.load(best), c.Random
	for range sampled - 1 {
		random = next(random)
		i := p.pool.draw(random)
		if load := p.load(i); load < least && !c.Tried.Has(p.pool.stats[i]) {
			best, least = i, load
		}
	}
	return best
}

// scan looks at every server. It starts with the one drawn, which wins among
// equals, so that the order of the list favours nobody.
func (p *leastInFlightPicker) scan(c *Call, drawn int) int {
	best, least := drawn, p.load(drawn)
	i := drawn
	for range len(p.pool.stats) - 1 {
		if i++; i == len(p.pool.stats) {
			i = 0
		}
		if load := p.load(i); load < least && !c.Tried.Has(p.pool.stats[i]) {
			best, least = i, load
		}
	}
	return best
}

func (p *leastInFlightPicker) load(i int) float64 {
	return float64(p.pool.stats[i].inFlight.Load()) * p.pool.weigh(i)
}
