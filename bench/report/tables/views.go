package tables

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/weftrpc/weft/bench/report/comparison"
	"github.com/weftrpc/weft/bench/report/records"
	"github.com/weftrpc/weft/bench/report/table"
)

// Standings are weft's places among the peers of a view, by each metric and
// number of callers.
func Standings(c *comparison.Comparison, v comparison.View) table.Table {
	t := table.Table{
		ID: "standings-" + v.ID, Caption: "Where weft stands: " + strings.ToLower(v.Title[:1]) + v.Title[1:],
		Note: "The place of weft among all peers, and below it the best of the others with the ratio between the two; ~ where it is not so in every round.",
		Head: []table.Column{table.Text("by")},
	}
	for _, callers := range c.Callers() {
		t.Head = append(t.Head, callersColumn(callers))
	}
	for _, m := range []comparison.Metric{
		comparison.Throughput(), comparison.CPU(), comparison.P50(), comparison.P99(), comparison.P999(), comparison.Memory(),
	} {
		cells := []table.Cell{table.Plain(m.Name)}
		known := false
		for _, callers := range c.Callers() {
			s := c.Standing(v, comparison.Plain(callers), m)
			known = known || s.Known
			cells = append(cells, standing(s))
		}
		if known {
			t.Rows = append(t.Rows, table.Row{Cells: cells})
		}
	}
	return t
}

func standing(s comparison.Standing) table.Cell {
	if !s.Known {
		return short(records.Figure{})
	}
	cell := table.Cell{Text: ordinal(s.Place), Class: "place " + heat(1/s.Lead), Sort: float64(s.Place)}
	if s.First() {
		cell.Small = records.Times(s.Lead) + " ahead of " + s.Rival.Peer
	} else {
		cell.Small = s.Rival.Peer + " " + records.Times(1/s.Lead) + " ahead"
	}
	if !s.Every {
		cell.Small += " ~"
	}
	return cell
}

func ordinal(n int) string {
	suffix := "th"
	if n%100 < 11 || n%100 > 13 {
		switch n % 10 {
		case 1:
			suffix = "st"
		case 2:
			suffix = "nd"
		case 3:
			suffix = "rd"
		}
	}
	return fmt.Sprintf("%d%s", n, suffix)
}

// callersColumn is a column for a number of callers.
func callersColumn(callers int) table.Column {
	number, unit, _ := strings.Cut(records.Counted(callers, "caller"), " ")
	return table.Figures(number, unit)
}

// Defeats are all that peers are better at than weft.
func Defeats(c *comparison.Comparison, v comparison.View) table.Table {
	t := table.Table{
		ID: "defeats-" + v.ID, Caption: "Where a peer beats weft: " + strings.ToLower(v.Title[:1]) + v.Title[1:],
		Note: "All workloads, with the number of callers. The greatest difference first; ~ marks points at which it is not so in every round.",
		Head: []table.Column{table.Text("peer"), table.Text("by"), table.Figures("up to", "times better"), table.Text("where")},
	}
	for _, d := range c.Defeats(v) {
		t.Rows = append(t.Rows, row(d.Entry,
			table.Cell{Text: d.Entry.Peer, Small: d.Entry.Codec}, table.Plain(d.Metric.Name),
			table.Cell{Text: records.Times(d.Most), Class: heat(d.Most), Sort: d.Most}, table.Cell{Text: d.Places(), Class: "words"}))
	}
	return t
}

// Ratios is a metric of every peer over weft's, a column for each number of
// callers. The row of weft has the figures themselves.
func Ratios(c *comparison.Comparison, v comparison.View, m comparison.Metric) table.Table {
	t := table.Table{
		ID: "ratios-" + m.ID + "-" + v.ID, Caption: records.Capital(m.Name) + ", over weft's",
		Head: []table.Column{table.Text("peer")},
		Note: "The row of weft has the figures themselves, in " + m.Unit + "; " + m.Direction() + ".",
	}
	for _, callers := range c.Callers() {
		t.Head = append(t.Head, callersColumn(callers))
	}
	for _, e := range overall(c, v, m) {
		cells := []table.Cell{{Text: e.Peer, Small: e.Codec}}
		known := false
		for _, callers := range c.Callers() {
			p := comparison.Plain(callers)
			cell := ratio(m, c.Ratio(v, p, m, e))
			if e.Peer == comparison.Weft {
				cell = short(c.At(p, e).Figure(m.Field))
			}
			known = known || cell.Class != "none"
			cells = append(cells, cell)
		}
		if known {
			t.Rows = append(t.Rows, row(e, cells...))
		}
	}
	return t
}

// overall are the entries of a view in order of their ratios to weft, the best
// first.
func overall(c *comparison.Comparison, v comparison.View, m comparison.Metric) []comparison.Entry {
	score := func(e comparison.Entry) float64 {
		var ratios []float64
		for _, callers := range c.Callers() {
			if r := m.Better(c.Ratio(v, comparison.Plain(callers), m, e)); r.Known() {
				ratios = append(ratios, r.Median)
			}
		}
		return records.FigureOf(ratios).Median
	}
	return slices.SortedStableFunc(slices.Values(v.Entries), func(a, b comparison.Entry) int { return cmp.Compare(score(b), score(a)) })
}

// Full has all figures of the entries of a view at one point.
func Full(c *comparison.Comparison, v comparison.View, p comparison.Point) table.Table {
	t := table.Table{
		ID: fmt.Sprintf("full-%s-%d", v.ID, p.Callers), Caption: records.Capital(p.Title()),
		Head: []table.Column{
			table.Text("peer"), table.Figures("rate", "calls/s"), table.Figures("of weft's", "rate"),
			table.Figures("CPU", "µs/call"), table.Figures("client + server", "µs/call"), table.Figures("of weft's", "CPU"),
			table.Figures("min", "µs"), table.Figures("mean", "µs"), table.Figures("p50", "µs"), table.Figures("p90", "µs"), table.Figures("p99", "µs"),
			table.Figures("p99.9", "µs"), table.Figures("max", "µs"), table.Figures("memory c + s", "MiB"), table.Figures("conns", ""),
		},
	}
	throughput, cpu := comparison.Throughput(), comparison.CPU()
	for _, e := range c.Ranked(v, p, throughput) {
		runs := c.At(p, e)
		at := func(f records.Field) table.Cell { return short(runs.Figure(f)) }
		t.Rows = append(t.Rows, row(e, name(e, runs),
			figure(runs.Figure(throughput.Field)), ratio(throughput, c.Ratio(v, p, throughput, e)),
			figure(runs.Figure(cpu.Field)), sides(runs.Figure(records.ClientCPU), runs.Figure(records.ServerCPU)), ratio(cpu, c.Ratio(v, p, cpu, e)),
			at(least), at(comparison.Mean().Field), at(comparison.P50().Field), at(p90), figure(runs.Figure(comparison.P99().Field)),
			at(comparison.P999().Field), at(comparison.Max().Field),
			sides(runs.Figure(records.ClientMemory), runs.Figure(records.ServerMemory)), at(conns)))
	}
	return t
}

// Costs are what a call takes of the machine and of the network.
func Costs(c *comparison.Comparison, v comparison.View, p comparison.Point) table.Table {
	t := table.Table{
		ID: fmt.Sprintf("costs-%s-%d", v.ID, p.Callers), Caption: records.Capital(p.Title()),
		Head: []table.Column{
			table.Text("peer"), table.Figures("bytes", "on the wire"), table.Figures("packets", ""), table.Figures("writes", "system calls"),
			table.Figures("reads", "system calls"), table.Figures("allocations", "client + server"), table.Figures("soft interrupts", "µs"),
			table.Figures("CPU", "µs"),
		},
	}
	for _, e := range c.Ranked(v, p, comparison.CPU()) {
		runs := c.At(p, e)
		t.Rows = append(t.Rows, row(e, name(e, runs),
			short(runs.Figure(wireBytes)), short(runs.Figure(packets)), short(runs.Figure(writes)), short(runs.Figure(reads)),
			sides(runs.Figure(records.ClientAllocs), runs.Figure(records.ServerAllocs)), short(runs.Figure(softIRQ)),
			short(runs.Figure(comparison.CPU().Field))))
	}
	return t
}
