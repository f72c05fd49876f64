package load

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/weftrpc/weft/cmd/weft/internal/shell"
)

// comparison is what a measurement is to an older one.
type comparison struct {
	File    string   `json:"file"`
	Metrics []metric `json:"metrics"`
	Notes   []string `json:"notes,omitempty"` // why the two may not be comparable

	old *summary
}

// metric is one figure of both.
type metric struct {
	Name    string  `json:"name"`
	Before  float64 `json:"before"`
	Now     float64 `json:"now"`
	Ratio   float64 `json:"ratio"`           // Now to Before
	Noise   float64 `json:"noise,omitempty"` // by how much the ratio may be off by chance, as a share of it; 0: not known
	Verdict string  `json:"verdict"`
}

// The verdicts.
const (
	same    = "no difference" // beyond the noise
	better  = "better"
	worse   = "worse"
	unknown = "not known" // there are too few calls or intervals to know the noise
)

// readOld reads a file that 'weft bench -o json' has written.
func readOld(path string) (*summary, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, shell.Unreadable("--compare", err)
	}
	s := new(summary)
	if err := json.Unmarshal(text, s); err != nil || s.Method == "" || s.Calls == 0 {
		return nil, shell.Unreadable("--compare", fmt.Errorf("%s has no figures that 'weft bench -o json' has written", path))
	}
	return s, nil
}

// compare compares a measurement with an older one.
func compare(file string, old, now *summary) *comparison {
	c := &comparison{File: file, old: old}
	rate := func(i *interval) float64 { return float64(i.Calls) / i.Length }
	for _, m := range []struct {
		name        string
		before, now float64
		of          func(*interval) float64
	}{
		{"calls a second", old.Rate, now.Rate, rate},
		{"mean", old.Mean, now.Mean, func(i *interval) float64 { return i.Mean }},
		{"50 %", old.P50, now.P50, func(i *interval) float64 { return i.P50 }},
		{"90 %", old.P90, now.P90, func(i *interval) float64 { return i.P90 }},
		{"99 %", old.P99, now.P99, func(i *interval) float64 { return i.P99 }},
		{"99.9 %", old.P999, now.P999, func(i *interval) float64 { return i.P999 }},
	} {
		one := metric{Name: m.name, Before: m.before, Now: m.now, Verdict: unknown}
		if m.before > 0 {
			one.Ratio = m.now / m.before
		}
		idle := m.name == "calls a second" // an interval without calls has a rate, and no times
		a, knownA := noiseOf(old.Intervals, idle, m.of)
		b, knownB := noiseOf(now.Intervals, idle, m.of)
		if knownA && knownB && one.Ratio > 0 {
			one.Noise = math.Hypot(a, b)
			// The rate of an open loop is that which was asked for, without any noise: less than 1 % is no difference.
			one.Verdict = verdict(one.Ratio, max(one.Noise, 0.01), m.name == "calls a second")
		}
		c.Metrics = append(c.Metrics, one)
	}
	switch {
	case old.Method != now.Method:
		c.Notes = append(c.Notes, fmt.Sprintf("the methods differ: %s before, %s now", old.Method, now.Method))
	case old.Callers != now.Callers, old.Asked != now.Asked:
		c.Notes = append(c.Notes, fmt.Sprintf("the loads differ: %s before, %s now", old.loop(), now.loop()))
	}
	if old.Failed > 0 || now.Failed > 0 {
		c.Notes = append(c.Notes, fmt.Sprintf("calls failed: %d of %d before, %d of %d now", old.Failed, old.Calls, now.Failed, now.Calls))
	}
	return c
}

func verdict(ratio, noise float64, moreIsBetter bool) string {
	switch {
	case math.Abs(ratio-1) <= noise:
		return same
	case ratio > 1 == moreIsBetter:
		return better
	}
	return worse
}

// leastIntervals is how many intervals with calls say how much a figure varies.
const leastIntervals = 5

// noiseOf is by how much a figure may be off by chance, as a share of it: twice its standard error, which is
// that of the mean of the intervals. Those without calls count if idle is set.
func noiseOf(all []interval, idle bool, of func(*interval) float64) (noise float64, known bool) {
	var n, sum, squares float64
	for i := range all {
		if all[i].Calls == 0 && !idle {
			continue
		}
		v := of(&all[i])
		n, sum, squares = n+1, sum+v, squares+v*v
	}
	if n < leastIntervals || sum <= 0 {
		return 0, false
	}
	mean := sum / n
	variance := max(squares/n-mean*mean, 0) * n / (n - 1)
	return 2 * math.Sqrt(variance/n) / mean, true
}

// slower is by how much the median or the 99 % quantile has become longer, without the noise; at most 1: it
// has not.
func (c *comparison) slower() (worst float64, name string) {
	worst = 1
	for _, m := range c.Metrics {
		if least := m.Ratio * (1 - m.Noise); (m.Name == "50 %" || m.Name == "99 %") && m.Verdict == worse && least > worst {
			worst, name = least, m.Name
		}
	}
	return worst, name
}

// text writes the comparison as a table.
func (c *comparison) text(b *strings.Builder) {
	fmt.Fprintf(b, "\nCompared with %s of %s:\n\n", c.File, c.old.At.Local().Format("2006-01-02 15:04"))
	w := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "  \tBEFORE\tNOW\tRATIO\tNOISE\t")
	for _, m := range c.Metrics {
		fmt.Fprintf(w, "  %s\t%s\t%s\t%.3f\t%s\t%s\n", m.Name, m.shown(m.Before), m.shown(m.Now), m.Ratio, m.noise(), m.Verdict)
	}
	_ = w.Flush() // to memory
	for _, note := range c.Notes {
		fmt.Fprintf(b, "\nThe figures may not be comparable: %s.\n", note)
	}
}

// shown is a value of the metric.
func (m *metric) shown(v float64) string {
	if m.Name == "calls a second" {
		return fmt.Sprintf("%.1f", v)
	}
	return shell.Seconds(v).String()
}

func (m *metric) noise() string {
	if m.Verdict == unknown {
		return "-"
	}
	return fmt.Sprintf("±%.1f%%", 100*m.Noise)
}
