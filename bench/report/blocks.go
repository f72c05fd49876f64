package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/weftrpc/weft/bench/report/comparison"
	"github.com/weftrpc/weft/bench/report/page"
	"github.com/weftrpc/weft/bench/report/records"
	"github.com/weftrpc/weft/bench/report/table"
)

// published is the file, beside the results, whose one line names the result file
// of the comparison that the documents show. A comparison that somebody makes on
// his own machine does not change the documents until it is named there.
const published = "comparison.txt"

// unpublished stands in the blocks of the comparison while no file is named.
const unpublished = "No comparison is published yet. `make bench` makes one.\n"

// publishedFile is the name of the result file that the documents show; "" if
// there is none.
func publishedFile(results string) (string, error) {
	line, err := os.ReadFile(filepath.Join(results, published))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	name := strings.TrimSpace(string(line))
	if name == "" || name != filepath.Base(name) {
		return "", fmt.Errorf("%s: want the name of one file of the same folder, not %q", filepath.Join(results, published), name)
	}
	return name, nil
}

// comparisonBlocks makes every block about the comparison, from the result file
// of this name in a folder; "" for none.
func comparisonBlocks(results, name string) (map[string]string, error) {
	makers := map[string]func(c *comparison.Comparison) string{
		"comparison": func(c *comparison.Comparison) string {
			return page.Summary(c).Markdown() + "\nNames in italics are no frameworks but marks to come near. " + comparisonOrigin(c) + "\n"
		},
		"comparison-origin":  func(c *comparison.Comparison) string { return comparisonOrigin(c) + ".\n\n" + rendered(name) },
		"comparison-verdict": verdicts,
		"comparison-defeats": defeats,
		"comparison-peers":   func(c *comparison.Comparison) string { return page.Peers(c).Markdown() },
		"comparison-gaps": func(c *comparison.Comparison) string {
			return orElse(page.Gaps(c), "Every run that was planned was made.\n")
		},
		"comparison-same":      func(c *comparison.Comparison) string { return figuresOf(c, c.Same()) },
		"comparison-best":      func(c *comparison.Comparison) string { return figuresOf(c, c.Best()) },
		"comparison-workloads": workloads,
	}
	var c *comparison.Comparison
	if name != "" {
		file, err := records.ReadFile(filepath.Join(results, name))
		if err != nil {
			return nil, err
		}
		c = comparison.New(file)
	}
	blocks := make(map[string]string)
	for block, make := range makers {
		blocks[block] = unpublished
		if c != nil {
			blocks[block] = make(c)
		}
	}
	return blocks, nil
}

// comparisonOrigin is one line that says where and when the records were made.
func comparisonOrigin(c *comparison.Comparison) string {
	var parts []string
	for _, f := range page.Facts(c) {
		parts = append(parts, strings.ToLower(f.Name[:1])+f.Name[1:]+": "+f.Value)
	}
	return page.Capital(strings.Join(parts, "; "))
}

// rendered leads to the result file, and to its report.
func rendered(name string) string {
	base := strings.TrimSuffix(name, filepath.Ext(name))
	return fmt.Sprintf("The records: [%s](../bench/results/%s); the report with plots: [%s.html](../bench/results/%s.html).\n", name, name, base, base)
}

// verdicts are the claims, and where weft stands.
func verdicts(c *comparison.Comparison) string {
	var b strings.Builder
	for _, v := range c.Views() {
		b.WriteString(page.Headline(c, v) + "\n")
	}
	b.WriteString("\n")
	for _, claim := range c.Claims() {
		answer := "no data"
		if claim.Known {
			answer = map[bool]string{true: "yes", false: "no"}[claim.Holds] + ", " + claim.Measured
		}
		fmt.Fprintf(&b, "- %s: **%s**\n", claim.Text, answer)
	}
	for _, v := range c.Views() {
		t := page.Standings(c, v)
		fmt.Fprintf(&b, "\n%s. %s\n\n%s", t.Caption, t.Note, t.Markdown())
	}
	return b.String()
}

// defeats are where a peer beats weft.
func defeats(c *comparison.Comparison) string {
	var parts []string
	for _, v := range c.Views() {
		parts = append(parts, v.Title+":\n\n"+orElse(page.Defeats(c, v), "nowhere, by no figure of this comparison.\n"))
	}
	return strings.Join(parts, "\n")
}

func orElse(t table.Table, without string) string {
	if len(t.Rows) == 0 {
		return without
	}
	return t.Markdown()
}

// figuresOf are the ratios of a view, its figures at some numbers of callers, and
// what a call takes. The report has them at all.
func figuresOf(c *comparison.Comparison, v comparison.View) string {
	var tables []table.Table
	for _, m := range []comparison.Metric{comparison.Throughput(), comparison.CPU(), comparison.P50(), comparison.P99()} {
		tables = append(tables, page.Ratios(c, v, m))
	}
	for _, callers := range []int{1, 100, 1000} {
		tables = append(tables, page.Full(c, v, comparison.Plain(callers)))
	}
	costs := page.Costs(c, v, comparison.Plain(1000))
	costs.Caption += ": what a call takes"
	return captioned(append(tables, costs))
}

// workloads are those of their own, and the codecs.
func workloads(c *comparison.Comparison) string {
	var b strings.Builder
	for _, s := range page.Sections(c) {
		fmt.Fprintf(&b, "\n### %s\n\n%s\n\n%s", s.Title, s.Text, captioned(s.Tables))
	}
	return strings.TrimPrefix(b.String(), "\n")
}

// captioned are tables with their captions above.
func captioned(all []table.Table) string {
	var parts []string
	for _, t := range all {
		if len(t.Rows) > 0 {
			parts = append(parts, "**"+t.Caption+"**\n\n"+t.Markdown())
		}
	}
	return strings.Join(parts, "\n")
}
