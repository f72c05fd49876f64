package runner

import (
	"strings"
	"testing"
	"time"

	"github.com/weftrpc/weft/bench/contract"
	"github.com/weftrpc/weft/bench/internal/procstat"
)

func record(work contract.Workload, peer string, round int, perSec, p99 float64) Record {
	return Record{
		Workload: work, Peer: peer, Codec: "raw", Callers: 5000, Conns: 2, Round: round, Calls: 10,
		CallsPerSec: perSec, Latency: Latency{P50: 7.654, P99: p99}, SidePerSec: 20, Cost: Cost{ClientCPU: 1.5, ServerCPU: 2},
	}
}

func TestWriteTable(t *testing.T) {
	failed := record(contract.Echo, "woof", 2, 0, 0)
	failed.Calls, failed.Failures, failed.FirstError = 0, 1, "the thread broke"
	records := []Record{
		record(contract.Echo, "warp", 1, 100, 20), record(contract.Echo, "woof", 1, 50, 30),
		record(contract.Slow, "warp", 1, 90, 45), record(contract.Delay, "warp", 1, 250_000, 45),
		record(contract.Echo, "warp", 2, 300, 60), failed,
		record(contract.Echo, "warp", 3, 200, 40),
	}
	records[3].Ideal = 500_000
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
		{"| delay", nil},
		{"| echo     | 5000    | raw   | warp", []string{" 2 |", "200 (100–300)", "40.0 (20.0–60.0)", "7.65", "3.50", "1.50 + 2.00", " 0 |"}},
		{"| echo     | 5000    | raw   | woof", []string{" 50.0 |", " 1 |"}},
		{"| slow", nil},
		{"", nil},
		{"| workload | callers | codec | peer", []string{"ratio", "of ideal"}},
		{"|----------|", nil},
		{"| delay    | 5000    | raw   | warp", []string{" 50 % |"}},
		{"| slow     | 5000    | raw   | warp", []string{" 40.0 |", " 45.0 |", " 1.12 |", " – |"}},
		{"", nil},
		{"round 2, echo, woof, raw, 5000 callers: 1 failures, the first: the thread broke", nil},
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

func TestTheSameWorkloadElsewhereIsAnotherRow(t *testing.T) {
	changes := []struct {
		where  string
		change func(r *Record)
	}{
		{"2 servers", func(r *Record) { r.Servers = 2 }},
		{"4 clients", func(r *Record) { r.Clients = 4 }},
		{"veth", func(r *Record) { r.Network = Namespaces }},
		{"10000 calls", func(r *Record) { r.Quota = 10_000 }},
		{"50000 calls", func(r *Record) { r.Quota = 50_000 }},
		{"open, 80 %", func(r *Record) { r.Share = 0.8 }},
	}
	records := []Record{record(contract.Echo, "warp", 1, 100, 20)}
	for _, c := range changes {
		r := record(contract.Echo, "warp", 1, 100, 20)
		c.change(&r)
		records = append(records, r)
	}
	skipped := record(contract.Math, "warp", 1, 0, 0)
	skipped.Skipped = "at most 4999 callers: it says so"
	records = append(records, skipped)
	var out strings.Builder
	if err := WriteTable(&out, records); err != nil {
		t.Fatal(err)
	}
	for _, c := range changes {
		if n := strings.Count(out.String(), c.where); n != 1 {
			t.Errorf("%q is there %d times:\n%s", c.where, n, out.String())
		}
	}
	if n := strings.Count(out.String(), "math"); n != 1 || !strings.Contains(out.String(), "not run: math, warp, raw, 5000 callers: at most 4999") {
		t.Errorf("a skipped run belongs below the table, once:\n%s", out.String())
	}
}

func TestFillDividesByAllCalls(t *testing.T) {
	main := contract.Distribution{Count: 85, Sum: 85 * 1500, Min: 1000, Max: 1_000_000, Histogram: [][2]int64{{1000, 84}, {1_000_000, 1}}}
	side := contract.Distribution{Count: 5, Sum: 25_000_000, Min: 5_000_000, Max: 5_000_000, Histogram: [][2]int64{{5_000_000, 5}}}
	result := contract.Event{Event: contract.Result, Allocs: 200, Measured: &contract.Measured{
		Conns: 2, Seconds: 2, Calls: 85, Late: 5, Failures: 10, FirstError: "late", Warmup: 0.5,
		CPU: int64(time.Millisecond), Main: main, Side: side,
	}}
	used := reading{
		machine: procstat.Machine{Busy: 50 * time.Millisecond, SoftIRQ: 10 * time.Millisecond, Steal: 10 * time.Millisecond, Idle: 40 * time.Millisecond},
		client:  procstat.Usage{CPU: 10 * time.Millisecond, Reads: 100, Writes: 50, PeakRSS: 3 << 20},
		servers: procstat.Usage{CPU: 20 * time.Millisecond, Reads: 1, Writes: 50, PeakRSS: 1 << 20},
		wire:    procstat.Wire{Bytes: 130_000, Packets: 200},

		serverAllocs: 300, counted: true,
	}
	r := Record{Workload: contract.Slow, Callers: 7, Clients: 1}
	r.fill([]contract.Event{result}, used)
	checks := []struct {
		name      string
		got, want float64
	}{
		{"calls/s", r.CallsPerSec, 40},
		{"side calls/s", r.SidePerSec, 2.5},
		{"min", r.Min, 1},
		{"mean", r.Mean, 1.5},
		{"p90", r.P90, 1},
		{"max", r.Max, 1000},
		{"greatest of the curve", r.Curve[len(r.Curve)-1], 1000},
		{"side p99", r.SideP99, 5000},
		{"client cpu", r.ClientCPU, 10},
		{"server cpu", r.ServerCPU, 200},
		{"softirq", r.SoftIRQ, 100},
		{"client allocs", *r.ClientAllocs, 2},
		{"server allocs", *r.ServerAllocs, 3},
		{"writes", r.WritesPerCall, 1},
		{"reads", r.ReadsPerCall, 1.01},
		{"bytes", r.BytesPerCall, 1300},
		{"packets", r.PacketsPerCall, 2},
		{"client RSS", r.ClientRSS, 3},
		{"other", r.OtherCPU, 10}, // 50 − 10 − 10 − 20 of 100 ms
		{"steal", r.Steal, 10},
		{"ideal", r.Ideal, 0},
		{"warm-up", r.WarmupSecs, 0.5},
	}
	for _, c := range checks {
		if c.got != c.want {
			t.Errorf("%s is %v, want %v", c.name, c.got, c.want)
		}
	}
	if r.Calls != 85 || r.Failures != 10 || r.FirstError != "late" || r.Conns != 2 || !r.Disturbed {
		t.Errorf("%+v", r)
	}
}

func TestFillMergesTheClients(t *testing.T) {
	client := func(seconds float64, allocs uint64, latencies ...int64) contract.Event {
		var d contract.Distribution
		for _, v := range latencies {
			d = d.Merge(contract.Distribution{Count: 1, Sum: v, Min: v, Max: v, Histogram: [][2]int64{{v, 1}}})
		}
		return contract.Event{Event: contract.Result, Allocs: allocs, Measured: &contract.Measured{
			Conns: 1, Seconds: seconds, Calls: d.Count, Failures: 1, Main: d,
		}}
	}
	r := Record{Workload: contract.Delay, Callers: 5, Clients: 2}
	r.fill([]contract.Event{client(2, 10, 1000, 3000), client(4, 20, 2000, 2000)}, reading{client: procstat.Usage{CPU: 60 * time.Microsecond}})
	if r.Calls != 4 || r.Failures != 2 || r.Conns != 2 || r.Seconds != 4 || r.CallsPerSec != 1 {
		t.Errorf("%d calls, %d failures, %d connections, %v s, %v calls/s", r.Calls, r.Failures, r.Conns, r.Seconds, r.CallsPerSec)
	}
	if r.Min != 1 || r.P50 != 2 || r.Max != 3 || r.Mean != 2 {
		t.Errorf("latency %+v", r.Latency)
	}
	if r.ClientCPU != 10 { // of /proc, since the clients did not tell
		t.Errorf("client CPU %v", r.ClientCPU)
	}
	if r.ClientAllocs != nil || r.ServerAllocs != nil {
		t.Errorf("allocations of a peer that does not count them: %v", *r.ClientAllocs)
	}
	if r.Ideal != 1000 {
		t.Errorf("10 callers of a 10 ms method could make %v calls/s, want 1000", r.Ideal)
	}
}
