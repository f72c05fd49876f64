package comparison

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/weftrpc/weft/bench/report/records"
)

// View is a choice of one entry for each peer.
type View struct {
	ID, Title, Short, Note string
	Opening                string // how a sentence about it begins
	Entries                []Entry
	anyCodec               bool // where a peer was not measured with the codec of its entry, another one stands in
}

// raw is no codec at all: only the marks are shown with it.
const raw = "raw"

// reuse is how the names of codecs end that decode over an older message.
const reuse = "reuse"

// code is protobuf code that several peers can carry.
type code struct {
	codecs []string // what peers call it
	note   string
}

func codes() []code {
	return []code{
		{[]string{"google", "protobuf"}, "Every peer encodes with the protobuf library of its language's own project, so what differs is the framework. Peers that carry no protobuf are not here."},
		{[]string{"vtproto"}, "Every peer encodes with the code that vtprotobuf generates, so what differs is the framework. Peers that cannot carry it are not here."},
	}
}

// Same is every peer with the same protobuf code: the one that lets weft be
// compared with the most peers.
func (c *Comparison) Same() View {
	v := View{ID: "same", Title: "The same protobuf code", Short: "same code", Opening: "With the same protobuf code"}
	most := -1
	for _, code := range codes() {
		var entries []Entry
		for _, e := range c.entries {
			if slices.Contains(code.codecs, e.Codec) {
				entries = append(entries, e)
			}
		}
		if n := competitors(entries); n > most {
			most, v.Note, v.Entries = n, code.note, entries
		}
	}
	return v
}

// competitors is how many entries weft is compared with.
func competitors(entries []Entry) int {
	if !slices.ContainsFunc(entries, func(e Entry) bool { return e.Peer == Weft }) {
		return 0
	}
	n := 0
	for _, e := range entries {
		if !isWeft(e) && !e.Mark() {
			n++
		}
	}
	return n
}

// Views are those that are worth showing: the same code only if it compares weft
// with another peer.
func (c *Comparison) Views() []View {
	if same := c.Same(); competitors(same.Entries) > 0 {
		return []View{same, c.Best()}
	}
	return []View{c.Best()}
}

// Best is every peer with the codec that gave it the most calls per second.
func (c *Comparison) Best() View {
	v := View{
		ID: "best", Title: "Each at its best", Short: "each at its best", Opening: "With each peer at its best, whatever its codec",
		Note: "Every peer with the codec that gave it the most calls per second, whatever that codec is. Codec and framework are compared together. " +
			"Codecs of weft that decode over an older message are left out, since no other peer does that. Points other than plain ones were measured with one codec of a peer.",
		anyCodec: true,
	}
	for _, peer := range c.Peers() {
		var own []Entry
		for _, e := range c.entries {
			if e.Peer == peer && !strings.HasSuffix(e.Codec, reuse) {
				own = append(own, e)
			}
		}
		if coded := slices.DeleteFunc(slices.Clone(own), func(e Entry) bool { return e.Codec == raw }); len(coded) > 0 {
			own = coded
		}
		if len(own) > 0 {
			v.Entries = append(v.Entries, slices.MaxFunc(own, func(a, b Entry) int { return c.faster(a, b) }))
		}
	}
	return v
}

// at is an entry of a view at a point: where the peer was not measured with its codec, the one with which it was.
func (c *Comparison) at(v View, p Point, e Entry) Entry {
	known := func(e Entry) bool { return c.At(p, e).Figure(Throughput().Field).Median > 0 }
	if !v.anyCodec || known(e) {
		return e
	}
	if i := slices.IndexFunc(c.entries, func(other Entry) bool { return other.Peer == e.Peer && other.Codec != raw && known(other) }); i >= 0 {
		return c.entries[i]
	}
	return e
}

// faster compares the rates of two entries by the mean of their ratios at the
// plain points that both have; equal if they have none.
func (c *Comparison) faster(a, b Entry) int {
	var sum float64
	for _, callers := range c.Callers() {
		rate := Throughput().Field
		x, y := c.At(Plain(callers), a).Figure(rate), c.At(Plain(callers), b).Figure(rate)
		if x.Median > 0 && y.Median > 0 {
			sum += math.Log(x.Median / y.Median)
		}
	}
	return cmp.Compare(sum, 0)
}

// Of is the entry of a peer in the view.
func (v View) Of(peer string) (Entry, bool) {
	i := slices.IndexFunc(v.Entries, func(e Entry) bool { return e.Peer == peer })
	if i < 0 {
		return Entry{}, false
	}
	return v.Entries[i], true
}

// Ratio is a metric of an entry over that of weft in the same view, at a point.
func (c *Comparison) Ratio(v View, p Point, m Metric, e Entry) records.Figure {
	weft, ok := v.Of(Weft)
	if !ok {
		return records.Figure{}
	}
	return c.At(p, c.at(v, p, e)).Over(m.Field, c.At(p, c.at(v, p, weft)), m.Field)
}

// Ranked are the entries of a view that have runs at a point, the best median
// first.
func (c *Comparison) Ranked(v View, p Point, m Metric) []Entry {
	var some []Entry
	for _, e := range v.Entries {
		if e = c.at(v, p, e); c.At(p, e).Figure(m.Field).Known() {
			some = append(some, e)
		}
	}
	slices.SortStableFunc(some, func(a, b Entry) int {
		order := cmp.Compare(c.At(p, a).Figure(m.Field).Median, c.At(p, b).Figure(m.Field).Median)
		if m.Higher {
			return -order
		}
		return order
	})
	return some
}
