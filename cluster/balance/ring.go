package balance

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
)

const (
	// points is how many places on the ring the server with the greatest weight has.
	points = 512
	// probes is how many places of the ring a key has. By 512 points alone the arcs
	// differ so much that the share of a server would be 4 % too large or too small
	// (one standard deviation); with 8 probes that is 1 %.
	probes = 8
)

// Ring picks by consistent hashing of the call's key (Karger and others:
// Consistent Hashing and Random Trees, STOC 1997). Each server has up to 512
// points on a ring of 64-bit hashes, in proportion to its weight. A key has eight
// places on it; the call goes to the server whose point follows one of them most
// closely (Appleton, O'Reilly: Multi-Probe Consistent Hashing, 2015), servers that were
// tried left out.
//
// Equal keys get the same server from every client, whatever the order of the
// lists, as long as they know the same servers by the same [Node].ID. When one
// of n servers leaves, only its own keys move, to all the others; when it comes
// back, the same keys return. That holds while the greatest weight stays the same:
// if it was that of the server that left alone, more keys move.
func Ring() Balancer { return ring{} }

type ring struct{}

func (ring) Build(set []Node) Picker {
	return inTiers(set, func(set []Node) Picker { return newRing(set) })
}

type point struct {
	hash uint64
	node int32
}

type ringPicker struct {
	pool   pool
	points []point
	shift  int     // hash >> shift is the bucket of a hash
	start  []int32 // of each bucket, the first point in or after it
}

func newRing(set []Node) Picker {
	p := &ringPicker{pool: newPool(set)}
	heaviest := slices.MaxFunc(set, func(a, b Node) int { return cmp.Compare(a.Weight, b.Weight) }).Weight
	for i, n := range set {
		h := hash(n.ID)
		for range max(int(points*float64(n.Weight)/float64(heaviest)+0.5), 1) {
			h = next(h)
			p.points = append(p.points, point{h, int32(i)})
		}
	}
	slices.SortFunc(p.points, func(a, b point) int {
		// Two equal hashes are all but impossible; still every client agrees.
		return cmp.Or(cmp.Compare(a.hash, b.hash), cmp.Compare(set[a.node].ID, set[b.node].ID))
	})
	// About one point in a bucket: a lookup is one step where a binary search
	// of 256,000 points takes eighteen.
	size := bits.Len(uint(len(p.points)))
	p.shift = 64 - size
	p.start = make([]int32, 1<<size)
	k := 0
	for b := range p.start {
		for k < len(p.points) && p.points[k].hash>>p.shift < uint64(b) {
			k++
		}
		p.start[b] = int32(k)
	}
	return p
}

func (p *ringPicker) Pick(c Call) int {
	key := keyOf(&c)
	best, nearest := -1, uint64(math.MaxUint64)
	for range probes {
		if i, distance := p.follow(&c, key); i >= 0 && distance <= nearest {
			best, nearest = i, distance
		}
		key = next(key)
	}
	if best < 0 {
		return p.pool.after(&c, 0) // its points are far behind those of the servers tried
	}
	return best
}

// follow returns the server of the first point at or after a place, and how far away
// that is. Those that were tried are passed by, as if they had left; it is -1 when there
// are only such for a long way.
func (p *ringPicker) follow(c *Call, place uint64) (i int, distance uint64) {
	k := int(p.start[place>>p.shift])
	for k < len(p.points) && p.points[k].hash < place {
		k++
	}
	for range 1 + c.Tried.Len()*points {
		if k == len(p.points) {
			k = 0
		}
		if i := int(p.points[k].node); !c.Tried.Has(p.pool.stats[i]) {
			return i, p.points[k].hash - place // also beyond the end
		}
		k++
	}
	return -1, 0
}
