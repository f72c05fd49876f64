package balance

import (
	"math"
	"slices"
)

// pool is a list of servers to draw from in proportion to their weights.
//
// It draws in constant time by the alias method (Walker 1977, in the form of
// Vose 1991): as many columns as servers, each shared by at most two of them.
type pool struct {
	stats []*Stats

	// All nil when every weight is the same.
	keep   []uint64  // the part of a column that its own server has, of 1<<64
	alias  []int32   // the server that has the rest
	weight []float64 // of each server
	mean   float64   // of the weights
}

func newPool(set []Node) pool {
	p := pool{stats: make([]*Stats, len(set))}
	total, equal := 0.0, true
	for i, n := range set {
		p.stats[i] = n.Stats
		if n.Stats == nil {
			p.stats[i] = new(Stats)
		}
		total += float64(n.Weight)
		equal = equal && n.Weight == set[0].Weight
	}
	if equal {
		return p
	}
	mean := total / float64(len(set))
	p.mean, p.weight = mean, make([]float64, len(set))
	share := make([]float64, len(set))
	for i, n := range set {
		p.weight[i] = float64(n.Weight)
		share[i] = float64(n.Weight) / mean
	}
	p.keep, p.alias = aliasTable(share)
	return p
}

// aliasTable makes the columns for shares whose mean is 1.
func aliasTable(share []float64) (keep []uint64, alias []int32) {
	share = slices.Clone(share)
	keep, alias = make([]uint64, len(share)), make([]int32, len(share))
	var small, large []int32
	for i, s := range share {
		keep[i], alias[i] = ^uint64(0), int32(i)
		if s < 1 {
			small = append(small, int32(i))
		} else {
			large = append(large, int32(i))
		}
	}
	for len(small) > 0 && len(large) > 0 {
		s, l := small[len(small)-1], large[len(large)-1]
		small = small[:len(small)-1]
		keep[s], alias[s] = uint64(share[s]*(1<<63))<<1, l
		share[l] -= 1 - share[s]
		if share[l] < 1 {
			large = large[:len(large)-1]
			small = append(small, l)
		}
	}
	return keep, alias
}

// draw returns a server at random. The pool is not empty.
func (p *pool) draw(random uint64) int {
	i, rest := below(random, len(p.stats))
	if p.keep != nil && rest >= p.keep[i] {
		return int(p.alias[i])
	}
	return i
}

// untried draws a server that the call has not tried, -1 if none is left.
func (p *pool) untried(c *Call, random uint64) int {
	if len(p.stats) == 0 {
		return -1
	}
	i := p.draw(random)
	if c.Tried.n == 0 {
		return i
	}
	for range 4 {
		if !c.Tried.Has(p.stats[i]) {
			return i
		}
		random = next(random)
		i = p.draw(random)
	}
	return p.after(c, i)
}

// another draws an untried server other than first, -1 if there is none.
func (p *pool) another(c *Call, first int, random uint64) int {
	for range 3 {
		if i := p.draw(random); i != first && !c.Tried.Has(p.stats[i]) {
			return i
		}
		random = next(random)
	}
	i := first
	for range len(p.stats) - 1 {
		if i++; i == len(p.stats) {
			i = 0
		}
		if !c.Tried.Has(p.stats[i]) {
			return i
		}
	}
	return -1
}

// after returns the first untried server from i on, around the end, -1 if every
// one was tried. Few are ever tried, so it ends after a few steps.
func (p *pool) after(c *Call, i int) int {
	for range p.stats {
		if !c.Tried.Has(p.stats[i]) {
			return i
		}
		if i++; i == len(p.stats) {
			i = 0
		}
	}
	return -1
}

// queue is the length of the queue that a call would join at server i, in units of a
// weight, which is at most that of the server.
//
// A server of three units counts as three equal ones, over which its calls are spread
// evenly, and one of the three is drawn: of 4 calls it has two in one case of three, and
// one otherwise. So every unit of weight has the same chances, and servers get the shares
// of their weights however few calls are in flight.
func (p *pool) queue(i int, of float64, random uint64) float64 {
	n := p.stats[i].inFlight.Load()
	switch {
	case n <= 0:
		return 0
	case p.weight == nil || p.weight[i] == of:
		return float64(n)
	}
	return math.Floor(float64(n)*of/p.weight[i] + unit(random))
}

// queues are the queues of two servers in units of the lesser weight of both.
func (p *pool) queues(a, b int, random uint64) (qa, qb float64) {
	of := 1.0
	if p.weight != nil {
		of = min(p.weight[a], p.weight[b])
	}
	return p.queue(a, of, random), p.queue(b, of, random)
}

// crowding is what one call in flight weighs on server i: 1 on one of mean weight.
func (p *pool) crowding(i int) float64 {
	if p.weight == nil {
		return 1
	}
	return p.mean / p.weight[i]
}
