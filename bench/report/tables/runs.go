package tables

import (
	"cmp"
	"fmt"

	"github.com/weftrpc/weft/bench/report/comparison"
	"github.com/weftrpc/weft/bench/report/records"
	"github.com/weftrpc/weft/bench/report/table"
)

// Runs are all tables of figures of a comparison, as a terminal shows them: each
// plain point with every codec, the other workloads, and what went wrong.
func Runs(c *comparison.Comparison) []table.Table {
	all := plain(c)
	for _, s := range Sections(c) {
		all = append(all, s.Tables...)
	}
	for _, t := range []table.Table{Gaps(c), Failed(c), Disturbed(c)} {
		if len(t.Rows) > 0 {
			all = append(all, t)
		}
	}
	return all
}

// plain are the plain points.
func plain(c *comparison.Comparison) []table.Table {
	head := []table.Column{
		table.Figures("rate", "calls/s"), table.Figures("CPU", "µs/call"), table.Figures("client + server", "µs/call"),
		table.Figures("p50", "µs"), table.Figures("p99", "µs"), table.Figures("p99.9", "µs"), table.Figures("max", "µs"),
		table.Figures("allocations c + s", ""), table.Figures("writes", ""), table.Figures("reads", ""),
		table.Figures("memory c + s", "MiB"), table.Figures("conns", ""),
	}
	match := func(p comparison.Point) bool { return p == comparison.Plain(p.Callers) }
	return pointed(c, "plain", match, comparison.Throughput(), head, func(_ comparison.Point, _ comparison.Entry, runs records.Runs) []table.Cell {
		at := func(f records.Field) table.Cell { return short(runs.Figure(f)) }
		return []table.Cell{
			figure(runs.Figure(records.CallsPerSec)), figure(runs.Figure(records.CPU)),
			sides(runs.Figure(records.ClientCPU), runs.Figure(records.ServerCPU)),
			at(records.P50), figure(runs.Figure(records.P99)), at(comparison.P999().Field), at(comparison.Max().Field),
			sides(runs.Figure(records.ClientAllocs), runs.Figure(records.ServerAllocs)), at(writes), at(reads),
			sides(runs.Figure(records.ClientMemory), runs.Figure(records.ServerMemory)), at(conns),
		}
	})
}

// Failed are the runs of which some calls failed.
func Failed(c *comparison.Comparison) table.Table {
	t := table.Table{
		ID: "failed", Caption: "Runs with failed calls",
		Head: []table.Column{table.Text("run"), table.Figures("round", ""), table.Figures("failed", "calls"), table.Text("the first error")},
	}
	for _, r := range c.Runs {
		if r.Calls > 0 && r.Failures > 0 {
			t.Rows = append(t.Rows, table.Row{Cells: []table.Cell{
				words(r.Title()), table.Plain(fmt.Sprint(r.Round)), {Text: records.Count(r.Failures), Sort: float64(r.Failures)},
				words(cmp.Or(r.FirstError, records.None)),
			}})
		}
	}
	return t
}

// Disturbed are the runs that others disturbed, and by what.
func Disturbed(c *comparison.Comparison) table.Table {
	t := table.Table{
		ID: "disturbed", Caption: "Disturbed runs",
		Note: "What took the processors away meanwhile: other processes of this machine, those that used the most by name, and other machines on the same host (steal).",
		Head: []table.Column{table.Text("run"), table.Figures("round", ""), table.Text("disturbed by")},
	}
	for _, r := range c.Runs {
		if r.Disturbed {
			t.Rows = append(t.Rows, table.Row{Cells: []table.Cell{words(r.Title()), table.Plain(fmt.Sprint(r.Round)), words(r.DisturbedBy())}})
		}
	}
	return t
}

func words(text string) table.Cell { return table.Cell{Text: text, Class: "words"} }
