// Package comparison computes what the records of a comparison mean: which runs
// belong together, which peer is first and by how much. It does not show them.
package comparison

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/weftrpc/weft/bench/contract"
	"github.com/weftrpc/weft/bench/internal/runner"
	"github.com/weftrpc/weft/bench/report/records"
)

// Weft is the peer that all others are compared with.
const Weft = "weft"

// Entry is a peer with a codec.
type Entry struct{ Peer, Codec string }

// Mark reports whether the entry is no competitor but a mark for the others: it does
// less than any RPC system must.
func (e Entry) Mark() bool {
	base, _, _ := strings.Cut(e.Peer, ":")
	return base == "floor" || base == "tcp"
}

// String is the peer, with its codec behind.
func (e Entry) String() string { return e.Peer + " " + e.Codec }

// Point is under which conditions entries were measured side by side.
type Point struct {
	Workload contract.Workload
	Callers  int // of each client process
	Servers  int
	Clients  int
	Network  runner.Network
	Share    float64 // open loop: of the entry's greatest rate
	Asked    int64   // calls of all clients, for the workloads that measure a number of calls; 0: a time
}

// Plain is the usual point: Hello.Say between two processes on one machine.
func Plain(callers int) Point {
	return Point{Workload: contract.Echo, Callers: callers, Servers: 1, Clients: 1, Network: runner.Loopback}
}

func pointOf(r runner.Record) Point {
	p := Point{
		Workload: r.Workload, Callers: r.Callers, Servers: max(r.Servers, 1), Clients: max(r.Clients, 1),
		Network: cmp.Or(r.Network, runner.Loopback), Share: r.Share,
	}
	if r.Workload == contract.Math || r.Workload == contract.MathNew {
		p.Asked = asked(r.Calls)
	}
	return p
}

// asked is how many calls were asked for if some were made: they are asked for by
// the thousand, and now and then one fails.
func asked(made int64) int64 {
	const unit, tolerance = 1000, 5
	round := (made + unit/2) / unit * unit
	if round == 0 || max(round-made, made-round) > tolerance {
		return 0
	}
	return round
}

// Comparison is the records of a file, gathered. It does not change.
type Comparison struct {
	Runs    records.Runs
	Codecs  []records.Codec
	points  []Point
	entries []Entry // in the order in which they were measured first
	runs    map[key]records.Runs
}

type key struct {
	Point
	Entry
}

// New gathers the records of a file.
func New(file *records.File) *Comparison {
	c := &Comparison{Runs: file.Runs, Codecs: file.Codecs, runs: make(map[key]records.Runs)}
	for _, r := range file.Runs {
		e := Entry{r.Peer, r.Codec}
		if !slices.Contains(c.entries, e) {
			c.entries = append(c.entries, e)
		}
		if r.Calls == 0 {
			continue
		}
		k := key{pointOf(r), e}
		if !slices.Contains(c.points, k.Point) {
			c.points = append(c.points, k.Point)
		}
		c.runs[k] = append(c.runs[k], r)
	}
	return c
}

// At are the runs of an entry at a point, without those that failed as a whole.
func (c *Comparison) At(p Point, e Entry) records.Runs { return c.runs[key{p, e}] }

// Points of some workloads, in the order of measuring.
func (c *Comparison) Points(match func(Point) bool) []Point {
	var some []Point
	for _, p := range c.points {
		if match(p) {
			some = append(some, p)
		}
	}
	return some
}

// Callers are the numbers of callers of the plain points, rising.
func (c *Comparison) Callers() []int {
	var all []int
	for _, p := range c.points {
		if p == Plain(p.Callers) {
			all = append(all, p.Callers)
		}
	}
	slices.Sort(all)
	return all
}

// Peers are all peers, in the order in which they were measured first.
func (c *Comparison) Peers() []string {
	var names []string
	for _, e := range c.entries {
		if !slices.Contains(names, e.Peer) {
			names = append(names, e.Peer)
		}
	}
	return names
}

// Entries are all entries with runs at a point.
func (c *Comparison) Entries(p Point) []Entry {
	var some []Entry
	for _, e := range c.entries {
		if len(c.At(p, e)) > 0 {
			some = append(some, e)
		}
	}
	return some
}

// Title describes the conditions under which a point was measured.
func (p Point) Title() string {
	text := string(p.Workload)
	if p.Asked > 0 {
		text += ", " + records.Counted(p.Asked, "call")
	}
	if p.Clients > 1 {
		text += fmt.Sprintf(", %d client processes with %s each", p.Clients, records.Counted(p.Callers, "caller"))
	} else {
		text += ", " + records.Counted(p.Callers, "caller")
	}
	if p.Servers > 1 {
		text += fmt.Sprintf(", %d servers", p.Servers)
	}
	if p.Network == runner.Namespaces {
		text += ", two network namespaces"
	}
	if p.Share > 0 {
		text += fmt.Sprintf(", at %.0f %% of the greatest rate", 100*p.Share)
	}
	return text
}

// Disturbed is how many of some runs were made while others used the machine.
func Disturbed(some records.Runs) int {
	n := 0
	for _, r := range some {
		if r.Disturbed {
			n++
		}
	}
	return n
}

// Failures is how many calls of some runs failed.
func Failures(some records.Runs) int64 {
	var n int64
	for _, r := range some {
		n += r.Failures
	}
	return n
}

// Gap is a run that was not made or failed as a whole, and why.
type Gap struct {
	What, Why string
	Times     int
}

// Gaps are all runs that were not made or failed as a whole. Rounds with the same
// reason are one gap.
func (c *Comparison) Gaps() []Gap {
	var all []Gap
	for _, r := range c.Runs {
		if r.Calls > 0 {
			continue
		}
		gap := Gap{What: r.Peer + " " + r.Codec + ", " + pointOf(r).Title(), Why: cmp.Or(r.Skipped, r.FirstError, "no call succeeded"), Times: 1}
		i := slices.IndexFunc(all, func(g Gap) bool { return g.What == gap.What && g.Why == gap.Why })
		if i < 0 {
			all = append(all, gap)
		} else {
			all[i].Times++
		}
	}
	return all
}

// PlainRun reports whether a run was made at a plain point.
func PlainRun(r runner.Record) bool { p := pointOf(r); return r.Calls > 0 && p == Plain(p.Callers) }
