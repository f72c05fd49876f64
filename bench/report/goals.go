package main

import (
	"fmt"
	"time"

	"github.com/weftrpc/weft/bench/internal/harness"
	"github.com/weftrpc/weft/bench/internal/msg"
)

// goal is one line of the table of goals.
type goal struct {
	what, limit, measured, beside string
	verdict                       verdict
}

// verdict is what the records say of a goal.
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
	list = append(list, plainGoals(all)...)
	return append(list, mixedGoals(all)...)
}

// What a call may cost at a thousand callers, in µs of processor time of both
// processes, and by how much it may be dearer with fewer or more of them.
func processorGoals(all results) []goal {
	var list []goal
	for _, c := range []struct {
		codec msg.Codec
		limit float64
	}{{msg.Raw, 2}, {msg.VT, 7}, {msg.Google, 9}} {
		for _, n := range []struct {
			callers int
			factor  float64
		}{{100, 1.3}, {1000, 1}, {5000, 1.5}} {
			got := all.of(harness.Say, "weft", c.codec, n.callers).figure(processorTime)
			floor := all.of(harness.Say, "floor", c.codec, n.callers).figure(processorTime)
			limit := c.limit * n.factor
			list = append(list, goal{
				what:     fmt.Sprintf("processor time of a call, %s, %s callers", c.codec, count(n.callers)),
				limit:    "≤ " + number(limit) + " µs",
				measured: got.text("µs"),
				beside:   "floor " + floor.text("µs"),
				verdict:  judge(got.rounds > 0, got.median <= limit),
			})
		}
	}
	return list
}

// comparisonGoals hold weft to grpc-go with the same protobuf code.
func comparisonGoals(all results) []goal {
	const times = 5
	var list []goal
	for _, codec := range []msg.Codec{msg.VT, msg.Google} {
		for _, callers := range []int{100, 1000, 5000} {
			weft := all.of(harness.Say, "weft", codec, callers)
			grpc := all.of(harness.Say, "grpc", codec, callers)
			ours, theirs := weft.figure(callsPerSecond), grpc.figure(callsPerSecond)
			got := weft.over(callsPerSecond, grpc, callsPerSecond)
			list = append(list, goal{
				what:     fmt.Sprintf("calls/s over grpc-go's, %s, %s callers", codec, count(callers)),
				limit:    fmt.Sprintf("≥ %d ×", times),
				measured: got.text("×"),
				beside:   ours.text("") + " to " + theirs.text(""),
				verdict:  judge(got.rounds > 0, got.median >= times),
			})
			ours, theirs = weft.figure(tail99), grpc.figure(tail99)
			got = weft.over(tail99, grpc, tail99)
			list = append(list, goal{
				what:     fmt.Sprintf("p99 over grpc-go's, %s, %s callers", codec, count(callers)),
				limit:    "< 1 ×",
				measured: got.text("×"),
				beside:   ours.text("µs") + " to " + theirs.text("µs"),
				verdict:  judge(got.rounds > 0, got.median < 1),
			})
		}
	}
	return list
}

// plainGoals hold weft to plain TCP, and to no allocation of its own.
func plainGoals(all results) []goal {
	const share, slower, allocated = 0.75, 1.15, 0.02
	var list []goal
	for _, callers := range []int{100, 1000} {
		each := all.of(harness.Say, "weft:each", msg.Raw, callers)
		tcp := all.of(harness.Say, "tcp", msg.Raw, callers)
		got := each.over(callsPerSecond, tcp, callsPerSecond)
		list = append(list, goal{
			what:     fmt.Sprintf("calls/s over plain TCP's, a connection per caller, raw, %s callers", count(callers)),
			limit:    "≥ " + number(share) + " ×",
			measured: got.text("×"),
			beside:   each.figure(callsPerSecond).text("") + " to " + tcp.figure(callsPerSecond).text(""),
			verdict:  judge(got.rounds > 0, got.median >= share),
		})
	}
	one := all.of(harness.Say, "weft", msg.Raw, 1)
	tcp := all.of(harness.Say, "tcp", msg.Raw, 1)
	got := one.over(median50, tcp, median50)
	list = append(list, goal{
		what:     "p50 over plain TCP's, raw, 1 caller",
		limit:    "≤ " + number(slower) + " ×",
		measured: got.text("×"),
		beside:   one.figure(median50).text("µs") + " to " + tcp.figure(median50).text("µs"),
		verdict:  judge(got.rounds > 0, got.median <= slower),
	})
	allocs := all.of(harness.Say, "weft", msg.Raw, 1000).figure(allocations)
	return append(list, goal{
		what:     "allocations of a call, both sides, raw, 1,000 callers",
		limit:    "≤ " + number(allocated),
		measured: fraction(allocs),
		beside:   "contexts in slabs of 64: 0.016",
		verdict:  judge(allocs.rounds > 0, allocs.median <= allocated),
	})
}

// mixedGoals are about calls that must not wait for others.
func mixedGoals(all results) []goal {
	const parallel, disturbed = 0.75, 2
	const beside = 3 * time.Millisecond
	var list []goal
	for _, callers := range []int{1000, 5000} {
		run := all.of(harness.Sleep, "weft", msg.VT, callers)
		awake := all.of(harness.Say, "weft", msg.VT, callers)
		side := run.figure(ideal)
		got := run.over(callsPerSecond, awake, func(r harness.Record) float64 { return min(r.CallsPerSec, side.median) })
		list = append(list, goal{
			what:     fmt.Sprintf("calls/s of a handler that sleeps 10 ms, %s callers, over what is possible", count(callers)),
			limit:    "≥ " + number(parallel) + " ×",
			measured: got.text("×"),
			beside:   run.figure(callsPerSecond).text("") + " to the lower of " + side.short() + " and " + awake.figure(callsPerSecond).text(""),
			verdict:  judge(got.rounds > 0, got.median >= parallel),
		})
	}
	for _, callers := range []int{100, 1000} {
		mixed := all.of(harness.Slow, "weft", msg.VT, callers)
		alone := all.of(harness.Say, "weft", msg.VT, callers)
		got := mixed.over(tail99, alone, tail99)
		list = append(list, goal{
			what:     fmt.Sprintf("p99 of the others when one call in a hundred takes 5 ms, %s callers", count(callers)),
			limit:    fmt.Sprintf("≤ %d ×", disturbed),
			measured: got.text("×"),
			beside:   mixed.figure(tail99).text("µs") + " to " + alone.figure(tail99).text("µs"),
			verdict:  judge(got.rounds > 0, got.median <= disturbed),
		})
	}
	for _, callers := range []int{1, 100} {
		got := all.of(harness.Large, "weft", msg.VT, callers).figure(tail99)
		grpc := all.of(harness.Large, "grpc", msg.VT, callers).figure(tail99)
		list = append(list, goal{
			what:     "p99 of small calls beside replies of 8 MiB, " + counted(callers, "caller"),
			limit:    fmt.Sprintf("< %s µs", thousands(float64(beside.Microseconds()))),
			measured: got.text("µs"),
			beside:   "grpc-go " + grpc.text("µs"),
			verdict:  judge(got.rounds > 0, got.median < float64(beside.Microseconds())),
		})
	}
	return list
}
