package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weftrpc/weft/bench/report/comparison"
	"github.com/weftrpc/weft/bench/report/records"
	"github.com/weftrpc/weft/bench/report/tables"
)

// render makes every block that a document may have.
func render(core results, c *comparison.Comparison, doors results) map[string]string {
	return map[string]string{
		"summary":            summary(core) + "\n" + origin(core),
		"goals":              goalTable(goals(core)),
		"codecs":             codecTable(core),
		"noise":              noise(core),
		"doors":              doorTable(doors) + "\n" + origin(doors),
		"comparison":         headlines(c) + "\n" + where(c) + "\n",
		"comparison-origin":  comparisonOrigin(c) + ".\n",
		"comparison-verdict": headlines(c) + "\n" + claims(c),
		"comparison-places":  tables.Places(c, c.Best()).Markdown(),
	}
}

// headlines are the verdicts, a sentence for each view.
func headlines(c *comparison.Comparison) string {
	var b strings.Builder
	for _, v := range c.Views() {
		b.WriteString(tables.Headline(c, v) + "\n")
	}
	return b.String()
}

// claims are what weft sets out to be, and whether the records confirm it.
func claims(c *comparison.Comparison) string {
	var b strings.Builder
	for _, claim := range c.Claims() {
		answer := "no data"
		if claim.Known {
			answer = map[bool]string{true: "yes", false: "no"}[claim.Holds] + ", " + claim.Measured
		}
		fmt.Fprintf(&b, "- %s: **%s**\n", claim.Text, answer)
	}
	return b.String()
}

// where is a short comparisonOrigin, for the READMEs.
func where(c *comparison.Comparison) string {
	facts := make(map[string]string)
	for _, f := range tables.Facts(c) {
		facts[f.Name] = f.Value
	}
	var days []string
	for _, r := range c.Runs {
		if day := r.Time.UTC().Format(time.DateOnly); !slices.Contains(days, day) {
			days = append(days, day)
		}
	}
	slices.Sort(days)
	return fmt.Sprintf("%s, %s, %s; rounds: %s; disturbed by other load: %s.", facts["Processor"], facts["Go"], strings.Join(days, " and "), facts["Rounds"],
		strings.TrimSuffix(strings.Split(facts["Disturbed"], ",")[0], " (†)"))
}

// comparisonOrigin is one line with where and when the records were made.
func comparisonOrigin(c *comparison.Comparison) string {
	var parts []string
	for _, f := range tables.Facts(c) {
		parts = append(parts, strings.ToLower(f.Name[:1])+f.Name[1:]+": "+f.Value)
	}
	return records.Capital(strings.Join(parts, "; "))
}
