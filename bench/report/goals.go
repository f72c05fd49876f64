package main

import (
	"fmt"
	"time"

	"github.com/weftrpc/weft/bench/contract"
	"github.com/weftrpc/weft/bench/internal/runner"
	"github.com/weftrpc/weft/bench/report/records"
)

// goal is one line of the table of goals.
type goal struct {
	what, limit, measured, beside string
	verdict                       verdict
}

// verdict is whether the records meet a goal.
type verdict string

const (
	met    verdict = "MET"
	missed verdict = "MISSED"
	noData verdict = "NO DATA" // the runs that the goal is about are not in the file
)

// judge compares a value with a limit; known is false without records.
func judge(known, holds bool) verdict {
	switch {
	case !known:
		return noData
	case holds:
		return met
	default:
		return missed
	}
}

// goals lists the goals of the call path with what was measured.
func goals(all results) []goal {
	var list []goal
	list = append(list, processorGoals(all)...)
	list = append(list, comparisonGoals(all)...)
	list = append(list, codecGoals(all)...)
	list = append(list, plainGoals(all)...)
	return append(list, mixedGoals(all)...)
}

// What a call may cost at a thousand callers, in µs of processor time of both
// processes, and how much more it may cost with fewer or more of them.
func processorGoals(all results) []goal {
	var list []goal
	for _, c := range []struct {
		codec string
		limit float64
	}{{raw, 2}, {vtproto, 7}, {google, 9}} {
		for _, n := range []struct {
			callers int
			factor  float64
		}{{100, 1.3}, {1000, 1}, {5000, 1.5}} {
			got := all.of(contract.Echo, "weft", c.codec, n.callers).Figure(records.CPU)
			floor := all.of(contract.Echo, "floor", c.codec, n.callers).Figure(records.CPU)
			limit := c.limit * n.factor
			list = append(list, goal{
				what:     fmt.Sprintf("processor time of a call, %s, %s callers", c.codec, records.Count(n.callers)),
				limit:    "≤ " + records.Number(limit) + " µs",
				measured: got.Text("µs"),
				beside:   "floor " + floor.Text("µs"),
				verdict:  judge(got.Rounds > 0, got.Median <= limit),
			})
		}
	}
	return list
}

// comparisonGoals hold weft to grpc-go with the same protobuf code. What the floor
// reaches, which is no RPC system, shows about what the machine allows.
func comparisonGoals(all results) []goal {
	const times = 5
	var list []goal
	for _, codec := range []string{vtproto, google} {
		for _, callers := range []int{100, 1000, 5000} {
			weft := all.of(contract.Echo, "weft", codec, callers)
			grpc := all.of(contract.Echo, "grpc-go", codec, callers)
			ours, theirs := weft.Figure(records.CallsPerSec), grpc.Figure(records.CallsPerSec)
			got := weft.Over(records.CallsPerSec, grpc, records.CallsPerSec)
			floor := all.of(contract.Echo, "floor", codec, callers).Over(records.CallsPerSec, grpc, records.CallsPerSec)
			list = append(list, goal{
				what:     fmt.Sprintf("calls/s over grpc-go's, %s, %s callers", codec, records.Count(callers)),
				limit:    fmt.Sprintf("≥ %d ×", times),
				measured: got.Text("×"),
				beside:   ours.Text("") + " to " + theirs.Text("") + "; floor " + floor.Text("×"),
				verdict:  judge(got.Rounds > 0, got.Median >= times),
			})
			ours, theirs = weft.Figure(records.P99), grpc.Figure(records.P99)
			got = weft.Over(records.P99, grpc, records.P99)
			list = append(list, goal{
				what:     fmt.Sprintf("p99 over grpc-go's, %s, %s callers", codec, records.Count(callers)),
				limit:    "< 1 ×",
				measured: got.Text("×"),
				beside:   ours.Text("µs") + " to " + theirs.Text("µs"),
				verdict:  judge(got.Rounds > 0, got.Median < 1),
			})
		}
	}
	return list
}

// plainGoals hold weft to plain TCP, and to no allocation of its own.
func plainGoals(all results) []goal {
	const share, slower, dearer, allocated = 0.75, 1.15, 1.3, 0.02
	var list []goal
	for _, callers := range []int{100, 1000} {
		each := all.of(contract.Echo, "weft:each", raw, callers)
		tcp := all.of(contract.Echo, "tcp", raw, callers)
		got := each.Over(records.CallsPerSec, tcp, records.CallsPerSec)
		list = append(list, goal{
			what:     fmt.Sprintf("calls/s over plain TCP's, a connection per caller, raw, %s callers", records.Count(callers)),
			limit:    "≥ " + records.Number(share) + " ×",
			measured: got.Text("×"),
			beside:   each.Figure(records.CallsPerSec).Text("") + " to " + tcp.Figure(records.CallsPerSec).Text(""),
			verdict:  judge(got.Rounds > 0, got.Median >= share),
		})
	}
	one := all.of(contract.Echo, "weft", raw, 1)
	tcp := all.of(contract.Echo, "tcp", raw, 1)
	got := one.Over(records.P50, tcp, records.P50)
	list = append(list, goal{
		what:     "p50 over plain TCP's, raw, 1 caller",
		limit:    "≤ " + records.Number(slower) + " ×",
		measured: got.Text("×"),
		beside:   one.Figure(records.P50).Text("µs") + " to " + tcp.Figure(records.P50).Text("µs"),
		verdict:  judge(got.Rounds > 0, got.Median <= slower),
	})
	dialed, bare := all.of(contract.MathNew, "weft", vtproto, 1), all.of(contract.MathNew, "tcp", raw, 1)
	got = dialed.Over(records.CPU, bare, records.CPU)
	list = append(list, goal{
		what:     "processor time of a call on a connection of its own, over plain TCP's, 1 caller",
		limit:    "≤ " + records.Number(dearer) + " ×",
		measured: got.Text("×"),
		beside:   dialed.Figure(records.CPU).Text("µs") + " to " + bare.Figure(records.CPU).Text("µs"),
		verdict:  judge(got.Rounds > 0, got.Median <= dearer),
	})
	allocs := all.of(contract.Echo, "weft", raw, 1000).Figure(records.Allocs)
	return append(list, goal{
		what:     "allocations of a call, both sides, raw, 1,000 callers",
		limit:    "≤ " + records.Number(allocated),
		measured: fraction(allocs),
		beside:   "contexts in slabs of 64: 0.016",
		verdict:  judge(allocs.Rounds > 0, allocs.Median <= allocated),
	})
}

// mixedGoals are about calls that must not wait for others.
func mixedGoals(all results) []goal {
	const parallel, disturbed = 0.75, 2
	const beside = 3 * time.Millisecond
	var list []goal
	for _, callers := range []int{1000, 5000} {
		run := all.of(contract.Delay, "weft", vtproto, callers)
		awake := all.of(contract.Echo, "weft", vtproto, callers)
		side := run.Figure(records.Ideal)
		possible := func(r runner.Record) float64 { return min(r.CallsPerSec, side.Median) }
		got := run.Over(records.CallsPerSec, awake, possible)
		floor := all.of(contract.Delay, "floor", vtproto, callers).Over(records.CallsPerSec, all.of(contract.Echo, "floor", vtproto, callers), possible)
		list = append(list, goal{
			what:     fmt.Sprintf("calls/s of a handler that sleeps 10 ms, %s callers, over what is possible", records.Count(callers)),
			limit:    "≥ " + records.Number(parallel) + " ×",
			measured: got.Text("×"),
			beside:   run.Figure(records.CallsPerSec).Text("") + " to the lower of " + side.Short() + " and " + awake.Figure(records.CallsPerSec).Text("") + "; floor " + floor.Text("×"),
			verdict:  judge(got.Rounds > 0, got.Median >= parallel),
		})
	}
	for _, callers := range []int{100, 1000} {
		mixed := all.of(contract.Slow, "weft", vtproto, callers)
		alone := all.of(contract.Echo, "weft", vtproto, callers)
		got := mixed.Over(records.P99, alone, records.P99)
		list = append(list, goal{
			what:     fmt.Sprintf("p99 of the others when one call in a hundred takes 5 ms, %s callers", records.Count(callers)),
			limit:    fmt.Sprintf("≤ %d ×", disturbed),
			measured: got.Text("×"),
			beside:   mixed.Figure(records.P99).Text("µs") + " to " + alone.Figure(records.P99).Text("µs"),
			verdict:  judge(got.Rounds > 0, got.Median <= disturbed),
		})
	}
	for _, callers := range []int{1, 100} {
		got := all.of(contract.Large, "weft", vtproto, callers).Figure(records.P99)
		grpc := all.of(contract.Large, "grpc-go", vtproto, callers).Figure(records.P99)
		alone := all.of(contract.Echo, "weft", vtproto, callers).Figure(records.P99)
		list = append(list, goal{
			what:     "p99 of small calls beside replies of 8 MiB, " + records.Counted(callers, "caller"),
			limit:    fmt.Sprintf("< %s µs", records.Thousands(float64(beside.Microseconds()))),
			measured: got.Text("µs"),
			beside:   "without them " + alone.Text("µs") + "; grpc-go " + grpc.Text("µs"),
			verdict:  judge(got.Rounds > 0, got.Median < float64(beside.Microseconds())),
		})
	}
	return list
}
