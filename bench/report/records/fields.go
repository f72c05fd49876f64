package records

import (
	"math"

	"github.com/weftrpc/weft/bench/internal/runner"
)

// CallsPerSec is the rate of main calls.
func CallsPerSec(r runner.Record) float64 { return r.CallsPerSec }

// SideCallsPerSec is the rate of side calls.
func SideCallsPerSec(r runner.Record) float64 { return Measured(r.SidePerSec) }

// CPU is the processor time of a call, client and server together, in µs.
func CPU(r runner.Record) float64 { return r.ClientCPU + r.ServerCPU }

// ClientCPU is the client's part of [CPU].
func ClientCPU(r runner.Record) float64 { return r.ClientCPU }

// ServerCPU is the server's part of [CPU].
func ServerCPU(r runner.Record) float64 { return r.ServerCPU }

// P50 is the median latency of main calls, in µs.
func P50(r runner.Record) float64 { return r.P50 }

// P99 is the latency that one main call in a hundred exceeds, in µs.
func P99(r runner.Record) float64 { return r.P99 }

// Memory is the most memory that client and server held, in MiB.
func Memory(r runner.Record) float64 { return r.ClientRSS + r.ServerRSS }

// ClientMemory is the client's part of [Memory].
func ClientMemory(r runner.Record) float64 { return r.ClientRSS }

// ServerMemory is the server's part of [Memory].
func ServerMemory(r runner.Record) float64 { return r.ServerRSS }

// Ideal is the rate at which all callers of a sleeping handler sleep at the same
// time.
func Ideal(r runner.Record) float64 { return Measured(r.Ideal) }

// Allocs is what both sides allocated for a call; a peer that does not count has
// none.
func Allocs(r runner.Record) float64 { return ClientAllocs(r) + ServerAllocs(r) }

// ClientAllocs is the client's part of [Allocs].
func ClientAllocs(r runner.Record) float64 { return counted(r.ClientAllocs) }

// ServerAllocs is the server's part of [Allocs].
func ServerAllocs(r runner.Record) float64 { return counted(r.ServerAllocs) }

// Measured is a value that cannot be 0 when it was measured: NaN in place of 0.
func Measured(v float64) float64 {
	if v == 0 {
		return math.NaN()
	}
	return v
}

func counted(v *float64) float64 {
	if v == nil {
		return math.NaN()
	}
	return *v
}
