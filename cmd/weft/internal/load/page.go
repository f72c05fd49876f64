package load

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"maps"
	"math"
	"os"
	"slices"
	"time"

	"github.com/weftrpc/weft/cmd/weft/internal/shell"
)

// pageText is the template of the page.
//
//go:embed page.html
var pageText string

// page is what the template shows.
type page struct {
	*summary
	Loop    string
	Notes   []string
	Rows    []pageRow
	Counts  []pageCount
	Compare []pageRow
	Plots   []template.HTML
}

type pageRow struct{ Name, Now, Before, Ratio, Noise, Verdict string }

type pageCount struct {
	Code  string
	Calls uint64
}

// writePage writes a page with the figures and plots, which needs nothing from elsewhere.
func (s *summary) writePage(path string) error {
	view := page{summary: s, Loop: s.loop(), Notes: s.notes()}
	for _, f := range []struct {
		name  string
		value float64
	}{{"mean", s.Mean}, {"50 %", s.P50}, {"90 %", s.P90}, {"99 %", s.P99}, {"99.9 %", s.P999}, {"longest", s.Longest}} {
		view.Rows = append(view.Rows, pageRow{Name: f.name, Now: shell.Seconds(f.value).String()})
	}
	for _, code := range slices.Sorted(maps.Keys(s.Codes)) {
		view.Counts = append(view.Counts, pageCount{code, s.Codes[code]})
	}
	if c := s.Comparison; c != nil {
		view.Notes = append(view.Notes, c.Notes...)
		for _, m := range c.Metrics {
			view.Compare = append(view.Compare, pageRow{m.Name, m.shown(m.Now), m.shown(m.Before), fmt.Sprintf("%.3f", m.Ratio), m.noise(), m.Verdict})
		}
	}
	view.Plots = s.plots()
	t, err := template.New("page").Funcs(template.FuncMap{
		"duration": func(v float64) string { return shell.Seconds(v).Round(time.Millisecond).String() },
		"rate":     func(v float64) string { return fmt.Sprintf("%.1f", v) },
		"date":     func(at time.Time) string { return at.Format(time.RFC3339) },
	}).Parse(pageText)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := t.Execute(&b, view); err != nil {
		return err
	}
	return os.WriteFile(path, b.Bytes(), 0o644)
}

// plots are those of the page.
func (s *summary) plots() []template.HTML {
	seconds := func(v float64) string {
		return time.Duration(v * float64(time.Second)).Round(100 * time.Nanosecond).String()
	}
	times := plot{title: "Times by share of the calls", xLabel: "share of the calls", y: seconds, logY: true,
		lines: []line{{"now", "now", s.curve()}}}
	for n, text := range []string{"0 %", "90 %", "99 %", "99.9 %", "99.99 %"} {
		times.x = append(times.x, tick{float64(n), text})
	}
	rates := plot{title: "Calls a second", xLabel: "seconds", y: func(v float64) string { return fmt.Sprintf("%g", v) },
		lines: []line{{"now", "now", s.over(func(i *interval) float64 { return float64(i.Calls) / i.Length })}}}
	spread := plot{title: "Times as the measurement went on", xLabel: "seconds", y: seconds, logY: true,
		lines: []line{{"99 %", "now", s.over(func(i *interval) float64 { return i.P99 })}, {"50 %", "half", s.over(func(i *interval) float64 { return i.P50 })}}}
	if s.Comparison != nil {
		old := s.Comparison.old
		times.lines = append(times.lines, line{"before", "before", old.curve()})
		rates.lines = append(rates.lines, line{"before", "before", old.over(func(i *interval) float64 { return float64(i.Calls) / i.Length })})
		spread.lines = append(spread.lines, line{"99 % before", "before", old.over(func(i *interval) float64 { return i.P99 })})
	}
	for n := range 5 {
		at := s.Seconds * float64(n) / 4
		rates.x = append(rates.x, tick{at, fmt.Sprintf("%.3g", at)})
	}
	spread.x = rates.x
	return []template.HTML{times.svg(), spread.svg(), rates.svg()}
}

// mostNines is how many nines the curve has before it ends.
const mostNines = 5

// curve is the distribution, by the number of nines: 1 is 90 %, 2 is 99 %.
func (s *summary) curve() [][2]float64 {
	var all [][2]float64
	for _, p := range s.Percentiles {
		if p.Percentile < 100 && p.Seconds > 0 {
			all = append(all, [2]float64{min(-math.Log10(1-p.Percentile/100), mostNines), p.Seconds})
		}
	}
	return all
}

// over is a figure of the intervals over time; those without calls are left out.
func (s *summary) over(of func(*interval) float64) [][2]float64 {
	var all [][2]float64
	for n := range s.Intervals {
		if i := &s.Intervals[n]; i.Calls > 0 && of(i) > 0 {
			all = append(all, [2]float64{i.From + i.Length/2, of(i)})
		}
	}
	return all
}
