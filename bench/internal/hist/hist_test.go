package hist

import (
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/weftrpc/weft/internal/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

func TestSummaryAgreesWithSortedValues(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	tests := []struct {
		name string
		draw func() time.Duration
	}{
		{"microseconds", func() time.Duration { return time.Duration(10_000 + random.IntN(90_000)) }},
		{"one in a hundred is slow", func() time.Duration {
			if random.IntN(100) == 0 {
				return 5*time.Millisecond + time.Duration(random.IntN(1_000_000))
			}
			return time.Duration(20_000 + random.IntN(5_000))
		}},
		{"seconds", func() time.Duration { return time.Duration(random.Int64N(int64(20 * time.Second))) }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			recorder := NewRecorder(3)
			values := make([]time.Duration, 100_000)
			var sum time.Duration
			for i := range values {
				values[i] = test.draw()
				sum += values[i]
				recorder.Shard(i).Record(values[i])
			}
			slices.Sort(values)
			got := recorder.Summary()
			if got.Count != int64(len(values)) || got.Max != values[len(values)-1] {
				t.Errorf("count %d, max %v; want %d, %v", got.Count, got.Max, len(values), values[len(values)-1])
			}
			near(t, "mean", got.Mean, sum/time.Duration(len(values)))
			near(t, "p50", got.P50, values[len(values)*50/100-1])
			near(t, "p99", got.P99, values[len(values)*99/100-1])
			near(t, "p99.9", got.P999, values[len(values)*999/1000-1])
		})
	}
}

// near allows what three digits allow.
func near(t *testing.T, name string, got, want time.Duration) {
	t.Helper()
	if diff := (got - want).Abs(); diff > want/1000+1 {
		t.Errorf("%s is %v, want %v within 0.1 %%", name, got, want)
	}
}

func TestOutOfRange(t *testing.T) {
	recorder := NewRecorder(1)
	recorder.Shard(0).Record(-time.Second)
	recorder.Shard(0).Record(5 * time.Minute)
	got := recorder.Summary()
	if got.Count != 2 || got.Max != 5*time.Minute {
		t.Errorf("got %+v, want both values counted and the exact maximum", got)
	}
	if got.P50 != 0 {
		t.Errorf("a negative latency gave p50 %v, want 0", got.P50)
	}
}

func TestEmptyAndReset(t *testing.T) {
	recorder := NewRecorder(0)
	if got := recorder.Summary(); got != (Summary{}) {
		t.Errorf("an empty recorder gave %+v", got)
	}
	recorder.Shard(7).Record(time.Millisecond)
	recorder.Reset()
	if got := recorder.Summary(); got != (Summary{}) || recorder.Count() != 0 {
		t.Errorf("after Reset: %+v, count %d", got, recorder.Count())
	}
}

func TestConcurrentRecord(t *testing.T) {
	const goroutines, each = 16, 2000
	recorder := NewRecorder(4)
	var wg sync.WaitGroup
	for i := range goroutines {
		wg.Go(func() {
			for range each {
				recorder.Shard(i).Record(time.Microsecond)
				_ = recorder.Count() // a monitor may look meanwhile
			}
		})
	}
	wg.Wait()
	if got := recorder.Summary().Count; got != goroutines*each {
		t.Errorf("counted %d, want %d", got, goroutines*each)
	}
}

func TestRecordDoesNotAllocate(t *testing.T) {
	shard := NewRecorder(1).Shard(0)
	if n := testing.AllocsPerRun(1000, func() { shard.Record(25 * time.Microsecond) }); n != 0 {
		t.Errorf("Record allocates %v times", n)
	}
}

func BenchmarkRecord(b *testing.B) {
	shard := NewRecorder(1).Shard(0)
	for b.Loop() {
		shard.Record(25 * time.Microsecond)
	}
}
