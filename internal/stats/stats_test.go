package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weftrpc/weft/internal/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

// Every duration falls into the bucket whose bounds enclose it.
func TestBuckets(t *testing.T) {
	if bucket(-1) != 0 || bucket(math.MinInt64) != 0 {
		t.Error("a negative duration is not in the first bucket")
	}
	if bucket(math.MaxInt64) != buckets-1 {
		t.Error("the longest duration is not in the last bucket")
	}
	last := -1
	for us := int64(0); us < upper(buckets-1); us += 1 + us/50 {
		i := bucket(us * 1000)
		if us < lower(i) || us >= upper(i) {
			t.Fatalf("%d µs is in bucket %d, from %d to %d", us, i, lower(i), upper(i))
		}
		if i < last {
			t.Fatalf("%d µs is in bucket %d, behind bucket %d", us, i, last)
		}
		if width := upper(i) - lower(i); width > 1 && width*subBuckets > lower(i) {
			t.Errorf("bucket %d from %d is %d wide, more than a quarter", i, lower(i), width)
		}
		last = i
	}
	for i := 1; i < buckets; i++ {
		if bucket(upper(i-1)*1000) != i || bucket(upper(i)*1000-1) != i {
			t.Errorf("the ends of bucket %d are not in it", i)
		}
	}
}

// A quantile is never below the true one, and above it by a quarter at most.
func TestQuantile(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{1, 2, 3, 10, 1000} {
		var m Method
		all := make([]time.Duration, n)
		for i := range all {
			all[i] = time.Duration(math.Exp(rnd.Float64()*18)) * time.Microsecond
			m.Ended(uint32(i), 0, int64(all[i]))
		}
		slices.Sort(all)
		s := m.Summary()
		for _, q := range []float64{0, 0.001, 0.25, 0.5, 0.9, 0.99, 0.999, 1} {
			rank := max(int(math.Ceil(q*float64(n))), 1)
			want := all[rank-1]
			if got := s.Quantile(q); got <= want || got > want+want/4+2*time.Microsecond {
				t.Errorf("quantile %v of %d calls is %v, want a little more than %v", q, n, got, want)
			}
		}
		// What is no share is taken for the nearest one.
		if s.Quantile(-1) != s.Quantile(0) || s.Quantile(2) != s.Quantile(1) || s.Quantile(math.NaN()) != s.Quantile(1) {
			t.Error("a share below 0 or above 1 has a quantile of its own")
		}
	}
	var none Method
	if got := none.Summary().Quantile(0.5); got != 0 {
		t.Errorf("the median of nothing is %v", got)
	}
}

func TestCodes(t *testing.T) {
	var all, some Method
	some.Sampled = true
	for code := range uint16(Codes + 3) {
		for where := range uint32(5) {
			all.Ended(where, code, 1000)
			some.Count(where, code)
		}
	}
	some.Time(7, 0, 1000)
	for name, m := range map[string]*Method{"all": &all, "sampled": &some} {
		s := m.Summary()
		for code, n := range s.Codes {
			want := uint64(5)
			if code == 2 {
				want = 4 * 5 // it stands for the codes that there are not
			}
			if n != want {
				t.Errorf("%s: code %d was counted %d times, want %d", name, code, n, want)
			}
		}
		if s.Calls() != 5*(Codes+3) {
			t.Errorf("%s: %d calls, want %d", name, s.Calls(), 5*(Codes+3))
		}
	}
	if n := some.Summary().Timed; n != 1 {
		t.Errorf("%d durations were recorded, want 1", n)
	}
}

// Durations are kept by code, and those of all are their sum.
func TestDurationsByCode(t *testing.T) {
	var m, other Method
	for i := range uint32(8) {
		m.Ended(i, 0, 1_000_000)
		m.Ended(i, 4, 10_000_000_000)
		other.Ended(i, 4, 10_000_000_000)
	}
	s := m.Summary()
	copied := *s
	s.Add(other.Summary())
	for code, want := range map[uint16]uint64{0: 8, 4: 16} {
		if d := s.Of(code); d == nil || d.Timed != want {
			t.Errorf("code %d: %+v, want %d durations", code, d, want)
		}
	}
	if s.Timed != 24 || s.Of(5) != nil {
		t.Errorf("%d durations are recorded, want 24 and none of code 5", s.Timed)
	}
	if d := s.Of(0).Quantile(1); d > 2*time.Millisecond {
		t.Errorf("the slowest call that went well took %v", d)
	}
	if d := s.Of(4).Quantile(0); d < 9*time.Second {
		t.Errorf("the fastest call that failed took %v", d)
	}
	if copied.Of(4).Timed != 8 {
		t.Error("adding to a summary has changed a copy of it")
	}
}

func TestBytes(t *testing.T) {
	var m, other Method
	for where := range uint32(10) {
		m.Bytes(where, 100, 7)
		m.Bytes(where, 0, 1)
	}
	other.Bytes(3, 1, 0)
	s := m.Summary()
	s.Add(other.Summary())
	if s.Requests != 1001 || s.Replies != 80 || s.Calls() != 0 {
		t.Errorf("%d bytes of requests and %d of replies, of %d calls", s.Requests, s.Replies, s.Calls())
	}
}

// The sum is as exact as the buckets are.
func TestSum(t *testing.T) {
	var m Method
	var want time.Duration
	for i := range 1000 {
		d := time.Duration(i*i) * time.Microsecond
		m.Ended(uint32(i), 0, int64(d))
		want += d
	}
	if got := m.Summary().Sum; got < want*7/8 || got > want*9/8 {
		t.Errorf("the sum is %v, want about %v", got, want)
	}
}

// A summary taken while calls end counts every failure among the calls, and no failure as a call that went well.
func TestSummaryMeanwhile(t *testing.T) {
	var m Method
	var wg sync.WaitGroup
	var ended atomic.Uint64
	stop := make(chan struct{})
	for g := range uint32(4) {
		wg.Go(func() {
			n := uint64(0)
			for {
				select {
				case <-stop:
					ended.Add(n)
					return
				default:
					m.Ended(g, 3, 5000)
					n++
				}
			}
		})
	}
	for range 2000 {
		if s := m.Summary(); s.Codes[0] > 0 || s.Codes[3] != s.Timed || s.Calls() != s.Timed {
			t.Errorf("%d calls went well and %d failed, of %d", s.Codes[0], s.Codes[3], s.Timed)
			break
		}
	}
	close(stop)
	wg.Wait()
	if s := m.Summary(); s.Codes[3] != ended.Load() || s.Codes[0] != 0 {
		t.Errorf("%d calls failed and %d went well, want %d and 0", s.Codes[3], s.Codes[0], ended.Load())
	}
}

func TestRecordingAllocatesNothing(t *testing.T) {
	var m Method
	if n := testing.AllocsPerRun(100, func() { m.Ended(1, 0, 12345); m.Count(2, 5); m.Time(3, 0, 99); m.Bytes(1, 3, 4) }); n != 0 {
		t.Errorf("recording allocates %v times", n)
	}
}

func BenchmarkEnded(b *testing.B) {
	var m Method
	b.ReportAllocs()
	for i := range b.N {
		m.Ended(1, 0, int64(i))
	}
}
