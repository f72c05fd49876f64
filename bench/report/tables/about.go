package tables

import (
	"cmp"

	"github.com/weftrpc/weft/bench/report/comparison"
	"github.com/weftrpc/weft/bench/report/records"
	"github.com/weftrpc/weft/bench/report/table"
)

// Gaps are the runs that were not made, and why.
func Gaps(c *comparison.Comparison) table.Table {
	t := table.Table{
		ID: "gaps", Caption: "Runs that were not made, or failed as a whole",
		Head: []table.Column{table.Text("run"), table.Figures("times", ""), table.Text("why")},
	}
	for _, g := range c.Gaps() {
		t.Rows = append(t.Rows, table.Row{Cells: []table.Cell{
			{Text: g.What, Class: "words"}, {Text: records.Count(g.Times), Sort: float64(g.Times)}, {Text: g.Why, Class: "words"},
		}})
	}
	return t
}

// Peers lists what was compared: versions and settings.
func Peers(c *comparison.Comparison) table.Table {
	t := table.Table{
		ID: "peers", Caption: "What was compared",
		Head: []table.Column{table.Text("peer"), table.Text("language"), table.Text("version"), table.Text("settings")},
	}
	for _, peer := range c.Peers() {
		for _, r := range c.Runs {
			if r.Peer == peer {
				t.Rows = append(t.Rows, row(comparison.Entry{Peer: peer}, table.Plain(peer), table.Plain(cmp.Or(r.Language, records.None)),
					table.Cell{Text: cmp.Or(r.Version, records.None), Class: "words"}, table.Cell{Text: cmp.Or(r.Settings, records.None), Class: "words"}))
				break
			}
		}
	}
	return t
}
