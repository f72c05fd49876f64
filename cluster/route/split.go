package route

import (
	"math"
	"math/bits"
)

// side is a compiled Side.
type side struct {
	upTo    uint64 // the places of a split below this and not below that of the side before
	percent float64
	match   matcher
}

// places is how many places a split has: hundredths of a percent.
const places = 10000

// hundredths is a percentage as a number of places.
func hundredths(percent float64) int { return int(math.Round(percent * places / 100)) }

// sideAt returns the side that a place belongs to. The last sides of a split may
// be empty, the places never reach beyond the others.
func (rt *route) sideAt(place uint64) int {
	for i := range rt.sides {
		if place < rt.sides[i].upTo {
			return i
		}
	}
	return len(rt.sides) - 1
}

// placeOf is where in a split a key belongs, or a random number when there is no
// key. The name of the route goes into both: two routes with 10 % each do not
// always meet the same users, and what a balancer does afterwards with the same
// key or bits does not depend on the side.
//
// Every client has to agree on it, so it is fixed: FNV-1a of 64 bits over the name
// and the key (RFC 9923), then the output function of SplitMix64 (Steele, Lea,
// Flood: Fast Splittable Pseudorandom Number Generators, OOPSLA 2014), and the
// high part of the product with the number of places (Lemire 2019).
func (rt *route) placeOf(key string, random uint64) uint64 {
	x := rt.seed ^ random
	if key != "" {
		x = hashOf(rt.seed, key)
	}
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	hi, _ := bits.Mul64(x^x>>31, places)
	return hi
}

// fnvOffset is what FNV-1a of 64 bits begins with.
const fnvOffset = 14695981039346656037

// hashOf goes on with FNV-1a from a hash.
func hashOf(h uint64, s string) uint64 {
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	return h
}
