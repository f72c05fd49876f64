package balance

import (
	"cmp"
	"iter"
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

// before is the order of the points. Two equal hashes are all but impossible; still every client agrees.
func (a point) before(b point, set []Node) bool {
	return a.hash < b.hash || a.hash == b.hash && set[a.node].ID < set[b.node].ID
}

type ringPicker struct {
	pool   pool
	points []point
	shift  int     // hash >> shift is the bucket of a hash
	start  []int32 // of each bucket, the first point in or after it
}

// The ring is sorted in 1024 parts, each of which fits the caches of a processor where millions of points do not.
const (
	partBits  = 10
	partShift = 64 - partBits // hash >> partShift is the part of a hash
)

// newRing makes each point twice, to count and to place it: that takes less time than to keep all points in between.
func newRing(set []Node) Picker {
	var ends [1 << partBits]int // of the points of each part
	for h := range pointsOf(set) {
		ends[h>>partShift]++
	}
	total := 0
	for k, n := range ends {
		total += n
		ends[k] = total
	}
	starts := ends // of the points of each part, once they are placed from its last one on
	size := max(bits.Len(uint(total)), partBits)
	p := &ringPicker{pool: newPool(set), points: make([]point, total), shift: 64 - size, start: make([]int32, 1<<size+1)}
	for h, i := range pointsOf(set) {
		part := h >> partShift
		starts[part]--
		p.points[starts[part]] = point{h, i}
	}
	p.start[1<<size] = int32(total)
	var scratch []point
	for k := range ends {
		scratch = append(scratch[:0], p.points[starts[k]:ends[k]]...)
		p.sort(scratch, starts[k], p.start[k<<(size-partBits):(k+1)<<(size-partBits)], set)
	}
	return p
}

// pointsOf yields the hash and the server of each point.
func pointsOf(set []Node) iter.Seq2[uint64, int32] {
	heaviest := slices.MaxFunc(set, func(a, b Node) int { return cmp.Compare(a.Weight, b.Weight) }).Weight
	return func(yield func(uint64, int32) bool) {
		for i, n := range set {
			h := hash(n.ID)
			for range max(int(points*float64(n.Weight)/float64(heaviest)+0.5), 1) {
				if h = next(h); !yield(h, int32(i)) {
					return
				}
			}
		}
	}
}

// sort puts the points of a part into their order, from a place on, by way of its buckets. There is about one in a bucket,
// so a lookup is one step where a binary search of 512,000 points takes nineteen.
func (p *ringPicker) sort(part []point, from int, buckets []int32, set []Node) {
	within := uint64(len(buckets) - 1)
	for _, q := range part {
		buckets[q.hash>>p.shift&within]++
	}
	end := int32(from)
	for b, n := range buckets {
		end += n
		buckets[b] = end
	}
	for _, q := range part {
		start := &buckets[q.hash>>p.shift&within]
		*start--
		p.points[*start] = q
	}
	sorted := p.points[from:end]
	for k := range sorted {
		for ; k > 0 && sorted[k].before(sorted[k-1], set); k-- {
			sorted[k], sorted[k-1] = sorted[k-1], sorted[k]
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
