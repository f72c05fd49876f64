package main

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weftrpc/weft/bench/contract"
	"github.com/weftrpc/weft/bench/internal/runner"
	"github.com/weftrpc/weft/bench/report/records"
	"github.com/weftrpc/weft/bench/report/recordstest"
)

// place is a folder of results without a comparison, and documents.
func place(t *testing.T) (folder, root string) {
	t.Helper()
	folder, root = t.TempDir(), t.TempDir()
	for _, name := range []string{coreFile, doorsFile} {
		if err := records.Compress(filepath.Join("../results", name), filepath.Join(folder, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(root, "docs"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range documents() {
		if err := os.WriteFile(filepath.Join(root, name), []byte("<!-- figures:begin comparison-origin -->\n<!-- figures:end -->\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder, root
}

// TestPublish: what is published is what was measured, compressed, and the
// documents show it.
func TestPublish(t *testing.T) {
	folder, root := place(t)
	publish := func(name string) error {
		return run([]string{"-publish", name, "-results", folder, "-root", root}, io.Discard, io.Discard)
	}
	delay := only(t, contract.Delay, func(*runner.Record) bool { return true })
	if err := publish(delay); err == nil || !strings.Contains(err.Error(), "whole comparison") {
		t.Errorf("the first records have one workload: error %v", err)
	}
	if err := publish(made(t)); err != nil {
		t.Fatal(err)
	}
	shown := filepath.Join(folder, comparisonFile)
	whole := recordstest.File().Runs
	if file, err := records.ReadFile(shown); err != nil || len(file.Runs) != len(whole) {
		t.Errorf("the published records are %+v, %v", file, err)
	}
	readme := func() string {
		b, err := os.ReadFile(filepath.Join(root, "README.md"))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	if text := readme(); !strings.Contains(text, "Made-up Processor") {
		t.Errorf("README.md does not show the published records: %q", text)
	}

	// One workload replaces its own records alone, and the documents say which it is.
	if err := publish(delay); err != nil {
		t.Fatal(err)
	}
	file, err := records.ReadFile(shown)
	if err != nil || len(file.Runs) != len(whole) {
		t.Fatalf("%d records, %v, want %d", len(file.Runs), err, len(whole))
	}
	for i, r := range file.Runs {
		if (r.Workload == contract.Delay) != (r.Commit == "new") {
			t.Errorf("record %d is %s of commit %s", i, r.Workload, r.Commit)
		}
	}
	if text := readme(); !strings.Contains(text, "(delay: commit new, ") {
		t.Errorf("README.md does not show which workload is new: %q", text)
	}

	// Records of something else, and of fewer peers, are not published.
	other := filepath.Join(t.TempDir(), "codecs.jsonl")
	if err := os.WriteFile(other, []byte(`{"workload":"codecs","codec":"gob"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := publish(other); err == nil || !strings.Contains(err.Error(), "no runs of a comparison") {
		t.Errorf("records without a comparison: error %v", err)
	}
	fewer := only(t, contract.Delay, func(r *runner.Record) bool { return r.Peer != "drpc" })
	if err := publish(fewer); err == nil || !strings.Contains(err.Error(), "fewer runs than are published of drpc ") {
		t.Errorf("records without drpc: error %v", err)
	}
}

// only writes the records of one workload that keep has, as another commit.
func only(t *testing.T, w contract.Workload, keep func(*runner.Record) bool) string {
	t.Helper()
	var b bytes.Buffer
	for _, r := range slices.Clone(recordstest.File().Runs) {
		if r.Commit = "new"; r.Workload == w && keep(&r) {
			if err := json.NewEncoder(&b).Encode(r); err != nil {
				t.Fatal(err)
			}
		}
	}
	name := filepath.Join(t.TempDir(), "one.jsonl")
	if err := os.WriteFile(name, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}
