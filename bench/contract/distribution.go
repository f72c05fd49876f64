package contract

import (
	"cmp"
	"fmt"
	"slices"
)

// Distribution is a set of latencies: exact count, sum, least and greatest, and
// a histogram that is right to three digits. All in nanoseconds. The zero value
// is empty.
type Distribution struct {
	Count int64 `json:"count"`
	Sum   int64 `json:"sum_ns"`
	Min   int64 `json:"min_ns"`
	Max   int64 `json:"max_ns"`

	// Histogram has a pair of value and count for each value that occurred, in
	// rising order.
	Histogram [][2]int64 `json:"histogram_ns"`
}

// Merge is the distribution of both.
func (d Distribution) Merge(o Distribution) Distribution {
	switch {
	case d.Count == 0:
		return o
	case o.Count == 0:
		return d
	}
	all := slices.Concat(d.Histogram, o.Histogram)
	slices.SortFunc(all, func(a, b [2]int64) int { return cmp.Compare(a[0], b[0]) })
	merged := all[:0]
	for _, pair := range all {
		if last := len(merged) - 1; last >= 0 && merged[last][0] == pair[0] {
			merged[last][1] += pair[1]
		} else {
			merged = append(merged, pair)
		}
	}
	return Distribution{
		Count: d.Count + o.Count, Sum: d.Sum + o.Sum,
		Min: min(d.Min, o.Min), Max: max(d.Max, o.Max), Histogram: merged,
	}
}

// Mean in nanoseconds; 0 without values.
func (d Distribution) Mean() float64 {
	if d.Count == 0 {
		return 0
	}
	return float64(d.Sum) / float64(d.Count)
}

// Quantile is the value that the given share of all values, from 0 to 1, do not
// exceed, in nanoseconds; 0 without values.
func (d Distribution) Quantile(share float64) int64 {
	if d.Count == 0 {
		return 0
	}
	// The rank of the value, counted from 1, rounded as HdrHistogram does.
	rank := max(int64(share*float64(d.Count)+0.5), 1)
	var seen int64
	for _, pair := range d.Histogram {
		if seen += pair[1]; seen >= rank {
			// A bucket is named by its upper end, which may lie above the maximum.
			return min(pair[0], d.Max)
		}
	}
	return d.Max
}

// Check reports what is wrong with a distribution that another program made, or nil.
func (d Distribution) Check() error {
	var counted, last int64
	for i, pair := range d.Histogram {
		if pair[1] <= 0 || i > 0 && pair[0] <= last {
			return fmt.Errorf("histogram_ns[%d] is %v: values must rise and counts be positive", i, pair)
		}
		last = pair[0]
		counted += pair[1]
	}
	if counted != d.Count {
		return fmt.Errorf("the histogram has %d values, count says %d", counted, d.Count)
	}
	if d.Count > 0 && (d.Min < 0 || d.Max < d.Min || d.Sum < d.Max) {
		return fmt.Errorf("min_ns %d, max_ns %d and sum_ns %d do not fit together", d.Min, d.Max, d.Sum)
	}
	return nil
}
