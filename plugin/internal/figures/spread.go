package figures

import (
	"maps"
	"slices"
	"time"

	"github.com/weftrpc/weft"
)

// spread is what was published of the calls of one method that ended with one code. A server
// measures one in sixteen of its short calls; the calls that it did not measure are spread
// over the buckets as the measured ones of the same time are. Every bucket only grows, and
// their sum is the number of calls.
type spread struct {
	calls    uint64
	measured map[time.Duration]uint64 // by the upper end of the bucket, when it was last read
	sum      time.Duration            // the same
	shown    map[time.Duration]uint64
	shownSum float64 // seconds
}

func newSpread() *spread {
	return &spread{measured: make(map[time.Duration]uint64), shown: make(map[time.Duration]uint64)}
}

// read takes the figures of now.
func (s *spread) read(calls uint64, l weft.Latency) {
	if calls <= s.calls {
		return // what was measured counts with the next calls
	}
	added := calls - s.calls
	weights := make(map[time.Duration]uint64)
	var total uint64
	for upper, n := range l.Buckets {
		if before := s.measured[upper]; n > before {
			weights[upper] = n - before
			total += n - before
			s.measured[upper] = n
		}
	}
	sum := l.Sum - s.sum
	s.sum = l.Sum
	switch {
	case total > 0:
		s.shownSum += sum.Seconds() * float64(added) / float64(total)
	case s.calls > 0: // none was measured: as those before
		weights, total = s.shown, s.calls
		s.shownSum += s.shownSum * float64(added) / float64(s.calls)
	default:
		return
	}
	s.add(weights, total, added)
	s.calls = calls
}

// add spreads calls over buckets by weight.
func (s *spread) add(weights map[time.Duration]uint64, total, added uint64) {
	var seen, given uint64
	for _, upper := range slices.Sorted(maps.Keys(weights)) {
		seen += weights[upper]
		until := uint64(float64(added) * (float64(seen) / float64(total)))
		if seen == total {
			until = added
		}
		until = min(max(until, given), added)
		s.shown[upper] += until - given
		given = until
	}
}

// distribution is what is published.
func (s *spread) distribution() *Distribution {
	d := &Distribution{Count: s.calls, Sum: s.shownSum}
	for _, upper := range slices.Sorted(maps.Keys(s.shown)) {
		if n := s.shown[upper]; n > 0 {
			d.Buckets = append(d.Buckets, Bucket{Lower: lower(upper).Seconds(), Upper: upper.Seconds(), Count: n})
		}
	}
	return d
}

// lower is the beginning of a bucket of weft's histograms, which cut every power of two of
// microseconds into four equal parts.
func lower(upper time.Duration) time.Duration {
	us := int64(upper / time.Microsecond)
	width := int64(1)
	for width*8 < us {
		width *= 2
	}
	return time.Duration(us-width) * time.Microsecond
}
