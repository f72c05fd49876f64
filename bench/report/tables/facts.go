package tables

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weftrpc/weft/bench/internal/runner"
	"github.com/weftrpc/weft/bench/report/comparison"
	"github.com/weftrpc/weft/bench/report/records"
)

// Fact is a line of the head: where, when and how the records were made.
type Fact struct{ Name, Value string }

// Facts are where, when and how the records were made.
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
	rounds, made, leftOut, seconds := 0, 0, 0, 0.0
	for _, r := range c.Runs {
		rounds = max(rounds, r.Round)
		if r.Calls > 0 {
			made++
		} else if r.Skipped != "" {
			leftOut++
		}
		if comparison.PlainRun(r) {
			seconds = max(seconds, r.Seconds)
		}
	}
	return []Fact{
		{"Processor", of(func(r runner.Record) string { return fmt.Sprintf("%s × %d", r.CPU, r.CPUs) })},
		{"Kernel", "Linux " + of(func(r runner.Record) string { return r.Kernel })},
		{"Go", of(func(r runner.Record) string { return r.Go })},
		{"Commit", of(func(r runner.Record) string { return r.Commit })},
		{"Measured", measured(c.Runs)},
		{"Rounds", fmt.Sprintf("%d, interleaved; runs of %s s", rounds, records.Number(seconds))},
		{"Runs", fmt.Sprintf("%s made, %s left out, %s failed as a whole", records.Count(made), records.Count(leftOut), records.Count(len(c.Runs)-made-leftOut))},
		{"Disturbed", disturbances(c.Runs, made)},
		{"Failed calls", records.Count(comparison.Failures(slices.DeleteFunc(slices.Clone(c.Runs), func(r runner.Record) bool { return r.Calls == 0 })))},
	}
}

// sitting is runs that one call of compare made, as far as the records show it.
type sitting struct {
	of          runner.Environment
	first, last time.Time
	workloads   []string
}

// measured is when the records were made. Workloads are measured anew one by one: where
// the records are of several programs or machines, it says which workloads are of which.
func measured(all records.Runs) string {
	var sittings []*sitting
	for _, r := range all {
		i := slices.IndexFunc(sittings, func(s *sitting) bool { return s.of == r.Environment })
		if i < 0 {
			i = len(sittings)
			sittings = append(sittings, &sitting{of: r.Environment, first: r.Time, last: r.Time})
		}
		s := sittings[i]
		if r.Time.Before(s.first) {
			s.first = r.Time
		}
		if r.Time.After(s.last) {
			s.last = r.Time
		}
		if w := string(r.Workload); !slices.Contains(s.workloads, w) {
			s.workloads = append(s.workloads, w)
		}
	}
	var text []string
	for _, s := range sittings {
		when := fmt.Sprintf("%s, %s to %s UTC", s.first.UTC().Format(time.DateOnly), s.first.UTC().Format("15:04"), s.last.UTC().Format("15:04"))
		if len(sittings) > 1 {
			when += fmt.Sprintf(" (%s: commit %s, %s × %d)", strings.Join(s.workloads, ", "), s.of.Commit, s.of.CPU, s.of.CPUs)
		}
		text = append(text, when)
	}
	return strings.Join(text, " and ")
}

// disturbances counts how many of the runs that were made were disturbed, and by what.
func disturbances(some records.Runs, made int) string {
	steal, others := 0, 0
	for _, r := range some {
		if r.BySteal() {
			steal++
		}
		if r.ByOthers() {
			others++
		}
	}
	text := fmt.Sprintf("%s of %s runs (†)", records.Count(comparison.Disturbed(some)), records.Count(made))
	if steal+others == 0 {
		return text
	}
	return fmt.Sprintf("%s, %s by other machines on the host, %s by other processes", text, records.Count(steal), records.Count(others))
}
