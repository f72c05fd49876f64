package load

import (
	"math"
	"testing"
	"time"

	"github.com/weftrpc/weft"
)

// TestBuckets holds the buckets to their bounds: each duration is in one whose end is at most 3 % above it.
func TestBuckets(t *testing.T) {
	for d := time.Duration(1); d < 100*time.Hour; d += d/7 + 1 {
		b := bucketOf(d)
		if u := upper(b); u < d || float64(u-d) > 0.032*float64(d) {
			t.Errorf("%v is in a bucket that ends at %v", d, u)
		}
	}
	if b := bucketOf(math.MaxInt64); b >= buckets {
		t.Errorf("the longest duration is in bucket %d of %d", b, buckets)
	}
}

// TestSummary counts calls that take 1 to 1000 ms from when they were due, one of them failed, and one of
// the warm-up.
func TestSummary(t *testing.T) {
	r := newResult("Arith.Mul", &options{rate: 100, duration: 10 * time.Second})
	r.begin(time.Second)
	from := r.from
	r.add(from.Add(-time.Millisecond), from, from.Add(time.Hour), nil)
	for n := 1; n <= 1000; n++ {
		due := from.Add(time.Duration(n) * 9 * time.Millisecond)
		var err error
		if n == 1000 {
			err = weft.Unavailable
		}
		r.add(due, due.Add(time.Duration(n)*time.Microsecond), due.Add(time.Duration(n)*time.Millisecond), err)
	}
	s := r.summary()
	if s.Calls != 1000 || s.Failed != 1 || s.Codes["Unavailable"] != 1 || s.Longest != 1 || s.Lateness != 0.001 || s.Rate != 100 {
		t.Errorf("the summary is %+v", s)
	}
	for _, q := range []struct{ got, want float64 }{{s.P50, 0.5}, {s.P90, 0.9}, {s.P99, 0.99}, {s.Mean, 0.5005}} {
		if q.got < q.want-1e-9 || q.got > 1.032*q.want {
			t.Errorf("a quantile is %g, want %g or at most 3 %% more", q.got, q.want)
		}
	}
}
