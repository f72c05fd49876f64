package comparison

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/weftrpc/weft/bench/internal/runner"
	"github.com/weftrpc/weft/bench/report/records"
)

// Standing is where weft stands among the peers of a view, by one metric at one
// point. Marks are no competitors.
type Standing struct {
	Known bool    // whether weft and a competitor have runs there
	Place int     // 1 is the best
	Of    int     // how many are compared
	Rival Entry   // the best of the others
	Lead  float64 // how many times better weft is than the rival: above 1 it leads
	Every bool    // whether it is so in every round
}

// First reports whether weft is the best.
func (s Standing) First() bool { return s.Known && s.Place == 1 }

// Standing of weft. It is judged by ratios between runs that took turns: a peer
// is better when the median of these is.
func (c *Comparison) Standing(v View, p Point, m Metric) Standing {
	s := Standing{Place: 1, Of: 1}
	var best records.Figure
	for _, e := range v.Entries {
		ratio := m.Better(c.Ratio(v, p, m, e))
		if isWeft(e) || e.Mark() || !ratio.Known() {
			continue
		}
		s.Of++
		if ratio.Median > 1 {
			s.Place++
		}
		if !s.Known || ratio.Median > best.Median {
			s.Known, best, s.Rival = true, ratio, e
		}
	}
	if s.Known {
		s.Lead = 1 / best.Median
		s.Every = best.Most < 1 || best.Least > 1
	}
	return s
}

func isWeft(e Entry) bool {
	base, _, _ := strings.Cut(e.Peer, ":")
	return base == Weft
}

// Claim is a sentence about weft that the records confirm or not.
type Claim struct {
	Text, Measured string
	Holds          bool
	Known          bool
}

// behindAtOne is by how much weft may be behind at one caller, where the wake-up
// of a processor is most of a call.
const behindAtOne = 1.1

// Claims are what weft sets out to be with the same protobuf code.
func (c *Comparison) Claims() []Claim {
	same := c.Same()
	var many []int
	for _, callers := range c.Callers() {
		if callers >= 100 {
			many = append(many, callers)
		}
	}
	one := c.Standing(same, Plain(1), P50())
	last := Claim{
		Text:  "Not behind any peer by more than 10 % in median latency at 1 caller",
		Known: one.Known, Holds: one.Known && one.Lead*behindAtOne >= 1,
	}
	if one.Known {
		last.Measured = fmt.Sprintf("%s is %s × better", one.Rival, records.Number(1/one.Lead))
		if one.First() {
			last.Measured = fmt.Sprintf("first, %s × better than %s", records.Number(one.Lead), one.Rival)
		}
	}
	return []Claim{
		c.claim(same, Throughput(), "First in calls per second at 100 callers and more", many),
		c.claim(same, CPU(), "First in CPU per call at 100 callers and more", many),
		last,
	}
}

// claim is that weft is first by a metric at all of some numbers of callers.
func (c *Comparison) claim(v View, m Metric, text string, callers []int) Claim {
	claim := Claim{Text: text}
	first, known := 0, 0
	var behind []string
	for _, n := range callers {
		s := c.Standing(v, Plain(n), m)
		if !s.Known {
			continue
		}
		known++
		if s.First() {
			first++
		} else {
			behind = append(behind, fmt.Sprintf("%s is %s × better at %s", s.Rival, records.Number(1/s.Lead), records.Count(n)))
		}
	}
	claim.Known, claim.Holds = known > 0, known > 0 && first == known
	if claim.Known {
		claim.Measured = fmt.Sprintf("first at %d of %d", first, known)
		if len(behind) > 0 {
			claim.Measured += "; " + strings.Join(behind, ", ")
		}
	}
	return claim
}

// Defeat is a metric by which a peer is better than weft, at one point or more.
type Defeat struct {
	Entry  Entry
	Metric Metric
	Where  []Point
	Every  []bool // at each point, whether it is so in every round
	Most   float64
}

// judged are the metrics by which a peer can beat weft.
func judged() []Metric { return []Metric{Throughput(), CPU(), P50(), P99(), P999(), Memory()} }

// Defeats are all metrics and points of a view at which a peer is better than
// weft, the greatest differences first.
func (c *Comparison) Defeats(v View) []Defeat {
	var all []Defeat
	for _, e := range v.Entries {
		if isWeft(e) || e.Mark() {
			continue
		}
		for _, m := range judged() {
			d := Defeat{Entry: e, Metric: m}
			for _, p := range c.points {
				if m.ID == Throughput().ID && p.Share > 0 {
					continue // the rate was given
				}
				if ratio := m.Better(c.Ratio(v, p, m, e)); ratio.Known() && ratio.Median > 1 {
					d.Where = append(d.Where, p)
					d.Every = append(d.Every, ratio.Least > 1)
					d.Most = max(d.Most, ratio.Median)
				}
			}
			if len(d.Where) > 0 {
				all = append(all, d)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b Defeat) int { return cmp.Compare(b.Most, a.Most) })
	return all
}

// Sure reports whether there is a point where the peer is better in every round.
func (d Defeat) Sure() bool { return slices.Contains(d.Every, true) }

// Places is where, in few words: a place once, with all its numbers of callers
// or of calls.
func (d Defeat) Places() string {
	var kinds []string
	counts := make(map[string][]string)
	for i, p := range d.Where {
		kind, count := p.place()
		if !d.Every[i] {
			count += " ~"
		}
		if _, seen := counts[kind]; !seen {
			kinds = append(kinds, kind)
		}
		counts[kind] = append(counts[kind], count)
	}
	for i, kind := range kinds {
		kinds[i] = kind + " " + strings.Join(counts[kind], ", ")
	}
	return strings.Join(kinds, "; ")
}

// place is a kind of point, and the number that is different within the kind.
func (p Point) place() (kind, count string) {
	kind, count = string(p.Workload), records.Count(p.Callers)
	switch {
	case p.Asked > 0:
		count = records.Count(p.Asked) + " calls"
	case p.Share > 0:
		kind, count = "open", fmt.Sprintf("%.0f %%", 100*p.Share)
	}
	if p.Servers > 1 {
		kind = fmt.Sprintf("%d servers", p.Servers)
	}
	if p.Clients > 1 {
		kind += fmt.Sprintf(" (%d clients)", p.Clients)
	}
	if p.Network == runner.Namespaces {
		kind = "netns"
	}
	return kind, count
}
