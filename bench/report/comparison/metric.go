package comparison

import (
	"github.com/weftrpc/weft/bench/internal/runner"
	"github.com/weftrpc/weft/bench/report/records"
)

// Metric is a figure by which entries are compared.
type Metric struct {
	ID     string // for file names and anchors
	Name   string
	Unit   string
	Higher bool // whether more is better
	Field  records.Field
}

// Throughput is how many calls end in a second.
func Throughput() Metric {
	return Metric{"throughput", "calls per second", "calls/s", true, records.CallsPerSec}
}

// CPU is user and system time of client and server together.
func CPU() Metric {
	return Metric{"cpu", "CPU per call", "µs", false, records.CPU}
}

// Mean is that of the latency.
func Mean() Metric {
	return Metric{"mean", "mean latency", "µs", false, func(r runner.Record) float64 { return r.Mean }}
}

// P50 is the median of the latency.
func P50() Metric {
	return Metric{"p50", "median latency", "µs", false, records.P50}
}

// P99 is the latency that one call in a hundred exceeds.
func P99() Metric {
	return Metric{"p99", "p99 latency", "µs", false, records.P99}
}

// P999 is the latency that one call in a thousand exceeds.
func P999() Metric {
	return Metric{"p999", "p99.9 latency", "µs", false, func(r runner.Record) float64 { return r.P999 }}
}

// Max is the greatest latency.
func Max() Metric {
	return Metric{"max", "greatest latency", "µs", false, func(r runner.Record) float64 { return r.Max }}
}

// Memory is the most that client and server held.
func Memory() Metric {
	return Metric{"memory", "memory", "MiB", false, records.Memory}
}

// Better turns the ratio of an entry's figure over another's into how many times
// better it is: above 1 it is better.
func (m Metric) Better(ratio records.Figure) records.Figure {
	if m.Higher {
		return ratio
	}
	return ratio.Inverse()
}

// Direction is which way a figure is good: "higher is better" or "lower is better".
func (m Metric) Direction() string {
	if m.Higher {
		return "higher is better"
	}
	return "lower is better"
}
