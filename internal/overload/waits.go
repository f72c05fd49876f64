package overload

import (
	"math"
	"math/bits"
	"sync/atomic"
)

const (
	// share of the time that a call has, within which a processor should be found for it,
	// and the bounds of that target, ns.
	targetShare = 40
	leastTarget = 5_000_000
	mostTarget  = 250_000_000

	// quantile of the waits which a window is judged by: one in so many. The least wait
	// alone would be misled: Go's scheduler runs the goroutine at once that a reader has
	// woken last.
	promptShare = 4

	// octaves of waits are told apart below and above the target, each in halves.
	octaves = 8
	scores  = 2*2*octaves + 1
)

// target is how long a call may wait that has so much time, ns.
func target(budget int64) int64 {
	return min(max(budget/targetShare, leastTarget), mostTarget)
}

// waits is a histogram of waits, in relation to their targets.
type waits [scores]atomic.Uint32

// score is the bucket of a wait: half octaves, those from middle on being above the target.
func score(wait, target int64) int {
	if wait <= 0 {
		return 0
	}
	const unit = octaves           // the ratio in units of 2^-octaves
	wait = min(wait, int64(1)<<50) // which is two weeks
	q := uint64(wait) << unit / uint64(target)
	if q == 0 {
		return 0
	}
	n := bits.Len64(q) - 1 // 0: the least octave that counts
	i := 2 * n
	if n > 0 && q>>(n-1)&1 == 1 { // the upper part of the octave
		i++
	}
	return min(i, scores-1)
}

// middle is the bucket of waits from the target on.
const middle = 2 * octaves

// ratio is the middle of a bucket as a multiple of the target.
func ratio(i int) float64 {
	return math.Exp2(float64(i-middle)/2 + 0.25)
}

func (w *waits) note(wait, budget int64) { w[score(wait, target(budget))].Add(1) }

// take empties the histogram and returns how many waits were in it and their quantile, as
// a multiple of the target.
func (w *waits) take() (n uint32, prompt float64) {
	var counts [scores]uint32
	for i := range w {
		if w[i].Load() != 0 {
			counts[i] = w[i].Swap(0)
			n += counts[i]
		}
	}
	seen := uint32(0)
	for i, c := range counts {
		if seen += c; seen > 0 && seen*promptShare >= n {
			return n, ratio(i)
		}
	}
	return 0, 0
}

// count is how many waits are in the histogram.
func (w *waits) count() (n uint32) {
	for i := range w {
		n += w[i].Load()
	}
	return n
}
