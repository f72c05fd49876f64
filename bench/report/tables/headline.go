package tables

import (
	"fmt"
	"strings"

	"github.com/weftrpc/weft/bench/report/comparison"
)

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
		return v.Opening + ", the records compare weft with no other peer."
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
