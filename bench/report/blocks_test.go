package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weftrpc/weft/bench/report/comparison"
	"github.com/weftrpc/weft/bench/report/records"
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

// TestPublish: what is published is what was measured, compressed, and the
// documents show it.
func TestPublish(t *testing.T) {
	folder, root := t.TempDir(), t.TempDir()
	if err := records.Compress("../results/core.jsonl.gz", filepath.Join(folder, coreFile)); err != nil {
		t.Fatal(err)
	}
	if err := records.Compress("../results/doors.jsonl.gz", filepath.Join(folder, doorsFile)); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(root, "docs"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range documents() {
		if err := os.WriteFile(filepath.Join(root, name), []byte("<!-- figures:begin comparison-origin -->\n<!-- figures:end -->\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := run([]string{"-publish", made(t), "-results", folder, "-root", root}, io.Discard, io.Discard); err != nil {
		t.Fatal(err)
	}
	file, err := records.ReadFile(filepath.Join(folder, comparisonFile))
	if err != nil || len(file.Runs) != len(recordstest.File().Runs) {
		t.Errorf("the published records are %+v, %v", file, err)
	}
	if b, err := os.ReadFile(filepath.Join(root, "README.md")); err != nil || !strings.Contains(string(b), "Made-up Processor") {
		t.Errorf("README.md does not show the published records: %q, %v", b, err)
	}
	// Records of something else do not become the comparison of the documents.
	other := filepath.Join(t.TempDir(), "codecs.jsonl")
	if err := os.WriteFile(other, []byte(`{"workload":"codecs","codec":"gob"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := run([]string{"-publish", other, "-results", folder, "-root", root}, io.Discard, io.Discard); err == nil || !strings.Contains(err.Error(), "whole comparison") {
		t.Errorf("records without a comparison: error %v", err)
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
