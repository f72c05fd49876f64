package tables

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/weftrpc/weft/bench/contract"
	"github.com/weftrpc/weft/bench/internal/runner"
	"github.com/weftrpc/weft/bench/report/comparison"
	"github.com/weftrpc/weft/bench/report/records"
	"github.com/weftrpc/weft/bench/report/table"
)

// pointed makes one table for each point that matches: a row for each entry in
// order of a metric, with the columns that fill gives, and the metric over that
// of weft's best entry there.
func pointed(c *comparison.Comparison, id string, match func(comparison.Point) bool, m comparison.Metric,
	head []table.Column, fill func(comparison.Point, comparison.Entry, records.Runs) []table.Cell) []table.Table {
	var all []table.Table
	for i, p := range c.Points(match) {
		t := table.Table{
			ID: fmt.Sprintf("%s-%d", id, i), Caption: records.Capital(p.Title()),
			Head: slices.Concat([]table.Column{table.Text("peer")}, head, []table.Column{table.Figures("of weft's", shortName(m))}),
		}
		ranked := c.Ranked(comparison.View{Entries: c.Entries(p)}, p, m)
		var weft records.Runs
		if i := slices.IndexFunc(ranked, func(e comparison.Entry) bool { return e.Peer == comparison.Weft }); i >= 0 {
			weft = c.At(p, ranked[i])
		}
		for _, e := range ranked {
			runs := c.At(p, e)
			cells := slices.Concat([]table.Cell{name(e, runs)}, fill(p, e, runs), []table.Cell{ratio(m, runs.Over(m.Field, weft, m.Field))})
			t.Rows = append(t.Rows, row(e, cells...))
		}
		all = append(all, t)
	}
	return all
}

// shortName is a metric as the head of a column has it.
func shortName(m comparison.Metric) string {
	if m.Higher {
		return "rate"
	}
	name, _, _ := strings.Cut(m.Name, " ")
	return name
}

// beside are the runs of the same entry in the plain workload.
func beside(c *comparison.Comparison, p comparison.Point, e comparison.Entry) records.Runs {
	return c.At(comparison.Plain(p.Callers), e)
}

// Mixed are the workloads in which other calls disturb the plain ones.
func Mixed(c *comparison.Comparison) []table.Table {
	p99, throughput := comparison.P99(), comparison.Throughput()
	head := []table.Column{
		table.Figures("p99 alone", "µs"), table.Figures("p99 here", "µs"), table.Figures("of alone", "p99"),
		table.Figures("rate alone", "calls/s"), table.Figures("rate here", "calls/s"),
		table.Figures("side calls", "calls/s"), table.Figures("their p50", "µs"), table.Figures("their p99", "µs"),
	}
	match := func(p comparison.Point) bool {
		return p.Workload == contract.Slow || p.Workload == contract.Mixed || p.Workload == contract.Large
	}
	return pointed(c, "mixed", match, p99, head, func(p comparison.Point, e comparison.Entry, runs records.Runs) []table.Cell {
		alone := beside(c, p, e)
		return []table.Cell{
			short(alone.Figure(p99.Field)), figure(runs.Figure(p99.Field)), factor(runs.Over(p99.Field, alone, p99.Field)),
			short(alone.Figure(throughput.Field)), short(runs.Figure(throughput.Field)),
			short(runs.Figure(records.SideCallsPerSec)), short(runs.Figure(sideP50)), short(runs.Figure(sideP99)),
		}
	})
}

// factor is a ratio that compares an entry with itself.
func factor(f records.Figure) table.Cell {
	cell := short(f)
	if f.Known() {
		cell.Text = records.Times(f.Median)
	}
	return cell
}

// Delayed is the workload whose handler sleeps.
func Delayed(c *comparison.Comparison) []table.Table {
	throughput := comparison.Throughput()
	head := []table.Column{
		table.Figures("rate", "calls/s"), table.Figures("of ideal", "%"), table.Figures("CPU", "µs/call"),
		table.Figures("p50", "µs"), table.Figures("p99", "µs"), table.Figures("max", "µs"), table.Figures("memory c + s", "MiB"),
	}
	match := func(p comparison.Point) bool { return p.Workload == contract.Delay }
	return pointed(c, "delay", match, throughput, head, func(_ comparison.Point, _ comparison.Entry, runs records.Runs) []table.Cell {
		share := runs.Figure(func(r runner.Record) float64 { return 100 * r.CallsPerSec / records.Ideal(r) })
		return []table.Cell{
			figure(runs.Figure(throughput.Field)), short(share), short(runs.Figure(comparison.CPU().Field)),
			short(runs.Figure(comparison.P50().Field)), short(runs.Figure(comparison.P99().Field)), short(runs.Figure(comparison.Max().Field)),
			sides(runs.Figure(records.ClientMemory), runs.Figure(records.ServerMemory)),
		}
	})
}

// Math are the workloads of a small call, over one long connection and over a new
// one each. Beside the processor time is its ratio to that of plain TCP, which
// connects, exchanges two frames and closes.
func Math(c *comparison.Comparison) []table.Table {
	throughput, cpu := comparison.Throughput(), comparison.CPU()
	head := []table.Column{
		table.Figures("rate", "calls/s"), table.Figures("time", "s"), table.Figures("mean", "µs"), table.Figures("p50", "µs"),
		table.Figures("p99", "µs"), table.Figures("max", "µs"), table.Figures("CPU", "µs/call"), table.Figures("of tcp's", "CPU"),
		table.Figures("memory c + s", "MiB"),
	}
	match := func(p comparison.Point) bool { return p.Workload == contract.Math || p.Workload == contract.MathNew }
	return pointed(c, "math", match, throughput, head, func(p comparison.Point, _ comparison.Entry, runs records.Runs) []table.Cell {
		tcp := c.At(p, comparison.Entry{Peer: "tcp", Codec: contract.Raw})
		return []table.Cell{
			figure(runs.Figure(throughput.Field)), short(runs.Figure(func(r runner.Record) float64 { return r.Seconds })),
			short(runs.Figure(comparison.Mean().Field)), short(runs.Figure(comparison.P50().Field)), short(runs.Figure(comparison.P99().Field)),
			short(runs.Figure(comparison.Max().Field)), short(runs.Figure(cpu.Field)), factor(runs.Over(cpu.Field, tcp, cpu.Field)),
			sides(runs.Figure(records.ClientMemory), runs.Figure(records.ServerMemory)),
		}
	})
}

// Open is the open loop: a given rate, latency from the intended time.
func Open(c *comparison.Comparison) []table.Table {
	p99 := comparison.P99()
	head := []table.Column{
		table.Figures("asked", "calls/s"), table.Figures("reached", "calls/s"), table.Figures("mean", "µs"), table.Figures("p50", "µs"),
		table.Figures("p99", "µs"), table.Figures("p99.9", "µs"), table.Figures("max", "µs"), table.Figures("CPU", "µs/call"),
	}
	match := func(p comparison.Point) bool { return p.Share > 0 }
	return pointed(c, "open", match, p99, head, func(_ comparison.Point, _ comparison.Entry, runs records.Runs) []table.Cell {
		return []table.Cell{
			short(runs.Figure(askedRate)), short(runs.Figure(comparison.Throughput().Field)),
			short(runs.Figure(comparison.Mean().Field)), short(runs.Figure(comparison.P50().Field)), figure(runs.Figure(p99.Field)),
			short(runs.Figure(comparison.P999().Field)), short(runs.Figure(comparison.Max().Field)), short(runs.Figure(comparison.CPU().Field)),
		}
	})
}

// Elsewhere is the plain workload over two servers, and between two network
// namespaces.
func Elsewhere(c *comparison.Comparison) []table.Table {
	throughput := comparison.Throughput()
	head := []table.Column{
		table.Figures("rate", "calls/s"), table.Figures("of the plain", "rate"), table.Figures("CPU", "µs/call"), table.Figures("p50", "µs"),
		table.Figures("p99", "µs"), table.Figures("p99.9", "µs"), table.Figures("bytes", "a call"), table.Figures("packets", "a call"),
	}
	match := func(p comparison.Point) bool {
		return p.Workload == contract.Echo && p.Share == 0 && (p.Servers > 1 || p.Network == runner.Namespaces || p.Clients > 1)
	}
	return pointed(c, "elsewhere", match, throughput, head, func(p comparison.Point, e comparison.Entry, runs records.Runs) []table.Cell {
		return []table.Cell{
			figure(runs.Figure(throughput.Field)), factor(runs.Over(throughput.Field, beside(c, p, e), throughput.Field)),
			short(runs.Figure(comparison.CPU().Field)), short(runs.Figure(comparison.P50().Field)), figure(runs.Figure(comparison.P99().Field)),
			short(runs.Figure(comparison.P999().Field)), short(runs.Figure(wireBytes)), short(runs.Figure(packets)),
		}
	})
}

// Codecs are what encoding, decoding and a whole call cost with each codec.
func Codecs(c *comparison.Comparison) []table.Table {
	var operations []string
	for _, r := range c.Codecs {
		if !slices.Contains(operations, r.Operation) {
			operations = append(operations, r.Operation)
		}
	}
	var all []table.Table
	for _, operation := range operations {
		t := table.Table{
			ID: "codecs-" + operation, Caption: records.Capital(operation),
			Head: []table.Column{
				table.Text("codec"), table.Text("peer"), table.Figures("time", "ns"), table.Figures("memory", "bytes"),
				table.Figures("allocations", ""), table.Figures("size", "bytes"),
			},
		}
		for _, codec := range codecsOf(c.Codecs, operation) {
			t.Rows = append(t.Rows, codecRow(c.Codecs, operation, codec))
		}
		slices.SortStableFunc(t.Rows, func(a, b table.Row) int { return cmp.Compare(a.Cells[2].Sort, b.Cells[2].Sort) })
		all = append(all, t)
	}
	return all
}

// codecsOf are the codecs and peers with an operation.
func codecsOf(all []records.Codec, operation string) []comparison.Entry {
	var some []comparison.Entry
	for _, r := range all {
		if e := (comparison.Entry{Peer: r.Peer, Codec: r.Codec}); r.Operation == operation && !slices.Contains(some, e) {
			some = append(some, e)
		}
	}
	return some
}

// codecRow has the medians of all records of an operation of a codec.
func codecRow(all []records.Codec, operation string, e comparison.Entry) table.Row {
	var ns, bytes, allocs, size []float64
	for _, r := range all {
		if r.Operation == operation && r.Codec == e.Codec && r.Peer == e.Peer {
			ns, bytes, allocs, size = append(ns, r.NsPerOp), append(bytes, r.BytesPerOp), append(allocs, r.AllocsPerOp), append(size, records.Measured(r.Size))
		}
	}
	peer := e.Peer
	if peer == "" {
		peer = records.None
	}
	whole := row(e, table.Plain(e.Codec), table.Plain(peer))
	for _, values := range [][]float64{ns, bytes, allocs, size} {
		whole.Cells = append(whole.Cells, short(records.FigureOf(values)))
	}
	return whole
}
