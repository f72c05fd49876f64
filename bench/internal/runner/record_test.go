package runner

import (
	"strings"
	"testing"
	"time"

	"github.com/weftrpc/weft/bench/contract"
	"github.com/weftrpc/weft/bench/internal/procstat"
)

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
		others: []procstat.Process{{Name: "backup", CPU: 10 * time.Millisecond}},
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
	if want := "backup 10.0 %"; !strings.Contains(r.DisturbedBy(), want) {
		t.Errorf("it was disturbed by %q, want %q in it", r.DisturbedBy(), want)
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
	if r.ClientCPU != 10 { // of /proc, since the clients did not report any
		t.Errorf("client CPU %v", r.ClientCPU)
	}
	if r.ClientAllocs != nil || r.ServerAllocs != nil {
		t.Errorf("allocations of a peer that does not count them: %v", *r.ClientAllocs)
	}
	if r.Ideal != 1000 {
		t.Errorf("10 callers of a 10 ms method could make %v calls/s, want 1000", r.Ideal)
	}
}
