package page

import (
	"fmt"

	"github.com/weftrpc/weft/bench/internal/runner"
	"github.com/weftrpc/weft/bench/report/comparison"
	"github.com/weftrpc/weft/bench/report/plot"
	"github.com/weftrpc/weft/bench/report/records"
)

// Plot is one picture of the report.
type Plot struct {
	Name string // of its file, without ending
	More bool   // whether it is in the part that is folded away
	draw func(alone bool) string
}

// SVG is the plot as a file of its own.
func (p Plot) SVG() string { return p.draw(true) }

// Picture is the plot that documents show: calls per second of every peer with the
// codec that it is fastest with, and behind each bar the processor time of a call.
func Picture(c *comparison.Comparison) Plot {
	v, p, rate := c.Best(), comparison.Plain(shownCallers(c)), comparison.Throughput()
	b := plot.Bars{
		ID: "picture", Title: fmt.Sprintf("Calls per second, and CPU per call, at %s", records.Counted(p.Callers, "caller")),
		Desc: "Bars of the calls per second, one for each framework with the codec that it is fastest with; longer is better. Behind each the processor time of a call, client and server together; less is better. floor and tcp are no frameworks but marks.",
		Text: records.Thousands,
	}
	style := looks(c)
	for _, e := range c.Ranked(v, p, rate) {
		runs := c.At(p, e)
		f := runs.Figure(rate.Field)
		b.Bars = append(b.Bars, plot.Bar{
			Name: e.Peer, Look: style[e.Peer], Parts: []float64{f.Median}, Low: f.Least, High: f.Most,
			Small: runs.Figure(comparison.CPU().Field).Short() + " µs",
		})
	}
	return Plot{Name: b.ID, draw: b.SVG}
}

// plots of a view: lines over callers, bars, and curves.
func plots(c *comparison.Comparison, v comparison.View) []Plot {
	var all []Plot
	for _, m := range []comparison.Metric{
		comparison.Throughput(), comparison.P50(), comparison.P99(), comparison.P999(), comparison.Mean(), comparison.Max(),
	} {
		if l := overCallers(c, v, m); len(l.Series) > 0 && len(l.Ticks) > 1 {
			all = append(all, Plot{Name: l.ID, More: m.ID == "mean" || m.ID == "max", draw: l.SVG})
		}
	}
	for _, callers := range c.Callers() {
		p := comparison.Plain(callers)
		if b := processor(c, v, p); len(b.Bars) > 0 {
			all = append(all, Plot{Name: b.ID, More: callers != 100 && callers != 1000, draw: b.SVG})
		}
	}
	for _, callers := range c.Callers() {
		p := comparison.Plain(callers)
		if l := distribution(c, v, p); len(l.Series) > 0 {
			all = append(all, Plot{Name: l.ID, More: callers != 100 && callers != 1000, draw: l.SVG})
		}
		if b := memory(c, v, p); len(b.Bars) > 0 {
			all = append(all, Plot{Name: b.ID, More: callers != 100 && callers != 1000, draw: b.SVG})
		}
	}
	return all
}

// overCallers draws a metric over the number of callers, with whiskers.
func overCallers(c *comparison.Comparison, v comparison.View, m comparison.Metric) plot.Lines {
	l := plot.Lines{
		ID: m.ID + "-" + v.ID, Title: records.Capital(m.Name) + ", " + v.Short, XLabel: "callers", X: plot.Log, Y: plot.Log,
		Desc:  fmt.Sprintf("Lines of the %s over the number of callers, one for each peer; %s. The same figures are in the tables.", m.Name, m.Direction()),
		XText: plot.Short, YText: plot.Duration,
	}
	if m.Higher {
		l.Y, l.YText = plot.Linear, plot.Short
	}
	for _, callers := range c.Callers() {
		l.Ticks = append(l.Ticks, float64(callers))
	}
	style := looks(c)
	for _, e := range v.Entries {
		s := plot.Series{Name: e.Peer, Look: style[e.Peer]}
		for _, callers := range c.Callers() {
			if f := c.At(comparison.Plain(callers), e).Figure(m.Field); f.Known() && f.Median > 0 {
				s.Points = append(s.Points, plot.Point{X: float64(callers), Y: f.Median, Low: f.Least, High: f.Most})
			}
		}
		if len(s.Points) > 0 {
			l.Series = append(l.Series, s)
		}
	}
	return l
}

// processor draws the CPU per call of client and server.
func processor(c *comparison.Comparison, v comparison.View, p comparison.Point) plot.Bars {
	b := halves("cpu", "CPU per call, µs", "the processor time of a call", v, p)
	b.Bars = bars(c, v, p, comparison.CPU(), records.ClientCPU, records.ServerCPU)
	return b
}

// memory draws the greatest memory of client and server.
func memory(c *comparison.Comparison, v comparison.View, p comparison.Point) plot.Bars {
	b := halves("memory", "Peak memory, MiB", "the greatest memory", v, p)
	b.Bars = bars(c, v, p, comparison.Memory(), records.ClientMemory, records.ServerMemory)
	return b
}

// halves is a plot, still without bars, of what client and server took.
func halves(id, title, what string, v comparison.View, p comparison.Point) plot.Bars {
	return plot.Bars{
		ID: fmt.Sprintf("%s-%d-%s", id, p.Callers, v.ID), Title: fmt.Sprintf("%s, %s, %s", title, records.Counted(p.Callers, "caller"), v.Short),
		Desc:  "Bars of " + what + ", client and server, one for each peer; shorter is better. The same figures are in the tables.",
		Parts: []string{"client", "server"}, Text: records.Thousands,
	}
}

// bars are those of all entries, the best first, with their ratio to weft's.
func bars(c *comparison.Comparison, v comparison.View, p comparison.Point, m comparison.Metric, client, server records.Field) []plot.Bar {
	var all []plot.Bar
	style := looks(c)
	for _, e := range c.Ranked(v, p, m) {
		runs := c.At(p, e)
		total, first := runs.Figure(m.Field), runs.Figure(client)
		// The medians of the parts need not add up to that of the sum: the sum counts.
		share := first.Median / max(first.Median+runs.Figure(server).Median, 1e-9)
		bar := plot.Bar{
			Name: e.Peer, Look: style[e.Peer],
			Parts: []float64{total.Median * share, total.Median * (1 - share)}, Low: total.Least, High: total.Most,
		}
		if ratio := c.Ratio(v, p, m, e); ratio.Known() && e.Peer != comparison.Weft {
			bar.Small = records.Times(ratio.Median)
		}
		all = append(all, bar)
	}
	return all
}

// distribution draws the latency of all calls by percentile.
func distribution(c *comparison.Comparison, v comparison.View, p comparison.Point) plot.Lines {
	l := plot.Lines{
		ID: fmt.Sprintf("latency-%d-%s", p.Callers, v.ID), Title: fmt.Sprintf("Latency by percentile, %s, %s", records.Counted(p.Callers, "caller"), v.Short),
		Desc:   "Curves of the latency that a percentage of all calls does not exceed, one for each peer; lower is better.",
		XLabel: "percentile", X: plot.Percentile, Y: plot.Log,
		XText: func(v float64) string { return fmt.Sprintf("%g", v) }, YText: plot.Duration,
	}
	style := looks(c)
	for _, e := range v.Entries {
		if points := curve(c.At(p, e)); len(points) > 0 {
			l.Series = append(l.Series, plot.Series{Name: e.Peer, Look: style[e.Peer], Points: points})
		}
	}
	return l
}

// curve is the median over the rounds at each percentile that the number of
// calls in every round allows to know.
func curve(runs records.Runs) []plot.Point {
	const enough = 10 // calls beyond a percentile
	var points []plot.Point
	for i, percent := range runner.CurvePoints() {
		var values []float64
		for _, r := range runs {
			if i >= len(r.Curve) || r.Curve[i] <= 0 || float64(r.Calls)*(1-percent/100) < enough {
				return points
			}
			values = append(values, r.Curve[i])
		}
		if f := records.FigureOf(values); f.Known() {
			points = append(points, plot.Point{X: percent, Y: f.Median})
		}
	}
	return points
}
