package runner

import (
	"math"
	"runtime"
	"time"

	"github.com/weftrpc/weft/bench/contract"
	"github.com/weftrpc/weft/bench/internal/procstat"
)

// Record is one run, one line of JSON. What its fields mean to a reader is
// written in the bench module's README.
type Record struct {
	Workload contract.Workload `json:"workload"`
	Peer     string            `json:"peer"` // as asked for, such as "floor" or "floor:1"
	Codec    string            `json:"codec"`
	Callers  int               `json:"callers"` // of each client process
	Conns    int               `json:"conns"`
	Servers  int               `json:"servers"`
	Clients  int               `json:"clients"`
	Network  Network           `json:"network"`
	Share    float64           `json:"rate_of_max,omitempty"` // open loop: of the entry's greatest rate
	Rate     float64           `json:"rate,omitempty"`        // open loop: calls a second that were begun
	Quota    int64             `json:"quota,omitempty"`       // calls asked of each client process, instead of a time
	Round    int               `json:"round"`

	Calls       int64   `json:"calls"`
	Failures    int64   `json:"failures"`
	FirstError  string  `json:"first_error,omitempty"`
	Skipped     string  `json:"skipped,omitempty"` // why the run was not made
	Seconds     float64 `json:"seconds"`
	CallsPerSec float64 `json:"calls_per_s"`
	Ideal       float64 `json:"ideal_calls_per_s,omitempty"`
	WarmupSecs  float64 `json:"warmup_s"`

	Latency
	SideCalls  int64   `json:"side_calls,omitempty"`
	SideMean   float64 `json:"side_mean_us,omitempty"`
	SideP50    float64 `json:"side_p50_us,omitempty"`
	SideP99    float64 `json:"side_p99_us,omitempty"`
	SidePerSec float64 `json:"side_calls_per_s,omitempty"`

	Cost
	Load1     float64 `json:"load1"`
	OtherCPU  float64 `json:"other_cpu_pct"`
	Steal     float64 `json:"steal_pct"`
	Disturbed bool    `json:"disturbed,omitempty"`
	Others    []Other `json:"others,omitempty"` // of a disturbed run: the processes that used the most

	Language string `json:"language,omitempty"`
	Version  string `json:"version,omitempty"`
	Settings string `json:"settings,omitempty"`
	Environment
	Time time.Time `json:"time"`
}

// Latency is that of the main calls, in microseconds.
type Latency struct {
	Min  float64 `json:"min_us"`
	Mean float64 `json:"mean_us"`
	P50  float64 `json:"p50_us"`
	P90  float64 `json:"p90_us"`
	P99  float64 `json:"p99_us"`
	P999 float64 `json:"p999_us"`
	Max  float64 `json:"max_us"`

	// Curve has the latency, in microseconds, at each of [CurvePoints].
	Curve []float64 `json:"curve_us,omitempty"`
}

// CurvePoints are the shares of all calls, in percent, that [Latency.Curve]
// belongs to: each tenfold step nearer to 100 has as many points, as the plots
// of HdrHistogram have.
func CurvePoints() []float64 {
	return []float64{
		0, 10, 20, 30, 40, 50, 55, 60, 65, 70, 75, 80, 85, 90, 92, 94, 95, 96, 97, 98, 98.5,
		99, 99.2, 99.4, 99.5, 99.6, 99.7, 99.8, 99.85, 99.9, 99.93, 99.95, 99.97, 99.98, 99.99, 99.995, 99.999,
	}
}

// Cost is what all calls of the run took, main and side, divided by their
// number, unless the unit is another.
type Cost struct {
	ClientCPU      float64  `json:"client_cpu_us"`
	ServerCPU      float64  `json:"server_cpu_us"`
	SoftIRQ        float64  `json:"softirq_us"`
	ClientAllocs   *float64 `json:"client_allocs,omitempty"` // nil: not counted
	ServerAllocs   *float64 `json:"server_allocs,omitempty"`
	ClientRSS      float64  `json:"client_rss_mb"`
	ServerRSS      float64  `json:"server_rss_mb"`
	BytesPerCall   float64  `json:"bytes_per_call"`
	PacketsPerCall float64  `json:"packets_per_call"`
	WritesPerCall  float64  `json:"writes_per_call"`
	ReadsPerCall   float64  `json:"reads_per_call"`
}

// Environment is where a record was made.
type Environment struct {
	Go     string `json:"go"`
	Kernel string `json:"kernel"`
	CPU    string `json:"cpu"`
	CPUs   int    `json:"cpus"`
	Commit string `json:"commit"`
}

// NewEnvironment describes this machine and program.
func NewEnvironment(commit string) Environment {
	return Environment{
		Go:     runtime.Version(),
		Kernel: procstat.Kernel(),
		CPU:    procstat.CPU(),
		CPUs:   runtime.NumCPU(),
		Commit: commit,
	}
}

// sleepTime is how long a call of the workload delay takes at least.
const sleepTime = 10 * time.Millisecond

// fill puts what the clients measured, and what all processes used, into the record.
func (r *Record) fill(results []contract.Event, used reading) {
	var main, side contract.Distribution
	var late int64
	var clientAllocs uint64
	var ownCPU time.Duration
	for _, result := range results {
		main, side = main.Merge(result.Main), side.Merge(result.Side)
		late += result.Late
		r.Conns += result.Conns
		r.Failures += result.Failures
		r.Seconds = max(r.Seconds, result.Seconds)
		r.WarmupSecs = max(r.WarmupSecs, tidy(result.Measured.Warmup))
		clientAllocs += result.Allocs
		ownCPU += time.Duration(result.Measured.CPU)
		if r.FirstError == "" {
			r.FirstError = result.FirstError
		}
	}
	// Soft interrupts are mostly packets of this run, and have a field.
	others := used.machine.Busy - used.machine.SoftIRQ - used.client.CPU - used.servers.CPU
	if ownCPU > 0 { // exact, and without the making of the histogram
		used.client.CPU = ownCPU
	}
	r.Calls = main.Count
	r.CallsPerSec = tidy(float64(main.Count-late) / r.Seconds)
	if r.Workload == contract.Delay {
		r.Ideal = float64(r.Callers*r.Clients) / sleepTime.Seconds()
	}
	r.Latency = latency(main)
	r.SideCalls = side.Count
	r.SideMean = tidy(side.Mean() / 1e3)
	r.SideP50, r.SideP99 = micros(side.Quantile(0.5)), micros(side.Quantile(0.99))
	r.SidePerSec = tidy(float64(side.Count) / r.Seconds)
	r.Cost = cost(float64(max(main.Count+side.Count+r.Failures, 1)), clientAllocs, used)
	if total := used.machine.Total(); total > 0 {
		r.OtherCPU = tidy(100 * float64(max(others, 0)) / float64(total))
		r.Steal = tidy(100 * float64(used.machine.Steal) / float64(total))
		r.disturb(used.others, total)
	}
}

func latency(d contract.Distribution) Latency {
	l := Latency{
		Min: micros(d.Min), Mean: tidy(d.Mean() / 1e3), Max: micros(d.Max),
		P50: micros(d.Quantile(0.5)), P90: micros(d.Quantile(0.9)), P99: micros(d.Quantile(0.99)), P999: micros(d.Quantile(0.999)),
	}
	if d.Count > 0 {
		for _, percent := range CurvePoints() {
			l.Curve = append(l.Curve, micros(d.Quantile(percent/100)))
		}
	}
	return l
}

func cost(calls float64, clientAllocs uint64, used reading) Cost {
	perCall := func(total float64) float64 { return tidy(total / calls) }
	c := Cost{
		ClientCPU:      perCall(float64(used.client.CPU) / float64(time.Microsecond)),
		ServerCPU:      perCall(float64(used.servers.CPU) / float64(time.Microsecond)),
		SoftIRQ:        perCall(float64(used.machine.SoftIRQ) / float64(time.Microsecond)),
		ClientRSS:      megabytes(used.client.PeakRSS),
		ServerRSS:      megabytes(used.servers.PeakRSS),
		BytesPerCall:   perCall(float64(used.wire.Bytes)),
		PacketsPerCall: perCall(float64(used.wire.Packets)),
		WritesPerCall:  perCall(float64(used.client.Writes + used.servers.Writes)),
		ReadsPerCall:   perCall(float64(used.client.Reads + used.servers.Reads)),
	}
	if used.counted {
		client, server := perCall(float64(clientAllocs)), perCall(float64(used.serverAllocs))
		c.ClientAllocs, c.ServerAllocs = &client, &server
	}
	return c
}

func micros(ns int64) float64        { return tidy(float64(ns) / 1e3) }
func megabytes(bytes uint64) float64 { return tidy(float64(bytes) / (1 << 20)) }

// tidy keeps four decimals, more than any figure here deserves.
func tidy(v float64) float64 { return math.Round(v*1e4) / 1e4 }
