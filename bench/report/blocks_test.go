package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weftrpc/weft/bench/report/recordstest"
)

// compared is a folder with a made-up result file.
func compared(t *testing.T) (folder, file string) {
	t.Helper()
	folder = t.TempDir()
	f, err := os.Create(filepath.Join(folder, "2026-01-02.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := recordstest.Write(f); err != nil {
		t.Fatal(err)
	}
	return folder, f.Name()
}

func TestPublishedFile(t *testing.T) {
	tests := []struct{ name, line, want, wrong string }{
		{"named", "2026-01-02.jsonl\n", "2026-01-02.jsonl", ""},
		{"empty", "\n", "", "want the name of one file"},
		{"elsewhere", "../core.jsonl\n", "", "want the name of one file"},
	}
	for _, tt := range tests {
		folder := t.TempDir()
		if err := os.WriteFile(filepath.Join(folder, published), []byte(tt.line), 0o644); err != nil {
			t.Fatal(err)
		}
		got, err := publishedFile(folder)
		if got != tt.want || (err == nil) != (tt.wrong == "") || err != nil && !strings.Contains(err.Error(), tt.wrong) {
			t.Errorf("%s: %q, %v", tt.name, got, err)
		}
	}
	if got, err := publishedFile(t.TempDir()); got != "" || err != nil {
		t.Errorf("no file: %q, %v", got, err)
	}
}

func TestComparisonBlocks(t *testing.T) {
	folder, file := compared(t)
	full, err := comparisonBlocks(folder, filepath.Base(file))
	if err != nil {
		t.Fatal(err)
	}
	none, err := comparisonBlocks(folder, "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := comparisonBlocks(folder, "gone.jsonl"); err == nil {
		t.Error("a file that does not exist has blocks")
	}
	if len(full) != len(none) {
		t.Errorf("%d blocks with a comparison, %d without", len(full), len(none))
	}
	for name, want := range map[string]string{
		"comparison":           "| **weft** | **vtproto** |",
		"comparison-origin":    "(../bench/results/2026-01-02.html)",
		"comparison-verdict":   "weft is first",
		"comparison-defeats":   "| thrift-cpp-nonblocking binary | memory |",
		"comparison-same":      "**Echo, 1,000 callers**",
		"comparison-best":      "| thrift-java ",
		"comparison-workloads": "### Codecs",
		"comparison-peers":     "| Java |",
		"comparison-gaps":      "at most 300 callers",
	} {
		if !strings.Contains(full[name], want) {
			t.Errorf("block %s has no %q:\n%s", name, want, full[name])
		}
		if none[name] != unpublished {
			t.Errorf("block %s without a comparison: %q", name, none[name])
		}
		if !strings.HasSuffix(full[name], "\n") || strings.Contains(full[name], "\n\n\n") || strings.Contains(full[name], "NaN") {
			t.Errorf("block %s does not end well, has two empty lines, or shows what is no number:\n%s", name, full[name])
		}
	}
}

// TestShow makes the report and its plots.
func TestShow(t *testing.T) {
	folder, file := compared(t)
	html, svg := filepath.Join(folder, "report.html"), filepath.Join(folder, "plots")
	if err := run([]string{"-comparison", file, "-html", html, "-svg", svg}, io.Discard); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(html); err != nil || !strings.HasPrefix(string(b), "<!DOCTYPE html>") {
		t.Errorf("the report begins with %.40q, %v", b, err)
	}
	if b, err := os.ReadFile(filepath.Join(svg, "throughput-same.svg")); err != nil || !strings.HasPrefix(string(b), "<svg ") {
		t.Errorf("the plot begins with %.40q, %v", b, err)
	}
}
