package harness

import (
	"math"
	"runtime"
	"time"

	"github.com/weftrpc/weft/bench/internal/msg"
	"github.com/weftrpc/weft/bench/internal/procstat"
)

// Record is one run, one line of JSON. What its fields mean to a reader is
// written in the bench module's README.
type Record struct {
	Workload Workload  `json:"workload"`
	Peer     string    `json:"peer"` // as asked for, such as "floor" or "floor:1"
	Codec    msg.Codec `json:"codec"`
	Callers  int       `json:"callers"`
	Conns    int       `json:"conns"`
	Round    int       `json:"round"`

	Calls       int64   `json:"calls"`
	Failures    int64   `json:"failures"`
	FirstError  string  `json:"first_error,omitempty"`
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
	Environment
	Load1    float64   `json:"load1"`
	OtherCPU float64   `json:"other_cpu_pct"`
	Steal    float64   `json:"steal_pct"`
	Time     time.Time `json:"time"`
}

// Latency is that of the main calls, in microseconds.
type Latency struct {
	Mean float64 `json:"mean_us"`
	P50  float64 `json:"p50_us"`
	P99  float64 `json:"p99_us"`
	P999 float64 `json:"p999_us"`
	Max  float64 `json:"max_us"`
}

// Cost is what all calls of the run took, main and side, divided by their
// number, except where a unit says otherwise.
type Cost struct {
	ClientCPU     float64 `json:"client_cpu_us"`
	ServerCPU     float64 `json:"server_cpu_us"`
	SoftIRQ       float64 `json:"softirq_us"`
	ClientAllocs  float64 `json:"client_allocs"`
	ServerAllocs  float64 `json:"server_allocs"`
	ClientRSS     float64 `json:"client_rss_mb"`
	ServerRSS     float64 `json:"server_rss_mb"`
	WritesPerCall float64 `json:"writes_per_call"`
	ReadsPerCall  float64 `json:"reads_per_call"`
	ClientWrites  uint64  `json:"client_writes"` // in all
	ServerWrites  uint64  `json:"server_writes"` // in all
	ClientReads   uint64  `json:"client_reads"`  // in all
	ServerReads   uint64  `json:"server_reads"`  // in all
}

// Environment is where a record was made.
type Environment struct {
	Go         string `json:"go"`
	Kernel     string `json:"kernel"`
	CPU        string `json:"cpu"`
	GOMAXPROCS int    `json:"gomaxprocs"`
	Commit     string `json:"commit"`
}

// NewEnvironment describes this machine and program.
func NewEnvironment(commit string) Environment {
	return Environment{
		Go:         runtime.Version(),
		Kernel:     procstat.Kernel(),
		CPU:        procstat.CPU(),
		GOMAXPROCS: runtime.GOMAXPROCS(0),
		Commit:     commit,
	}
}

// fill puts what the two children measured into the record.
func (r *Record) fill(result *Result, server procstat.Usage) {
	r.Conns = result.Conns
	r.GOMAXPROCS = result.GOMAXPROCS
	r.Calls = result.Main.Count
	r.Failures = result.Failures
	r.FirstError = result.FirstError
	r.Seconds = result.Window.Seconds()
	r.CallsPerSec = perSecond(result.InWindow, result.Window)
	r.WarmupSecs = result.Warmup.Seconds()
	r.Ideal = r.Workload.ideal(r.Callers)
	r.Latency = Latency{
		Mean: micros(result.Main.Mean),
		P50:  micros(result.Main.P50),
		P99:  micros(result.Main.P99),
		P999: micros(result.Main.P999),
		Max:  micros(result.Main.Max),
	}
	r.SideCalls = result.Side.Count
	r.SideMean = micros(result.Side.Mean)
	r.SideP50 = micros(result.Side.P50)
	r.SideP99 = micros(result.Side.P99)
	r.SidePerSec = perSecond(result.Side.Count, result.Window)
	r.Cost = cost(result, server)
	if total := result.Machine.Total(); total > 0 {
		// Soft interrupts are mostly this run's own packets, and have a field.
		other := result.Machine.Busy - result.Machine.SoftIRQ - result.Usage.CPU - server.CPU
		r.OtherCPU = tidy(100 * float64(max(other, 0)) / float64(total))
		r.Steal = tidy(100 * float64(result.Machine.Steal) / float64(total))
	}
}

func cost(result *Result, server procstat.Usage) Cost {
	client := result.Usage
	calls := float64(max(result.Main.Count+result.Side.Count+result.Failures, 1))
	perCall := func(total float64) float64 { return tidy(total / calls) }
	return Cost{
		ClientCPU:     perCall(float64(client.CPU) / float64(time.Microsecond)),
		ServerCPU:     perCall(float64(server.CPU) / float64(time.Microsecond)),
		SoftIRQ:       perCall(float64(result.Machine.SoftIRQ) / float64(time.Microsecond)),
		ClientAllocs:  perCall(float64(client.Mallocs)),
		ServerAllocs:  perCall(float64(server.Mallocs)),
		ClientRSS:     megabytes(client.PeakRSS),
		ServerRSS:     megabytes(server.PeakRSS),
		WritesPerCall: perCall(float64(client.Writes + server.Writes)),
		ReadsPerCall:  perCall(float64(client.Reads + server.Reads)),
		ClientWrites:  client.Writes,
		ServerWrites:  server.Writes,
		ClientReads:   client.Reads,
		ServerReads:   server.Reads,
	}
}

func perSecond(calls int64, window time.Duration) float64 {
	if window <= 0 {
		return 0
	}
	return tidy(float64(calls) / window.Seconds())
}

func micros(d time.Duration) float64 { return tidy(float64(d) / float64(time.Microsecond)) }
func megabytes(bytes uint64) float64 { return tidy(float64(bytes) / (1 << 20)) }

// tidy keeps four decimals, more than any figure here deserves.
func tidy(v float64) float64 { return math.Round(v*1e4) / 1e4 }
