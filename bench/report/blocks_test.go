package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weftrpc/weft/bench/report/comparison"
	"github.com/weftrpc/weft/bench/report/recordstest"
)

// compared is a made-up comparison.
func compared() *comparison.Comparison { return comparison.New(recordstest.File()) }

// made is a made-up file of records, as a measurement leaves it.
func made(t *testing.T) string {
	t.Helper()
	var b bytes.Buffer
	if err := recordstest.Write(&b); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "2026-01-02.jsonl")
	if err := os.WriteFile(name, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestComparisonBlocks(t *testing.T) {
	blocks := render(results{record(nil)}, compared(), results{record(nil)})
	for name, want := range map[string]string{
		"comparison":         "weft is first",
		"comparison-origin":  "disturbed: ",
		"comparison-verdict": "- First in CPU per call",
		"comparison-places":  "| math-new, 10,000 calls, 1 caller |",
	} {
		if !strings.Contains(blocks[name], want) {
			t.Errorf("block %s has no %q:\n%s", name, want, blocks[name])
		}
	}
	for name, block := range blocks {
		if !strings.HasSuffix(block, "\n") || strings.Contains(block, "\n\n\n") || strings.Contains(block, "NaN") {
			t.Errorf("block %s does not end well, has two empty lines, or shows what is no number:\n%s", name, block)
		}
	}
}

// TestShow makes the report, its plots and the tables.
func TestShow(t *testing.T) {
	folder := t.TempDir()
	html, svg := filepath.Join(folder, "report.html"), filepath.Join(folder, "plots")
	var text bytes.Buffer
	if err := run([]string{"-comparison", made(t), "-html", html, "-svg", svg, "-text"}, &text, io.Discard); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(html); err != nil || !strings.HasPrefix(string(b), "<!DOCTYPE html>") {
		t.Errorf("the report begins with %.40q, %v", b, err)
	}
	if b, err := os.ReadFile(filepath.Join(svg, "throughput-same.svg")); err != nil || !strings.HasPrefix(string(b), "<svg ") {
		t.Errorf("the plot begins with %.40q, %v", b, err)
	}
	if !strings.Contains(text.String(), "Echo, 1,000 callers\n") {
		t.Errorf("the tables begin with %.80q", text.String())
	}
	// Without a file it is the published comparison.
	if err := run([]string{"-results", "../results", "-text"}, &text, io.Discard); err != nil {
		t.Error(err)
	}
}
