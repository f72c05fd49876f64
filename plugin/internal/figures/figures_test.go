package figures

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/internal/stats"
)

// latencyOf is the public form of what a method has counted.
func latencyOf(m *stats.Method) weft.Latency {
	d := m.Summary().Of(0)
	if d == nil {
		return weft.Latency{}
	}
	return weft.NewLatency(d.Timed, d.Sum, d)
}

// What is published only grows, whatever share of the calls was measured, and its sum is
// the number of calls.
func TestSpread(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	m := stats.Method{Sampled: true}
	s := newSpread()
	var calls uint64
	before := make(map[time.Duration]uint64)
	var sum float64
	for round := range 200 {
		every := 1 + rnd.IntN(16)
		for i := range rnd.IntN(50) {
			calls++
			m.Count(0, 0)
			if calls == 1 || round%7 != 0 && i%every == 0 {
				m.Time(0, 0, int64(rnd.IntN(1_000_000_000)))
			}
		}
		s.read(calls, latencyOf(&m))
		d := s.distribution()
		var total uint64
		for _, b := range d.Buckets {
			total += b.Count
			if b.Lower >= b.Upper {
				t.Errorf("a bucket is from %v to %v", b.Lower, b.Upper)
			}
		}
		if d.Count != calls || total != calls {
			t.Fatalf("round %d: %d calls are published, with %d in the buckets, of %d", round, d.Count, total, calls)
		}
		for upper, n := range before {
			if s.shown[upper] < n {
				t.Fatalf("round %d: the bucket up to %v decreased from %d to %d", round, upper, n, s.shown[upper])
			}
		}
		if d.Sum < sum {
			t.Fatalf("round %d: the sum decreased", round)
		}
		sum = d.Sum
		for upper, n := range s.shown {
			before[upper] = n
		}
	}
	if mean := sum / float64(calls); mean < 0.4 || mean > 0.6 {
		t.Errorf("the mean is %v s, want about 0.5", mean)
	}
}

// When every call is measured, what is published is what was counted.
func TestSpreadIsExact(t *testing.T) {
	var m stats.Method
	s := newSpread()
	for i := range uint64(300) {
		m.Ended(0, 0, int64(i*i*1000))
		if i%10 == 0 {
			s.read(i+1, latencyOf(&m))
		}
	}
	s.read(300, latencyOf(&m))
	for upper, n := range latencyOf(&m).Buckets {
		if s.shown[upper] != n {
			t.Errorf("the bucket up to %v has %d, want %d", upper, s.shown[upper], n)
		}
	}
}

func TestFold(t *testing.T) {
	var m stats.Method
	for _, d := range []time.Duration{50 * time.Microsecond, 900 * time.Microsecond, 4 * time.Millisecond, 4900 * time.Microsecond, 30 * time.Second} {
		m.Ended(0, 0, int64(d))
	}
	s := newSpread()
	s.read(5, latencyOf(&m))
	got := s.distribution().Fold([]float64{0.0001, 0.001, 0.005, 0.01, 10})
	// 4.0 and 4.9 ms are in the buckets up to 4.096 and up to 5.12 ms.
	for i, want := range []uint64{1, 1, 3, 4, 4} {
		if got[i] != want {
			t.Errorf("bound %d: %d calls, want %d (%v)", i, got[i], want, got)
			break
		}
	}
}

// The beginnings of the buckets are the ends of those below.
func TestLower(t *testing.T) {
	var m stats.Method
	for us := range int64(100_000) {
		m.Ended(0, 0, us*1000)
	}
	last := time.Duration(0)
	for upper := range latencyOf(&m).Buckets {
		if got := lower(upper); got != last {
			t.Fatalf("the bucket up to %v begins at %v, want %v", upper, got, last)
		}
		last = upper
	}
}

func TestNames(t *testing.T) {
	for method, want := range map[string]string{"Arith.Mul": "Arith/Mul", "a.b.C.D": "a.b.C/D", "": "_OTHER", "bare": "bare"} {
		if got := MethodName(method); got != want {
			t.Errorf("%q is %q, want %q", method, got, want)
		}
	}
	for code, want := range map[weft.Code]string{0: "OK", weft.Canceled: "CANCELLED", weft.DeadlineExceeded: "DEADLINE_EXCEEDED", weft.DataLoss: "DATA_LOSS", 99: "UNKNOWN"} {
		if got := Status(code); got != want {
			t.Errorf("%v is %q, want %q", code, got, want)
		}
	}
	failures := 0
	for code := range weft.Unauthenticated + 1 {
		if ServerError(code) {
			failures++
		}
		if ClientError(code) != (code != 0) {
			t.Errorf("%v is a failure for a client: %v", code, ClientError(code))
		}
	}
	if failures != 6 {
		t.Errorf("%d codes are failures of a server, want 6", failures)
	}
	if got := snake("not sent") + snake("NotSent"); got != "not_sentnot_sent" {
		t.Error(got)
	}
}

// Servers and clients of one name are told apart, since two time series alike are refused together with all others.
func TestFreeNames(t *testing.T) {
	var w Watched
	for _, name := range []string{"", "", "a", "a", "a", "2"} {
		w.Server(name, nil)
		w.Client(name, nil)
		w.Cluster(name, nil)
	}
	names := ""
	for _, s := range w.Servers() {
		names += s.Name + " "
	}
	if names != " 2 a a-2 a-3 2-2 " {
		t.Errorf("%q", names)
	}
	seen := make(map[string]bool)
	for _, c := range w.Clients() {
		seen[c.Name] = true
	}
	for _, c := range w.Clusters() {
		seen[c.Name] = true
	}
	if len(seen) != 12 {
		t.Errorf("%v", seen)
	}
}
