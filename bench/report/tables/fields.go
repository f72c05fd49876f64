package tables

import (
	"github.com/weftrpc/weft/bench/internal/runner"
	"github.com/weftrpc/weft/bench/report/records"
)

// Fields that are only shown.
func softIRQ(r runner.Record) float64   { return r.SoftIRQ }
func least(r runner.Record) float64     { return r.Min }
func p90(r runner.Record) float64       { return r.P90 }
func conns(r runner.Record) float64     { return float64(r.Conns) }
func writes(r runner.Record) float64    { return r.WritesPerCall }
func reads(r runner.Record) float64     { return r.ReadsPerCall }
func wireBytes(r runner.Record) float64 { return records.Measured(r.BytesPerCall) }
func packets(r runner.Record) float64   { return records.Measured(r.PacketsPerCall) }
func sideP50(r runner.Record) float64   { return records.Measured(r.SideP50) }
func sideP99(r runner.Record) float64   { return records.Measured(r.SideP99) }
func askedRate(r runner.Record) float64 { return records.Measured(r.Rate) }
