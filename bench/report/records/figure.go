package records

import (
	"cmp"
	"slices"
	"time"

	"github.com/weftrpc/weft/bench/internal/runner"
)

// Runs are records, mostly those of one kind of run, one for each round.
type Runs []runner.Record

// Field is one figure of a record; NaN where the record does not have it.
type Field func(runner.Record) float64

// Figure sums up one field over the rounds. Without rounds it is unknown.
type Figure struct {
	Median, Least, Most float64
	Rounds              int
}

// Known reports whether there was a round at all.
func (f Figure) Known() bool { return f.Rounds > 0 }

// Figure of a field over all runs that have it.
func (some Runs) Figure(f Field) Figure {
	values := make([]float64, len(some))
	for i, r := range some {
		values[i] = f(r)
	}
	return FigureOf(values)
}

// FigureOf is the median of some values, with the least and the greatest. NaN is
// no value. The values are put in order.
func FigureOf(values []float64) Figure {
	values = slices.DeleteFunc(values, func(v float64) bool { return v != v })
	if len(values) == 0 {
		return Figure{}
	}
	slices.Sort(values)
	middle := len(values) / 2
	median := values[middle]
	if len(values)%2 == 0 {
		median = (values[middle-1] + values[middle]) / 2
	}
	return Figure{Median: median, Least: values[0], Most: values[len(values)-1], Rounds: len(values)}
}

// Over divides a field of each run by a field of the run of the others that was
// made nearest in time, so that the machine was as busy for both.
func (some Runs) Over(f Field, others Runs, g Field) Figure {
	if len(others) == 0 {
		return Figure{}
	}
	var ratios []float64
	for _, r := range some {
		apart := func(o runner.Record) time.Duration { return o.Time.Sub(r.Time).Abs() }
		near := slices.MinFunc(others, func(a, b runner.Record) int { return cmp.Compare(apart(a), apart(b)) })
		if v := g(near); v > 0 {
			ratios = append(ratios, f(r)/v)
		}
	}
	return FigureOf(ratios)
}

// Inverse is the figure of the reciprocals.
func (f Figure) Inverse() Figure {
	if !f.Known() || f.Least <= 0 {
		return Figure{}
	}
	return Figure{Median: 1 / f.Median, Least: 1 / f.Most, Most: 1 / f.Least, Rounds: f.Rounds}
}
