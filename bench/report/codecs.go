package main

import (
	"fmt"
	"strings"

	"github.com/weftrpc/weft/bench/contract"
	"github.com/weftrpc/weft/bench/report/records"
)

// path is a way of carrying the published message over weft, and what its processor time may be of
// that of another.
type path struct {
	codec, what string
	limits      []limit
}

// limit bounds the processor time of a call, at 100, 1,000 and 5,000 callers, as a share of what
// another peer takes.
type limit struct {
	peer, codec string
	times       bool // the bounds say how many times more the other takes
	bounds      [3]float64
}

// pathCallers are the numbers of callers of the bounds.
var pathCallers = [3]int{100, 1000, 5000}

// paths lists them, the dearest first.
func paths() []path {
	overGRPC := func(a, b, c float64) limit { return limit{"grpc-go", vtproto, true, [3]float64{a, b, c}} }
	of := func(peer, codec string, a, b, c float64) limit { return limit{peer, codec, false, [3]float64{a, b, c}} }
	return []path{
		{"plain", "a struct, as MessagePack", []limit{of("weft", vtproto, 0.9, 0.9, 0.9), overGRPC(7, 7, 6)}},
		{google, "protobuf's own code", nil},
		{"compiled", "the same messages by weft's codec", nil},
		{vtproto, "vtprotobuf's code", nil},
		{"numbered", "a struct with numbers, as protobuf", []limit{of("floor", vtproto, 0.85, 0.85, 0.95), overGRPC(9, 8.5, 8)}},
		{"generated", "the same with generated code", []limit{of("floor", vtproto, 0.7, 0.7, 0.85)}},
		{"reuse", "numbered, messages used again", []limit{overGRPC(13, 12, 10), of("weft", raw, 2, 2, 2)}},
		{"generated-reuse", "generated, messages used again", []limit{overGRPC(16, 14, 12), of("weft", raw, 1.5, 1.5, 1.5)}},
		{raw, "bytes as they are", nil},
	}
}

// codecTable is the processor time of a call with each of them, and how many times more grpc-go
// takes with vtprotobuf's code.
func codecTable(all results) string {
	var b strings.Builder
	b.WriteString("| codec | message |")
	for _, n := range pathCallers {
		fmt.Fprintf(&b, " %s callers |", records.Count(n))
	}
	b.WriteString("\n|---|---|---:|---:|---:|\n")
	for _, p := range paths() {
		fmt.Fprintf(&b, "| `%s` | %s |", p.codec, p.what)
		for _, n := range pathCallers {
			fmt.Fprintf(&b, " %s |", beyond(all.of(contract.Echo, "weft", p.codec, n), all.of(contract.Echo, "grpc-go", vtproto, n)))
		}
		b.WriteString("\n")
	}
	return b.String()
}

// beyond is the processor time of some runs, and how many times more others take.
func beyond(some, others records.Runs) string {
	times := some.Over(records.CPU, others, records.CPU).Inverse()
	if !times.Known() {
		return records.None
	}
	return fmt.Sprintf("%s µs (%.1f ×)", some.Figure(records.CPU).Short(), times.Median)
}

// codecGoals hold the processor time of each to what it may be.
func codecGoals(all results) []goal {
	var list []goal
	for _, p := range paths() {
		for _, l := range p.limits {
			for i, n := range pathCallers {
				list = append(list, l.goal(all, p.codec, n, l.bounds[i]))
			}
		}
	}
	got := all.of(contract.Echo, "weft", "reuse", 1000).Figure(records.Allocs)
	return append(list, goal{
		what:     "allocations of a call, both sides, reuse, 1,000 callers",
		limit:    "≤ 0.05",
		measured: fraction(got),
		beside:   "contexts in slabs of 64: 0.016",
		verdict:  judge(got.Rounds > 0, got.Median <= 0.05),
	})
}

// goal is one bound of a limit.
func (l limit) goal(all results, codec string, callers int, bound float64) goal {
	ours, theirs := all.of(contract.Echo, "weft", codec, callers), all.of(contract.Echo, l.peer, l.codec, callers)
	ratio := ours.Over(records.CPU, theirs, records.CPU)
	g := goal{
		what:   fmt.Sprintf("processor time of a call, %s, of that of %s with %s, %s callers", codec, l.peer, l.codec, records.Count(callers)),
		limit:  "≤ " + records.Number(bound) + " ×",
		beside: ours.Figure(records.CPU).Text("µs") + " to " + theirs.Figure(records.CPU).Text("µs"),
	}
	if l.times {
		ratio = ratio.Inverse()
		g.what = fmt.Sprintf("processor time of a call of %s with %s, over that of weft with %s, %s callers", l.peer, l.codec, codec, records.Count(callers))
		g.limit = "≥ " + records.Number(bound) + " ×"
	}
	g.measured = ratio.Text("×")
	g.verdict = judge(ratio.Known(), ratio.Median <= bound && !l.times || ratio.Median >= bound && l.times)
	return g
}
