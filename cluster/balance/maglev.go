package balance

import (
	"cmp"
	"slices"
)

// Sizes of the table, both prime: the small one for up to 655 servers, so that
// each has at least a hundred places.
const (
	maglevSmall = 65537
	maglevLarge = 655373
)

// Maglev picks by the hash of the call's key from a table that the servers
// fill in turn (Eisenbud and others: Maglev, NSDI 2016, section 3.4). Shares are
// within about 1 % of the weights, and a pick is one access to the table. When one of n
// servers leaves, its keys move, and a few of the others'.
//
// Equal keys get the same server from every client, as with [Ring].
func Maglev() Balancer { return maglev{} }

type maglev struct{}

func (maglev) Build(set []Node) Picker {
	return inTiers(set, func(set []Node) Picker {
		size := maglevSmall
		if len(set) > maglevSmall/100 {
			size = maglevLarge
		}
		return &maglevPicker{newPool(set), maglevTable(set, size)}
	})
}

// maglevTable lets each server take the next free place of its own permutation,
// in rounds; one with half the greatest weight takes part in every other round.
func maglevTable(set []Node, size int) []int32 {
	order := make([]int, len(set)) // the same for every client
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(set[a].ID, set[b].ID) })
	place, skip := make([]int, len(set)), make([]int, len(set))
	heaviest := 0
	for i, n := range set {
		h := hash(n.ID)
		place[i] = int(h % uint64(size))
		skip[i] = int(next(h)%uint64(size-1)) + 1
		heaviest = max(heaviest, n.Weight)
	}
	table := make([]int32, size)
	for i := range table {
		table[i] = -1
	}
	due := make([]float64, len(set))
	for filled := 0; filled < size; {
		for _, i := range order {
			if due[i] += float64(set[i].Weight) / float64(heaviest); due[i] < 1 {
				continue
			}
			due[i]--
			for table[place[i]] >= 0 {
				if place[i] += skip[i]; place[i] >= size {
					place[i] -= size
				}
			}
			table[place[i]] = int32(i)
			if filled++; filled == size {
				break
			}
		}
	}
	return table
}

type maglevPicker struct {
	pool  pool
	table []int32
}

func (p *maglevPicker) Pick(c Call) int {
	key := keyOf(&c)
	i := 0
	for range 1 + c.Tried.Len()*4 {
		k, _ := below(key, len(p.table))
		i = int(p.table[k])
		if !c.Tried.Has(p.pool.stats[i]) {
			return i
		}
		key = next(key) // as if the key were another one
	}
	return p.pool.after(&c, i)
}
