package balance

import "sync/atomic"

const (
	// explore: one pick in so many may go to a server that is not the fastest, to
	// measure it anew.
	explore = 32
	// better is the part of the first server's cost below which a challenger takes its
	// place: with 1, two equal servers would change places all the time.
	better = 0.9
)

// Fastest picks the server with the lowest measured latency, and the next one as
// calls queue up there. Weights do not count.
//
// Each pick compares the fastest known server with one random challenger, so a
// pick costs the same for any number of servers, and the fastest of n is found
// after about n picks. Up to one call in 32 goes to a challenger with no call in
// flight: so a server that has recovered is found, and one that hangs holds a single
// call.
func Fastest() Balancer { return fastest{} }

type fastest struct{}

func (fastest) Build(set []Node) Picker {
	return inTiers(set, func(set []Node) Picker {
		for i := range set {
			set[i].Weight = 1
		}
		p := &fastestPicker{pool: newPool(set)}
		for i, s := range p.pool.stats {
			if a, b := s.average(), p.pool.stats[p.first.Load()].average(); a > 0 && (b == 0 || a < b) {
				p.first.Store(int32(i))
			}
		}
		return p
	})
}

type fastestPicker struct {
	pool  pool
	first atomic.Int32
}

func (p *fastestPicker) Pick(c Call) int {
	challenger := p.pool.untried(&c, c.Random)
	if challenger < 0 {
		return -1
	}
	first := p.first.Load()
	s, best := p.pool.stats[challenger], p.pool.stats[first]
	if c.Tried.Has(best) {
		return p.second(&c, challenger)
	}
	if next(c.Random)%explore == 0 && s.inFlight.Load() == 0 {
		return challenger
	}
	if s.steadyCost(c.Now) < better*best.steadyCost(c.Now) {
		p.first.CompareAndSwap(first, int32(challenger))
		return challenger
	}
	return int(first)
}

// second picks when the fastest was tried: the better of two.
func (p *fastestPicker) second(c *Call, i int) int {
	k := p.pool.another(c, i, next(c.Random))
	if k >= 0 && p.pool.stats[k].steadyCost(c.Now) < p.pool.stats[i].steadyCost(c.Now) {
		return k
	}
	return i
}
