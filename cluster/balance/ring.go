package balance

import (
	"cmp"
	"math/bits"
	"slices"
)

// points is how many places on the ring the server with the greatest weight has.
// 256 keep the shares within about 6 % (one standard deviation).
const points = 256

// Ring picks by consistent hashing of the call's key (Karger and others:
// Consistent Hashing and Random Trees, STOC 1997). Each server has up to 256
// points on a ring of 64-bit hashes, in proportion to its weight; a call goes to
// the server whose point follows its key's, or, when that one was tried, to the
// next other server on the ring.
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
	k := int(p.start[key>>p.shift])
	for k < len(p.points) && p.points[k].hash < key {
		k++
	}
	i := 0
	for range 1 + c.Tried.Len()*points {
		if k == len(p.points) {
			k = 0
		}
		i = int(p.points[k].node)
		if !c.Tried.Has(p.pool.stats[i]) {
			return i
		}
		k++
	}
	return p.pool.after(&c, i)
}
