package balance

import (
	"cmp"
	"slices"
)

// rounds is how many servers Jump offers a key before it draws one by weight alone.
const rounds = 64

// Jump picks by jump consistent hash of the call's key (Lamping, Veach: A Fast,
// Minimal Memory, Consistent Hash Algorithm, 2014). Shares are exact and nothing
// is stored but the list.
//
// Jump numbers the servers in the order of their IDs. So it fits servers that are
// numbered and are added and removed at the end, such as shard-000 to shard-031: when the
// last of n leaves, 1/n of the keys move, but any other changes the numbers of all behind
// it, and so the places of their keys. A server that is to be avoided or has weight 0
// keeps its number, and only its own keys move. Use [Ring] or [Maglev] for servers that
// come and go in any order.
//
// A server takes the part of its keys that its weight is of the greatest weight; the
// others are hashed again. So a change of a weight below the greatest moves keys of that
// server only.
func Jump() Balancer { return jump{} }

type jump struct{}

func (jump) Build(set []Node) Picker {
	set = slices.Clone(set)
	p := &jumpPicker{order: make([]int, len(set)), stats: make([]*Stats, len(set)), takes: make([]uint64, len(set))}
	for i := range set {
		p.order[i] = i
		if set[i].Stats == nil {
			set[i].Stats = new(Stats)
		}
	}
	slices.SortFunc(p.order, func(a, b int) int { return cmp.Compare(set[a].ID, set[b].ID) })
	heaviest := 0
	for k, i := range p.order {
		p.stats[k] = set[i].Stats
		if rank(set[i]) == 0 {
			heaviest = max(heaviest, set[i].Weight)
		}
	}
	for k, i := range p.order {
		if rank(set[i]) == 0 {
			p.takes[k] = uint64(float64(set[i].Weight) / float64(heaviest) * (1 << 53))
		}
	}
	p.rest = inTiers(set, func(set []Node) Picker { return &randomPicker{newPool(set)} })
	if heaviest == 0 {
		return p.rest
	}
	return p
}

// jumpPicker has the servers in the order of their IDs.
type jumpPicker struct {
	order []int // place in the list
	stats []*Stats
	takes []uint64 // the part of its keys that the server takes, of 1<<53
	rest  Picker   // for when the hash finds none
}

func (p *jumpPicker) Pick(c Call) int {
	key := keyOf(&c)
	for range rounds {
		k := jumpTo(key, len(p.order))
		again := next(key)
		if again>>11 < p.takes[k] && !c.Tried.Has(p.stats[k]) {
			return p.order[k]
		}
		key = again // as if the key were another one
	}
	c.Random = key // the same for every client
	return p.rest.Pick(c)
}

// jumpTo is the function of the paper, figure 1. A signed integer becomes a float
// in one instruction, an unsigned one does not.
func jumpTo(key uint64, n int) int {
	b, j := int64(-1), int64(0)
	for j < int64(n) {
		b = j
		key = key*2862933555777941757 + 1
		j = int64(float64(b+1) * (float64(1<<31) / float64(int64(key>>33)+1)))
	}
	return int(b)
}
