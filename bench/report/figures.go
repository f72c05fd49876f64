package main

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weftrpc/weft/bench/internal/harness"
	"github.com/weftrpc/weft/bench/internal/msg"
)

// render makes every block that a document may have.
func render(all results) (map[string]string, error) {
	var full strings.Builder
	if err := harness.WriteTable(&full, all); err != nil {
		return nil, err
	}
	return map[string]string{
		"summary": summary(all) + "\n" + origin(all),
		"goals":   goalTable(goals(all)),
		"noise":   noise(all),
		"all":     full.String(),
	}, nil
}

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

// summary is the small table of the READMEs: weft beside grpc-go, with the same
// protobuf code.
func summary(all results) string {
	var b strings.Builder
	b.WriteString("| callers | calls/s weft | grpc-go | CPU µs/call weft | grpc-go | p99 µs weft | grpc-go |\n|---:|---:|---:|---:|---:|---:|---:|\n")
	for _, callers := range []int{1, 100, 1000, 5000} {
		weft := all.of(harness.Say, "weft", msg.VT, callers)
		grpc := all.of(harness.Say, "grpc", msg.VT, callers)
		cells := []string{count(callers)}
		for _, f := range []field{callsPerSecond, processorTime, tail99} {
			cells = append(cells, weft.figure(f).short(), grpc.figure(f).short())
		}
		fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | "))
	}
	return b.String()
}

// origin is one line that says where and when the records were made.
func origin(all results) string {
	first := slices.MinFunc(all, func(a, b harness.Record) int { return a.Time.Compare(b.Time) })
	line := fmt.Sprintf("%s × %d, %s, Linux %s, commit %s, %s; %s", first.CPU, first.GOMAXPROCS, first.Go, first.Kernel,
		strings.Join(commits(all), " and "), first.Time.UTC().Format(time.DateOnly), rounds(all))
	if n := all.failures(); n > 0 {
		line += fmt.Sprintf("; **%s failed**", counted(int(n), "call"))
	}
	return line + "\n"
}

// commits are those that the records name, in order of time.
func commits(all results) []string {
	sorted := slices.SortedFunc(slices.Values(all), func(a, b harness.Record) int { return a.Time.Compare(b.Time) })
	var names []string
	for _, r := range sorted {
		if !slices.Contains(names, r.Commit) {
			names = append(names, r.Commit)
		}
	}
	return names
}

// rounds says how often everything was repeated.
func rounds(all results) string {
	most := slices.MaxFunc(all, func(a, b harness.Record) int { return cmp.Compare(a.Round, b.Round) }).Round
	if most <= 1 {
		return "one round of " + number(all[0].Seconds) + " s"
	}
	return fmt.Sprintf("medians of %d rounds", most)
}

// noise says how much of the machine was taken by others while the records were made.
func noise(all results) string {
	every := runs(all)
	other, steal := every.figure(others), every.figure(stolen)
	load := every.figure(func(r harness.Record) float64 { return r.Load1 })
	floor := all.of(harness.Say, "floor", msg.Raw, 1000).figure(processorTime)
	var b strings.Builder
	b.WriteString("| while the runs were made | median | least | greatest |\n|---|---:|---:|---:|\n")
	for _, row := range []struct {
		what string
		figure
	}{
		{"other processes of this machine, % of its processors", other},
		{"other machines on the same host (steal), %", steal},
		{"load average when a run began", load},
		{"the floor, raw, 1,000 callers, CPU µs/call", floor},
	} {
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", row.what, number(row.median), number(row.least), number(row.most))
	}
	return b.String()
}

// text is a figure with its unit, and with its least and greatest value if there
// was more than one round.
func (f figure) text(unit string) string {
	if f.rounds == 0 {
		return "–"
	}
	s := thousands(f.median)
	if f.rounds > 1 {
		s += " (" + thousands(f.least) + "–" + thousands(f.most) + ")"
	}
	if unit != "" {
		s += " " + unit
	}
	return s
}

// short is the median alone.
func (f figure) short() string {
	if f.rounds == 0 {
		return "–"
	}
	return thousands(f.median)
}

// fraction is a small figure to three decimals.
func fraction(f figure) string {
	if f.rounds == 0 {
		return "–"
	}
	return strconv.FormatFloat(f.median, 'f', 3, 64)
}

// number keeps three digits, and all of a larger integer part.
func number(v float64) string {
	switch {
	case v >= 100:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case v >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	default:
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
}

// thousands is number with a comma between groups of three digits.
func thousands(v float64) string {
	whole, rest, small := strings.Cut(number(v), ".")
	if small {
		rest = "." + rest
	}
	return grouped(whole) + rest
}

// count is an integer with a comma between groups of three digits.
func count(n int) string { return grouped(strconv.Itoa(n)) }

func grouped(digits string) string {
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// counted is a number and what it counts.
func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return count(n) + " " + what + "s"
}
