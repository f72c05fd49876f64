// Package page makes the report of a comparison: one HTML page that needs nothing
// from outside, its plots as files of their own, and the tables that documents
// show. Every verdict on it is computed from the records.
package page

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/weftrpc/weft/bench/internal/runner"
	"github.com/weftrpc/weft/bench/report/comparison"
	"github.com/weftrpc/weft/bench/report/plot"
	"github.com/weftrpc/weft/bench/report/records"
	"github.com/weftrpc/weft/bench/report/table"
)

//go:embed page.html
var pageHTML string

//go:embed page.css
var pageCSS string

//go:embed page.js
var pageJS string

// content is what the template shows.
type content struct {
	Style    template.CSS
	Script   template.JS
	Headline string
	Subline  string
	Facts    []Fact
	Tiles    []tile
	Claims   []comparison.Claim
	Views    []view
	Peers    []toggle
	Sections []Section
	Articles []article
	Gaps     table.Table
	About    table.Table
}

// Fact is a line of the head: where, when and how the records were made.
type Fact struct{ Name, Value string }

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

// Section is a workload of its own.
type Section struct {
	ID, Short, Title, Text string
	Tables                 []table.Table
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
		Style:    template.CSS(pageCSS + plot.Style + hiding(c)),
		Script:   template.JS(pageJS),
		Facts:    Facts(c),
		Tiles:    tiles(c),
		Claims:   c.Claims(),
		Peers:    toggles(c),
		Sections: Sections(c),
		Gaps:     Gaps(c),
		About:    Peers(c),
	}
	for i, v := range c.Views() {
		all.Views = append(all.Views, show(c, v))
		if i == 0 {
			all.Headline = Headline(c, v)
		} else {
			all.Subline = Headline(c, v)
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
	out := view{View: v, Standings: Standings(c, v), Defeats: Defeats(c, v)}
	for _, m := range []comparison.Metric{comparison.Throughput(), comparison.CPU(), comparison.P50(), comparison.P99()} {
		out.Ratios = append(out.Ratios, Ratios(c, v, m))
	}
	for _, callers := range c.Callers() {
		p := comparison.Plain(callers)
		out.Full = append(out.Full, full{Full(c, v, p), callers == shownCallers(c)})
		if callers == 1 || callers == shownCallers(c) {
			out.Costs = append(out.Costs, Costs(c, v, p))
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

// Headline is the verdict of a view in a sentence.
func Headline(c *comparison.Comparison, v comparison.View) string {
	type result struct {
		name      string
		first, of int
	}
	var all []result
	everywhere := true
	for _, m := range []comparison.Metric{comparison.Throughput(), comparison.CPU(), comparison.P99()} {
		r := result{name: m.Name}
		for _, callers := range c.Callers() {
			if s := c.Standing(v, comparison.Plain(callers), m); s.Known {
				r.of++
				if s.First() {
					r.first++
				}
			}
		}
		if r.of > 0 {
			all = append(all, r)
			everywhere = everywhere && r.first == r.of
		}
	}
	if len(all) == 0 {
		return v.Opening + ", the records compare weft with nobody."
	}
	var parts []string
	for _, r := range all {
		part := "in " + r.name
		if !everywhere {
			part += fmt.Sprintf(" at %d of %d", r.first, r.of)
		}
		parts = append(parts, part)
	}
	text := v.Opening + ", weft is first " + listed(parts)
	if everywhere {
		return text + " at every number of callers."
	}
	return text + " numbers of callers."
}

// listed is a list as a sentence has it.
func listed(parts []string) string {
	last := len(parts) - 1
	if last <= 0 {
		return strings.Join(parts, "")
	}
	return strings.Join(parts[:last], ", ") + " and " + parts[last]
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
			times(ratio),
			fmt.Sprintf("the %s of %s, the best of the others, at %s", m.Name, s.Rival.Peer, records.Counted(callers, "caller")),
		})
	}
	return all
}

// Facts say where, when and how the records were made.
func Facts(c *comparison.Comparison) []Fact {
	if len(c.Runs) == 0 {
		return nil
	}
	of := func(field func(runner.Record) string) string {
		var values []string
		for _, r := range c.Runs {
			if v := field(r); v != "" && !slices.Contains(values, v) {
				values = append(values, v)
			}
		}
		return strings.Join(values, " and ")
	}
	first, last := c.Runs[0].Time, c.Runs[0].Time
	rounds, made, seconds := 0, 0, 0.0
	for _, r := range c.Runs {
		if r.Time.Before(first) {
			first = r.Time
		}
		if r.Time.After(last) {
			last = r.Time
		}
		rounds = max(rounds, r.Round)
		if r.Calls > 0 {
			made++
		}
		if comparison.PlainRun(r) {
			seconds = max(seconds, r.Seconds)
		}
	}
	disturbed := comparison.Disturbed(c.Runs)
	return []Fact{
		{"Processor", of(func(r runner.Record) string { return fmt.Sprintf("%s × %d", r.CPU, r.CPUs) })},
		{"Kernel", "Linux " + of(func(r runner.Record) string { return r.Kernel })},
		{"Go", of(func(r runner.Record) string { return r.Go })},
		{"Commit", of(func(r runner.Record) string { return r.Commit })},
		{"Measured", first.UTC().Format(time.DateOnly) + ", " + first.UTC().Format("15:04") + " to " + last.UTC().Format("15:04") + " UTC"},
		{"Rounds", fmt.Sprintf("%d, interleaved; runs of %s s", rounds, records.Number(seconds))},
		{"Runs", fmt.Sprintf("%s made, %s not made", records.Count(made), records.Count(len(c.Runs)-made))},
		{"Disturbed", fmt.Sprintf("%s of %s runs (†)", records.Count(disturbed), records.Count(made))},
		{"Failed calls", records.Count(comparison.Failures(c.Runs))},
	}
}

// Sections are the workloads of their own that have records.
func Sections(c *comparison.Comparison) []Section {
	all := []Section{
		{"mixed", "Slow and large", "Small calls beside slow and large ones", "Slow: one call in a hundred takes 5 ms in its handler. Mixed and large: one more caller loops over replies of 1 MiB or 8 MiB. The figures are those of the small calls, beside the same peer without the others.", Mixed(c)},
		{"delay", "Sleeping", "Handlers that sleep", "Every handler sleeps 10 ms. The ideal is that all callers sleep side by side.", Delayed(c)},
		{"math", "Tiny calls", "A tiny call, one after another", "MathService.Add over one long connection; with math-new every call opens a connection of its own, and opening and closing it count.", Math(c)},
		{"open", "Open loop", "An open loop", "Calls begin at a fixed rate, 50 % or 80 % of what the same peer reached in the closed loop, and latency counts from the time at which a call was to begin. So a peer with a higher greatest rate is asked for more.", Open(c)},
		{"elsewhere", "Servers and networks", "Two servers, two network namespaces", "One client that balances over two servers; client and server in two network namespaces joined by a veth pair, the nearest to two machines that one machine offers.", Elsewhere(c)},
		{"codecs", "Codecs", "Codecs", "One operation on the message, and a whole call with each codec.", Codecs(c)},
	}
	return slices.DeleteFunc(all, func(s Section) bool { return len(s.Tables) == 0 })
}
