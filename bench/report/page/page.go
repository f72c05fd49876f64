// Package page makes the report of a comparison: one HTML page that needs nothing
// from outside, its plots as files of their own, and the tables that documents
// show. Every verdict on it is computed from the records.
package page

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strings"

	"github.com/weftrpc/weft/bench/report/comparison"
	"github.com/weftrpc/weft/bench/report/plot"
	"github.com/weftrpc/weft/bench/report/records"
	"github.com/weftrpc/weft/bench/report/table"
	"github.com/weftrpc/weft/bench/report/tables"
)

//go:embed page.html
var pageHTML string

//go:embed page.css
var pageCSS string

//go:embed page.js
var pageJS string

// content is what the template shows.
type content struct {
	Style     template.CSS
	Script    template.JS
	Headline  string
	Subline   string
	Facts     []tables.Fact
	Tiles     []tile
	Claims    []comparison.Claim
	Views     []view
	Peers     []toggle
	Sections  []tables.Section
	Articles  []article
	Gaps      table.Table
	Failed    table.Table
	Disturbed table.Table
	About     table.Table
}

// tile is one figure in large letters.
type tile struct{ Value, What string }

// toggle shows or hides a peer.
type toggle struct {
	Peer, Class string
	Hue         int
}

// view is all that is shown of one choice of entries.
type view struct {
	comparison.View
	Standings, Defeats table.Table
	Ratios, Costs      []table.Table
	Full               []full
	Plots, More        []template.HTML
}

// full is a table of all figures at one number of callers.
type full struct {
	table.Table
	Open bool
}

type article struct {
	Article
	Table table.Table
}

// Write writes the report.
func Write(w io.Writer, c *comparison.Comparison) error {
	page, err := template.New("page").Funcs(template.FuncMap{"class": peerClass, "sort": sortKey}).Parse(pageHTML)
	if err != nil {
		return err
	}
	published, err := Articles()
	if err != nil {
		return err
	}
	all := content{
		Style:     template.CSS(pageCSS + plot.Style + hiding(c)),
		Script:    template.JS(pageJS),
		Facts:     tables.Facts(c),
		Tiles:     tiles(c),
		Claims:    c.Claims(),
		Peers:     toggles(c),
		Sections:  tables.Sections(c),
		Gaps:      tables.Gaps(c),
		Failed:    tables.Failed(c),
		Disturbed: tables.Disturbed(c),
		About:     tables.Peers(c),
	}
	for i, v := range c.Views() {
		all.Views = append(all.Views, show(c, v))
		if i == 0 {
			all.Headline = tables.Headline(c, v)
		} else {
			all.Subline = tables.Headline(c, v)
		}
	}
	for i, a := range published {
		all.Articles = append(all.Articles, article{a, a.Table(i)})
	}
	return page.Execute(w, all)
}

// Plots are all pictures of the report.
func Plots(c *comparison.Comparison) []Plot {
	var all []Plot
	for _, v := range c.Views() {
		all = append(all, plots(c, v)...)
	}
	return all
}

// sortKey is by what the script sorts a cell.
func sortKey(c table.Cell) string {
	if c.Sort == 0 {
		return c.Text
	}
	return fmt.Sprintf("%g", c.Sort)
}

// hiding are the rules that hide a peer whose box is not ticked.
func hiding(c *comparison.Comparison) string {
	var b strings.Builder
	for _, peer := range c.Peers() {
		class := peerClass(peer)
		fmt.Fprintf(&b, "body:has(#show-%s:not(:checked)) .%s{display:none}\n", class, class)
	}
	return b.String()
}

func toggles(c *comparison.Comparison) []toggle {
	var all []toggle
	style := looks(c)
	for _, peer := range c.Peers() {
		all = append(all, toggle{peer, peerClass(peer), style[peer].Hue})
	}
	return all
}

// show gathers what is shown of a view.
func show(c *comparison.Comparison, v comparison.View) view {
	out := view{View: v, Standings: tables.Standings(c, v), Defeats: tables.Defeats(c, v)}
	for _, m := range []comparison.Metric{comparison.Throughput(), comparison.CPU(), comparison.P50(), comparison.P99()} {
		out.Ratios = append(out.Ratios, tables.Ratios(c, v, m))
	}
	for _, callers := range c.Callers() {
		p := comparison.Plain(callers)
		out.Full = append(out.Full, full{tables.Full(c, v, p), callers == shownCallers(c)})
		if callers == 1 || callers == shownCallers(c) {
			out.Costs = append(out.Costs, tables.Costs(c, v, p))
		}
	}
	for _, p := range plots(c, v) {
		if svg := template.HTML(p.draw(false)); p.More {
			out.More = append(out.More, svg)
		} else {
			out.Plots = append(out.Plots, svg)
		}
	}
	return out
}

// shownCallers is the number of callers that the head of the report speaks of: a
// thousand, or the greatest below.
func shownCallers(c *comparison.Comparison) int {
	shown := 0
	for _, callers := range c.Callers() {
		if shown == 0 || callers <= 1000 {
			shown = callers
		}
	}
	return shown
}

// tiles are the figures in large letters: weft beside the best of the others.
func tiles(c *comparison.Comparison) []tile {
	var all []tile
	callers := shownCallers(c)
	for _, m := range []comparison.Metric{comparison.Throughput(), comparison.CPU(), comparison.P99()} {
		s := c.Standing(c.Views()[0], comparison.Plain(callers), m)
		if !s.Known {
			continue
		}
		ratio := s.Lead
		if !m.Higher {
			ratio = 1 / ratio
		}
		all = append(all, tile{
			records.Times(ratio),
			fmt.Sprintf("the %s of %s, the best of the others, at %s", m.Name, s.Rival.Peer, records.Counted(callers, "caller")),
		})
	}
	return all
}
