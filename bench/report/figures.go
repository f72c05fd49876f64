package main

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weftrpc/weft/bench/contract"
	"github.com/weftrpc/weft/bench/internal/runner"
	"github.com/weftrpc/weft/bench/report/records"
)

// goalTable is the table of goals, and how many of them are met.
func goalTable(list []goal) string {
	var b strings.Builder
	tally := make(map[verdict]int)
	b.WriteString("| goal | limit | measured | beside it | verdict |\n|---|---|---|---|---|\n")
	for _, g := range list {
		tally[g.verdict]++
		fmt.Fprintf(&b, "| %s | %s | %s | %s | **%s** |\n", g.what, g.limit, g.measured, g.beside, g.verdict)
	}
	fmt.Fprintf(&b, "\n%d of %d goals are met, %d are missed, %d have no data.\n", tally[met], len(list), tally[missed], tally[noData])
	return b.String()
}

// summary is weft beside grpc-go, with the same
// protobuf code.
func summary(all results) string {
	var b strings.Builder
	b.WriteString("| callers | calls/s weft | grpc-go | CPU µs/call weft | grpc-go | p99 µs weft | grpc-go |\n|---:|---:|---:|---:|---:|---:|---:|\n")
	for _, callers := range []int{1, 100, 1000, 5000} {
		weft := all.of(contract.Echo, "weft", vtproto, callers)
		grpc := all.of(contract.Echo, "grpc-go", vtproto, callers)
		cells := []string{records.Count(callers)}
		for _, f := range []records.Field{records.CallsPerSec, records.CPU, records.P99} {
			cells = append(cells, weft.Figure(f).Short(), grpc.Figure(f).Short())
		}
		fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | "))
	}
	return b.String()
}

// origin is one line with where and when the records were made.
func origin(all results) string {
	first := slices.MinFunc(all, func(a, b runner.Record) int { return a.Time.Compare(b.Time) })
	line := fmt.Sprintf("%s × %d, %s, Linux %s, commit %s, %s; %s", first.CPU, first.CPUs, first.Go, first.Kernel,
		strings.Join(commits(all), " and "), first.Time.UTC().Format(time.DateOnly), rounds(all))
	if n := all.failures(); n > 0 {
		line += fmt.Sprintf("; **%s failed**", records.Counted(int(n), "call"))
	}
	return line + "\n"
}

// commits are those that the records name, in order of time.
func commits(all results) []string {
	sorted := slices.SortedFunc(slices.Values(all), func(a, b runner.Record) int { return a.Time.Compare(b.Time) })
	var names []string
	for _, r := range sorted {
		if !slices.Contains(names, r.Commit) {
			names = append(names, r.Commit)
		}
	}
	return names
}

// rounds is how often everything was repeated.
func rounds(all results) string {
	most := slices.MaxFunc(all, func(a, b runner.Record) int { return cmp.Compare(a.Round, b.Round) }).Round
	if most <= 1 {
		return "one round of " + records.Number(all[0].Seconds) + " s"
	}
	return fmt.Sprintf("medians of %d rounds", most)
}

// noise is how much of the machine other load took while the records were made.
func noise(all results) string {
	every := records.Runs(all)
	other, steal := every.Figure(func(r runner.Record) float64 { return r.OtherCPU }), every.Figure(func(r runner.Record) float64 { return r.Steal })
	load := every.Figure(func(r runner.Record) float64 { return r.Load1 })
	floor := all.of(contract.Echo, "floor", raw, 1000).Figure(records.CPU)
	var b strings.Builder
	b.WriteString("| while the runs were made | median | least | greatest |\n|---|---:|---:|---:|\n")
	for _, row := range []struct {
		what string
		records.Figure
	}{
		{"other processes of this machine, % of its processors", other},
		{"other machines on the same host (steal), %", steal},
		{"load average when a run began", load},
		{"the floor, raw, 1,000 callers, CPU µs/call", floor},
	} {
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", row.what, records.Number(row.Median), records.Number(row.Least), records.Number(row.Most))
	}
	return b.String()
}

// fraction is a small figure to three decimals.
func fraction(f records.Figure) string {
	if f.Rounds == 0 {
		return records.None
	}
	return strconv.FormatFloat(f.Median, 'f', 3, 64)
}
