package hist

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/weftrpc/weft/bench/contract"
	"github.com/weftrpc/weft/internal/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

func TestDistributionAgreesWithSortedValues(t *testing.T) {
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
			got := recorder.Distribution()
			if err := got.Check(); err != nil {
				t.Fatal(err)
			}
			if got.Count != int64(len(values)) || got.Sum != int64(sum) || got.Min != int64(values[0]) || got.Max != int64(values[len(values)-1]) {
				t.Errorf("count %d, sum %d, %d to %d; these are exact", got.Count, got.Sum, got.Min, got.Max)
			}
			near(t, "p50", got.Quantile(0.5), values[len(values)*50/100-1])
			near(t, "p99", got.Quantile(0.99), values[len(values)*99/100-1])
			near(t, "p99.9", got.Quantile(0.999), values[len(values)*999/1000-1])
		})
	}
}

// near allows what three digits allow.
func near(t *testing.T, name string, ns int64, want time.Duration) {
	t.Helper()
	got := time.Duration(ns)
	if diff := (got - want).Abs(); diff > want/1000+1 {
		t.Errorf("%s is %v, want %v within 0.1 %%", name, got, want)
	}
}

func TestOutOfRange(t *testing.T) {
	recorder := NewRecorder(1)
	recorder.Shard(0).Record(-time.Second)
	recorder.Shard(0).Record(5 * time.Minute)
	got := recorder.Distribution()
	if got.Count != 2 || got.Max != int64(5*time.Minute) || got.Min != 0 {
		t.Errorf("got %+v, want both values counted, and exact bounds", got)
	}
	if p50 := got.Quantile(0.5); p50 != 0 {
		t.Errorf("a negative latency gave p50 %v, want 0", p50)
	}
}

func TestEmptyAndReset(t *testing.T) {
	recorder := NewRecorder(0)
	if got := recorder.Distribution(); !reflect.DeepEqual(got, contract.Distribution{}) {
		t.Errorf("an empty recorder gave %+v", got)
	}
	recorder.Shard(7).Record(time.Millisecond)
	recorder.Reset()
	if got := recorder.Distribution(); !reflect.DeepEqual(got, contract.Distribution{}) || recorder.Count() != 0 {
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
	if got := recorder.Distribution().Count; got != goroutines*each {
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
