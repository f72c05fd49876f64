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
	all := make([]point, 0, points*len(set))
	for i, n := range set {
		h := hash(n.ID)
		for range max(int(points*float64(n.Weight)/float64(heaviest)+0.5), 1) {
			h = next(h)
			all = append(all, point{h, int32(i)})
		}
	}
	p.sort(all, set)
	return p
}

// sort puts the points into their order by way of the buckets. There is about one in a
// bucket, so a lookup is one step where a binary search of 512,000 points takes nineteen.
func (p *ringPicker) sort(all []point, set []Node) {
	size := bits.Len(uint(len(all)))
	p.shift = 64 - size
	p.start = make([]int32, 1<<size+1)
	for _, q := range all {
		p.start[q.hash>>p.shift+1]++
	}
	for b := range p.start[1:] {
		p.start[b+1] += p.start[b]
	}
	p.points = make([]point, len(all))
	filled := slices.Clone(p.start)
	for _, q := range all {
		b := q.hash >> p.shift
		p.points[filled[b]] = q
		filled[b]++
	}
	for b := range p.start[1:] {
		if bucket := p.points[p.start[b]:p.start[b+1]]; len(bucket) > 1 {
			slices.SortFunc(bucket, func(a, b point) int {
				// Two equal hashes are all but impossible; still every client agrees.
				return cmp.Or(cmp.Compare(a.hash, b.hash), cmp.Compare(set[a.node].ID, set[b.node].ID))
			})
		}
	}
}

func (p *ringPicker) Pick(c Call) int {
	if c.Tried.n >= len(p.pool.stats) && p.pool.after(&c, 0) < 0 {
		return -1 // at once, without a walk around the ring
	}
	key := keyOf(&c)
	best, nearest := -1, uint64(math.MaxUint64)
	for range probes {
		i, distance := p.follow(&c, key)
		if i < 0 {
			break
		}
		if distance <= nearest {
			best, nearest = i, distance
		}
		key = next(key)
	}
	if best < 0 {
		return p.pool.after(&c, 0)
	}
	return best
}

// follow returns the server of the first point at or after a place, and how far away
// that is. Those that were tried are passed by, as if they had left; it is -1 when they
// are all that there is for a long way.
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
