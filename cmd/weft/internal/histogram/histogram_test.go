package histogram

import (
	"math"
	"testing"
	"time"
)

// TestBuckets holds the buckets to their bounds: each duration is in one whose end is at most 1.6 % above it.
func TestBuckets(t *testing.T) {
	for d := time.Duration(1); d < 100*time.Hour; d += d/7 + 1 {
		b := bucketOf(d)
		if u := upper(b); u < d || float64(u-d) > 0.016*float64(d) {
			t.Errorf("%v is in a bucket that ends at %v", d, u)
		}
	}
	if b := bucketOf(math.MaxInt64); b >= buckets {
		t.Errorf("the longest duration is in bucket %d of %d", b, buckets)
	}
}

// TestQuantiles counts 1 to 1000 ms.
func TestQuantiles(t *testing.T) {
	var h Histogram
	if h.Quantile(0.5) != 0 || h.Mean() != 0 || h.Distribution() != nil {
		t.Error("an empty histogram has durations")
	}
	for n := 1; n <= 1000; n++ {
		h.Add(time.Duration(n) * time.Millisecond)
	}
	for q, want := range map[float64]float64{0: 1, 0.5: 500, 0.9: 900, 0.99: 990, 1: 1000} {
		if got := float64(h.Quantile(q)) / 1e6; got < want || got > 1.016*want {
			t.Errorf("the quantile %v is %v ms, want %v", q, got, want)
		}
	}
	if h.Count() != 1000 || h.Longest() != time.Second || h.Mean() != 500500*time.Microsecond {
		t.Errorf("%d, longest %v, mean %v", h.Count(), h.Longest(), h.Mean())
	}
	all := h.Distribution()
	last := all[len(all)-1]
	if last != (Point{1, time.Second, 1000}) || len(all) < 20 || len(all) > 60 {
		t.Errorf("the distribution is %v", all)
	}
	for n := 1; n < len(all); n++ {
		if all[n].Quantile <= all[n-1].Quantile || all[n].Value < all[n-1].Value || all[n].Count < all[n-1].Count {
			t.Errorf("the points %v and %v have no order", all[n-1], all[n])
		}
	}
}
