package page

import (
	"math"

	"github.com/weftrpc/weft/bench/internal/runner"
)

// Fields that are only shown.
func clientCPU(r runner.Record) float64    { return r.ClientCPU }
func serverCPU(r runner.Record) float64    { return r.ServerCPU }
func clientRSS(r runner.Record) float64    { return r.ClientRSS }
func serverRSS(r runner.Record) float64    { return r.ServerRSS }
func softIRQ(r runner.Record) float64      { return r.SoftIRQ }
func least(r runner.Record) float64        { return r.Min }
func p90(r runner.Record) float64          { return r.P90 }
func conns(r runner.Record) float64        { return float64(r.Conns) }
func wireBytes(r runner.Record) float64    { return known(r.BytesPerCall) }
func packets(r runner.Record) float64      { return known(r.PacketsPerCall) }
func writes(r runner.Record) float64       { return r.WritesPerCall }
func reads(r runner.Record) float64        { return r.ReadsPerCall }
func clientAllocs(r runner.Record) float64 { return counted(r.ClientAllocs) }
func serverAllocs(r runner.Record) float64 { return counted(r.ServerAllocs) }
func sideRate(r runner.Record) float64     { return known(r.SidePerSec) }
func sideP50(r runner.Record) float64      { return known(r.SideP50) }
func sideP99(r runner.Record) float64      { return known(r.SideP99) }
func ideal(r runner.Record) float64        { return known(r.Ideal) }
func rate(r runner.Record) float64         { return known(r.Rate) }

// known is a value that cannot be 0 when it was measured.
func known(v float64) float64 {
	if v == 0 {
		return math.NaN()
	}
	return v
}

// counted is a value that not every peer counts.
func counted(v *float64) float64 {
	if v == nil {
		return math.NaN()
	}
	return *v
}
