package balance

import "math/bits"

// All clients have to place keys and servers alike, so the hashes are fixed and
// simple: FNV-1a of 64 bits over the bytes of a string (RFC 9923), and the
// output function of SplitMix64 (Steele, Lea, Flood: Fast Splittable
// Pseudorandom Number Generators, OOPSLA 2014) to spread its bits.

// hash places a key or the ID of a server.
func hash(s string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	return mix(h)
}

func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// next is the random number or hash after x.
func next(x uint64) uint64 { return mix(x + 0x9e3779b97f4a7c15) }

// aside is a random number that is independent of x, next(x) and so on: for a wrapper
// whose inner balancer uses those.
func aside(x uint64) uint64 { return mix(^x) }

// below maps x evenly to [0, n) without a division (Lemire 2019). rest holds the random
// bits that this has not used.
func below(x uint64, n int) (i int, rest uint64) {
	hi, lo := bits.Mul64(x, uint64(n))
	return int(hi), lo
}

// unit maps random bits to [0, 1).
func unit(random uint64) float64 { return float64(random>>11) / (1 << 53) }

// keyOf is the hash of a call's key, or random bits when it has none.
func keyOf(c *Call) uint64 {
	if c.Key == "" {
		return c.Random
	}
	return hash(c.Key)
}
