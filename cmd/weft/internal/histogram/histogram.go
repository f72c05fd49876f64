// Package histogram counts durations in buckets whose widths grow with the durations, as HDR histograms do.
package histogram

import (
	"math"
	"math/bits"
	"time"
)

// There are perPower buckets for each power of two, so that a quantile is at most 1.6 % too high.
const (
	bitsKept = 6
	perPower = 1 << bitsKept
	buckets  = 64 * perPower
)

// Histogram counts durations. The zero value is empty. It is for one goroutine at a time.
type Histogram struct {
	counts  [buckets]uint64
	count   uint64
	sum     time.Duration
	longest time.Duration
}

func bucketOf(d time.Duration) int {
	n := uint64(max(d, 0))
	if n < perPower {
		return int(n)
	}
	power := bits.Len64(n) - bitsKept - 1 // so that bitsKept+1 bits are left
	return power*perPower + int(n>>power)
}

// upper is the upper end of a bucket.
func upper(b int) time.Duration {
	if b < 2*perPower {
		return time.Duration(b)
	}
	power := b/perPower - 1
	return time.Duration((uint64(b-power*perPower)+1)<<power - 1)
}

// Add counts a duration.
func (h *Histogram) Add(d time.Duration) {
	h.counts[bucketOf(d)]++
	h.count++
	h.sum += d
	h.longest = max(h.longest, d)
}

// Count is how many durations were counted.
func (h *Histogram) Count() uint64 { return h.count }

// Longest is the longest of them.
func (h *Histogram) Longest() time.Duration { return h.longest }

// Mean is their mean; 0 if there are none.
func (h *Histogram) Mean() time.Duration {
	if h.count == 0 {
		return 0
	}
	return h.sum / time.Duration(h.count)
}

// Quantile is the duration that a share of them does not exceed; 0 if there are none.
func (h *Histogram) Quantile(q float64) time.Duration {
	rank := max(uint64(math.Ceil(q*float64(h.count))), 1)
	for b, n := range h.counts {
		if n >= rank {
			return min(upper(b), h.longest)
		}
		rank -= n
	}
	return 0
}

// Point is a point of a distribution.
type Point struct {
	Quantile float64 // from 0 to 1
	Value    time.Duration
	Count    uint64 // how many durations are at most Value
}

// perHalf is how many points a distribution has while its distance to 1 halves.
const perHalf = 5

// Distribution are the quantiles of an HDR histogram: the nearer to 1, the denser. The last one is 1.
func (h *Histogram) Distribution() []Point {
	if h.count == 0 {
		return nil
	}
	var all []Point
	for half := 0; ; half++ {
		distance := math.Pow(0.5, float64(half))
		for step := range perHalf {
			q := 1 - distance*(1-float64(step)/(2*perHalf))
			if (1-q)*float64(h.count) < 1 {
				return append(all, Point{1, h.longest, h.count})
			}
			v := h.Quantile(q)
			if n := len(all); n > 0 && all[n-1].Value == v {
				all[n-1].Quantile = q
				continue
			}
			all = append(all, Point{q, v, h.upTo(v)})
		}
	}
}

// upTo is how many durations are in the buckets up to that of v.
func (h *Histogram) upTo(v time.Duration) uint64 {
	var n uint64
	for _, count := range h.counts[:bucketOf(v)+1] {
		n += count
	}
	return n
}
