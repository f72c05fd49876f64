package tables

import (
	"github.com/weftrpc/weft/bench/report/comparison"
	"github.com/weftrpc/weft/bench/report/table"
)

// Places are weft's places among the peers of a view at every point, by what a
// user notices.
func Places(c *comparison.Comparison, v comparison.View) table.Table {
	t := table.Table{
		ID: "places-" + v.ID, Caption: "Where weft stands at every point",
		Head: []table.Column{
			table.Text("point"), table.Text("calls per second"), table.Text("CPU per call"), table.Text("median latency"),
			table.Text("p99 latency"), table.Text("memory"),
		},
	}
	for _, p := range c.Points(func(comparison.Point) bool { return true }) {
		cells := []table.Cell{table.Plain(p.Title())}
		known := false
		for _, m := range []comparison.Metric{
			comparison.Throughput(), comparison.CPU(), comparison.P50(), comparison.P99(), comparison.Memory(),
		} {
			s := c.Standing(v, p, m)
			if m.ID == comparison.Throughput().ID && p.Share > 0 {
				s = comparison.Standing{} // the rate was given
			}
			known = known || s.Known
			cells = append(cells, standing(s))
		}
		if known {
			t.Rows = append(t.Rows, table.Row{Cells: cells})
		}
	}
	return t
}
