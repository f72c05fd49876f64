package tables

import (
	"fmt"
	"math"
	"strings"

	"github.com/weftrpc/weft/bench/report/comparison"
	"github.com/weftrpc/weft/bench/report/records"
	"github.com/weftrpc/weft/bench/report/table"
)

// figure is a cell with the median, and the spread below.
func figure(f records.Figure) table.Cell {
	c := short(f)
	c.Small = strings.TrimSpace(f.Spread())
	return c
}

// short is a cell with the median alone.
func short(f records.Figure) table.Cell {
	if !f.Known() {
		return table.Cell{Text: records.None, Class: "none", Sort: math.MaxFloat64}
	}
	return table.Cell{Text: f.Short(), Sort: f.Median}
}

// sides is a figure of the client and one of the server.
func sides(client, server records.Figure) table.Cell {
	if !client.Known() || !server.Known() {
		return short(records.Figure{})
	}
	return table.Cell{Text: client.Short() + " + " + server.Short(), Sort: client.Median + server.Median}
}

// ratio is a cell with a ratio, coloured by which is better.
func ratio(m comparison.Metric, f records.Figure) table.Cell {
	if !f.Known() {
		return short(f)
	}
	return table.Cell{Text: records.Times(f.Median), Class: heat(m.Better(f).Median), Sort: f.Median}
}

// heat is the class for how many times better than weft a peer is: worse-1 to
// worse-3, even, or better-1 to better-3.
func heat(better float64) string {
	name := "better"
	if better < 1 {
		name, better = "worse", 1/better
	}
	switch {
	case better < 1.05:
		return "even"
	case better < 1.5:
		return name + "-1"
	case better < 3:
		return name + "-2"
	}
	return name + "-3"
}

// name is the first cell of an entry's row: the peer, its codec, and a dagger when
// rounds were disturbed or calls failed.
func name(e comparison.Entry, runs records.Runs) table.Cell {
	c := table.Cell{Text: e.Peer, Small: e.Codec}
	if n := comparison.Disturbed(runs); n > 0 {
		c.Small += fmt.Sprintf(" †%d/%d", n, len(runs))
	}
	if n := comparison.Failures(runs); n > 0 {
		c.Small += fmt.Sprintf(" ‡%s failed", records.Count(n))
	}
	return c
}

// row begins the row of an entry.
func row(e comparison.Entry, cells ...table.Cell) table.Row {
	r := table.Row{Peer: e.Peer, Cells: cells}
	switch {
	case e.Peer == comparison.Weft:
		r.Class = table.Ours
	case e.Mark():
		r.Class = table.Mark
	}
	return r
}
