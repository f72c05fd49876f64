package harness

import (
	"strings"
	"testing"
	"time"

	"github.com/weftrpc/weft/bench/internal/hist"
	"github.com/weftrpc/weft/bench/internal/msg"
	"github.com/weftrpc/weft/bench/internal/procstat"
)

func record(work Workload, peer string, round int, perSec, p99 float64) Record {
	return Record{
		Workload: work, Peer: peer, Codec: msg.Raw, Callers: 5000, Conns: 2, Round: round, Calls: 10,
		CallsPerSec: perSec, Latency: Latency{P50: 7.654, P99: p99}, SidePerSec: 20, Cost: Cost{ClientCPU: 1.5, ServerCPU: 2},
	}
}

func TestWriteTable(t *testing.T) {
	failed := record(Say, "woof", 2, 0, 0)
	failed.Calls, failed.Failures, failed.FirstError = 0, 1, "the thread broke"
	records := []Record{
		record(Say, "warp", 1, 100, 20), record(Say, "woof", 1, 50, 30),
		record(Slow, "warp", 1, 90, 45), record(Sleep, "warp", 1, 250_000, 45),
		record(Say, "warp", 2, 300, 60), failed,
		record(Say, "warp", 3, 200, 40),
	}
	var out strings.Builder
	if err := WriteTable(&out, records); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(out.String(), "\n")
	tests := []struct {
		begins string
		has    []string
	}{
		{"| workload | callers | codec | peer", []string{"calls/s", "CPU µs/call"}},
		{"|----------|", nil},
		{"| say      | 5000    | raw   | warp", []string{" 2 |", "200 (100–300)", "40.0 (20.0–60.0)", "7.65", "3.50", "1.50 + 2.00", " 0 |"}},
		{"| say      | 5000    | raw   | woof", []string{" 50.0 |", " 1 |"}},
		{"| sleep", nil},
		{"| slow", nil},
		{"", nil},
		{"| workload | callers | codec | peer", []string{"ratio", "of ideal"}},
		{"|----------|", nil},
		{"| sleep    | 5000    | raw   | warp", []string{" 50 % |"}},
		{"| slow     | 5000    | raw   | warp", []string{" 40.0 |", " 45.0 |", " 1.12 |", " – |"}},
		{"", nil},
		{"round 2, say, woof, raw, 5000 callers: 1 failures, the first: the thread broke", nil},
	}
	find := 0
	for _, test := range tests {
		for find < len(lines) && !(strings.HasPrefix(lines[find], test.begins) && (test.begins != "" || lines[find] == "")) {
			find++
		}
		if find == len(lines) {
			t.Fatalf("no line that begins with %q in its place:\n%s", test.begins, out.String())
		}
		for _, cell := range test.has {
			if !strings.Contains(lines[find], cell) {
				t.Errorf("%q is not in %q", cell, lines[find])
			}
		}
		find++
	}
}

func TestMedian(t *testing.T) {
	field := func(r Record) float64 { return r.P50 }
	for _, test := range []struct {
		values []float64
		want   float64
	}{{nil, 0}, {[]float64{3}, 3}, {[]float64{9, 1}, 5}, {[]float64{9, 1, 2}, 2}} {
		var r row
		for _, v := range test.values {
			r.records = append(r.records, Record{Latency: Latency{P50: v}})
		}
		if got := r.median(field); got != test.want {
			t.Errorf("median of %v is %v, want %v", test.values, got, test.want)
		}
	}
}

func TestFillDividesByAllCalls(t *testing.T) {
	result := &Result{
		Conns: 2, Window: 2 * time.Second, InWindow: 80, Failures: 10, FirstError: "late", GOMAXPROCS: 3,
		Main:  hist.Summary{Count: 85, Mean: 1500 * time.Nanosecond, Max: time.Millisecond},
		Side:  hist.Summary{Count: 5, P99: 5 * time.Millisecond},
		Usage: procstat.Usage{CPU: time.Millisecond, Mallocs: 200, Reads: 100, Writes: 50, PeakRSS: 3 << 20},
		Machine: procstat.Machine{
			Busy: 5 * time.Millisecond, SoftIRQ: time.Millisecond, Steal: time.Millisecond, Idle: 4 * time.Millisecond,
		},
	}
	r := Record{Workload: Slow, Callers: 7}
	r.fill(result, procstat.Usage{CPU: 2 * time.Millisecond, Mallocs: 300, Reads: 1, Writes: 50, PeakRSS: 1 << 20})
	checks := []struct {
		name      string
		got, want float64
	}{
		{"calls/s", r.CallsPerSec, 40},
		{"side calls/s", r.SidePerSec, 2.5},
		{"mean", r.Mean, 1.5},
		{"max", r.Max, 1000},
		{"side p99", r.SideP99, 5000},
		{"client cpu", r.ClientCPU, 10},
		{"server cpu", r.ServerCPU, 20},
		{"softirq", r.SoftIRQ, 10},
		{"client allocs", r.ClientAllocs, 2},
		{"server allocs", r.ServerAllocs, 3},
		{"writes", r.WritesPerCall, 1},
		{"reads", r.ReadsPerCall, 1.01},
		{"client RSS", r.ClientRSS, 3},
		{"other", r.OtherCPU, 10}, // 5 − 1 − 1 − 2 of 10 ms
		{"steal", r.Steal, 10},
		{"ideal", r.Ideal, 0},
	}
	for _, c := range checks {
		if c.got != c.want {
			t.Errorf("%s is %v, want %v", c.name, c.got, c.want)
		}
	}
	if r.Calls != 85 || r.Failures != 10 || r.FirstError != "late" || r.GOMAXPROCS != 3 {
		t.Errorf("%+v", r)
	}
	if got := Sleep.ideal(5000); got != 500_000 {
		t.Errorf("5000 callers of a 10 ms method could make %v calls/s, want 500000", got)
	}
}
