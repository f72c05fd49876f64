// Package figures makes metrics of the statistics that servers and clients keep, for the
// plugins that publish them. Names and labels are decided here alone.
package figures

import (
	"fmt"
	"slices"
)

// Kind is the kind of a family.
type Kind string

// The kinds of families, by their names in the text format of Prometheus.
const (
	Counter   Kind = "counter"
	Gauge     Kind = "gauge"
	Histogram Kind = "histogram"
)

// Label is one label of a sample.
type Label struct{ Name, Value string }

// Sample is one time series of a family at a moment.
type Sample struct {
	Labels       []Label // those with an empty value are left out
	Value        float64 // of a counter or a gauge
	Distribution *Distribution
}

// Distribution is the value of a histogram.
type Distribution struct {
	Count   uint64
	Sum     float64  // seconds
	Buckets []Bucket // that hold something, in order
}

// Bucket is one bucket of weft's own histograms.
type Bucket struct {
	Lower, Upper float64 // seconds
	Count        uint64
}

// Family is a metric with all its time series.
type Family struct {
	Name, Help string
	Kind       Kind
	Samples    []Sample
}

// Bounds are the upper bounds of classic buckets, in seconds: those that the conventions of
// OpenTelemetry advise for calls, and five below them.
func Bounds() []float64 {
	return []float64{0.0001, 0.00025, 0.0005, 0.001, 0.0025,
		0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10}
}

// BoundsOf are the bounds of a configuration, or else those of Bounds. It panics with the name of the
// package of the configuration if they are not in order.
func BoundsOf(pkg string, bounds []float64) []float64 {
	if bounds == nil {
		return Bounds()
	}
	for i := range bounds {
		if i > 0 && !(bounds[i] > bounds[i-1]) {
			panic(fmt.Sprintf("%s: Config.Bounds %v are not in order", pkg, bounds))
		}
	}
	return slices.Clone(bounds)
}

// Fold returns the cumulative counts of classic buckets. A bucket of weft's that crosses a
// bound counts above it.
func (d *Distribution) Fold(bounds []float64) []uint64 {
	out := make([]uint64, len(bounds))
	i := 0
	var n uint64
	for b, bound := range bounds {
		for i < len(d.Buckets) && d.Buckets[i].Upper <= bound*(1+1e-9) {
			n += d.Buckets[i].Count
			i++
		}
		out[b] = n
	}
	return out
}
