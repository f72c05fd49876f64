package balance

import "sync/atomic"

// turn counts the calls of a rotation. It begins at a random place, so that many
// clients that start together, or one that rebuilds often, do not all begin with
// the first server.
type turn struct {
	count  atomic.Uint64
	offset atomic.Uint64
}

func (t *turn) next(random uint64) uint64 {
	n := t.count.Add(1)
	if n == 1 {
		t.offset.Store(random >> 1)
	}
	return n + t.offset.Load()
}

// RoundRobin picks the servers one after the other, whatever their weights.
func RoundRobin() Balancer { return roundRobin{} }

type roundRobin struct{}

func (roundRobin) Build(set []Node) Picker {
	return inTiers(set, func(set []Node) Picker { return &roundRobinPicker{pool: newPool(set)} })
}

type roundRobinPicker struct {
	pool pool
	turn turn
}

func (p *roundRobinPicker) Pick(c Call) int {
	i := int(p.turn.next(c.Random) % uint64(len(p.pool.stats)))
	return p.pool.after(&c, i)
}

// WeightedRoundRobin gives each server its share in an order as even as
// possible: weights 5, 1, 1 give A A B A C A A, never five A in a row. It is the
// smooth weighted round robin of Nginx (ngx_http_upstream_round_robin.c, 2012),
// computed once as a schedule, so that a pick is one atomic addition. To compute it takes
// as many steps as it has turns, times the number of different shares.
//
// Weights are first divided by their greatest common divisor. If they still add
// up to more than 4096, or four times the number of servers, they are scaled
// down to that and rounded; a server always keeps at least one turn.
func WeightedRoundRobin() Balancer { return weightedRoundRobin{} }

type weightedRoundRobin struct{}

func (weightedRoundRobin) Build(set []Node) Picker {
	return inTiers(set, func(set []Node) Picker {
		return &weightedRoundRobinPicker{pool: newPool(set), schedule: smooth(turns(set))}
	})
}

type weightedRoundRobinPicker struct {
	pool     pool
	turn     turn
	schedule []int32
}

func (p *weightedRoundRobinPicker) Pick(c Call) int {
	k := int(p.turn.next(c.Random) % uint64(len(p.schedule)))
	i := int(p.schedule[k])
	for range c.Tried.Len() * 4 {
		if !c.Tried.Has(p.pool.stats[i]) {
			return i
		}
		if k++; k == len(p.schedule) {
			k = 0
		}
		i = int(p.schedule[k])
	}
	return p.pool.after(&c, i)
}

// turns is how often each server comes in one round.
func turns(set []Node) []int {
	divisor, total := 0, 0.0
	for _, n := range set {
		divisor = gcd(n.Weight, divisor)
		total += float64(n.Weight)
	}
	total /= float64(divisor)
	scale := min(float64(max(4096, 4*len(set)))/total, 1) / float64(divisor)
	all := make([]int, len(set))
	for i, n := range set {
		all[i] = max(int(float64(n.Weight)*scale+0.5), 1)
	}
	return all
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// class is the servers that have the same number of turns. In the smooth order they
// come one after the other, again and again: they gain the same in each step, so of two
// the one that went less often has gained more, and the earlier one where they are even.
type class struct {
	turns  int
	set    []int32 // in the order of the list
	next   int     // the index of the one that has gained most
	gained int     // by that one
}

// classes sorts servers by their turns.
func classes(turns []int) []class {
	index := make(map[int]int)
	var all []class
	for i, t := range turns {
		k, ok := index[t]
		if !ok {
			k = len(all)
			index[t] = k
			all = append(all, class{turns: t})
		}
		all[k].set = append(all[k].set, int32(i))
	}
	return all
}

// smooth orders the turns: in each step every server gains its turns, and the
// one that has gained most goes and pays the sum. A step looks at one server of each
// class. As classes differ in their turns, n turns have fewer than the root of 2n classes.
func smooth(turns []int) []int32 {
	total := 0
	for _, t := range turns {
		total += t
	}
	all := classes(turns)
	schedule := make([]int32, total)
	for k := range schedule {
		var best *class
		for i := range all {
			c := &all[i]
			c.gained += c.turns
			if best == nil || c.gained > best.gained || c.gained == best.gained && c.set[c.next] < best.set[best.next] {
				best = c
			}
		}
		schedule[k] = best.set[best.next]
		if best.next++; best.next == len(best.set) {
			best.next = 0
			best.gained -= total
		}
	}
	return schedule
}
