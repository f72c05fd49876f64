package main

import (
	"bytes"
	"errors"
	"flag"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weftrpc/weft/bench/report/records"
	"github.com/weftrpc/weft/internal/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

// briefly gives the flag of testing.Benchmark back what it was.
func briefly(t *testing.T) {
	before := flag.Lookup("test.benchtime").Value.String()
	t.Cleanup(func() { _ = flag.Set("test.benchtime", before) })
}

func TestRecordsAndTables(t *testing.T) {
	briefly(t)
	const rounds = 2
	file := filepath.Join(t.TempDir(), "codecs.jsonl")
	var tables bytes.Buffer
	for range 2 { // the second appends
		if err := run(t.Context(), []string{"-out", file, "-rounds", "1", "-time", "1ms"}, &tables, io.Discard); err != nil {
			t.Fatal(err)
		}
	}
	read, err := records.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	got := make(map[string]int)
	for _, r := range read.Codecs {
		got[strings.TrimSpace(r.Operation+" "+r.Codec+" "+r.Peer)]++
		if r.NsPerOp <= 0 {
			t.Errorf("%+v took no time", r)
		}
		if r.Operation == call && (r.AllocsPerOp == 0 || r.BytesPerOp == 0) {
			t.Errorf("the calls of %+v allocate nothing", r)
		}
		if r.Peer == "weft" && r.Size == 0 {
			t.Errorf("%+v has no size", r)
		}
	}
	want := []string{"call gob net-rpc", "call json net-rpc"}
	want = append(want, "reuse compiled", "reuse numbered", "reuse msgpack", "reuse generated", "reuse vtproto3")
	for _, codec := range []string{"gob", "json", "msgpack", "shamaton", "cbor", "google", "vtproto", "vtproto3", "gencode", "compiled", "numbered", "generated"} {
		want = append(want, "encode "+codec, "decode "+codec, "call "+codec+" weft")
	}
	if len(got) != len(want) {
		t.Errorf("there are %d operations, want %d: %v", len(got), len(want), got)
	}
	for _, operation := range want {
		if got[operation] != rounds {
			t.Errorf("%d records of %q, want %d", got[operation], operation, rounds)
		}
	}
	for _, row := range []string{"Encode", "allocations", "net-rpc", "gencode", records.None} {
		if !strings.Contains(tables.String(), row) {
			t.Errorf("%q is missing in\n%s", row, &tables)
		}
	}
}

func TestFlags(t *testing.T) {
	briefly(t)
	for name, args := range map[string][]string{
		"no rounds":     {"-rounds", "0"},
		"no time":       {"-time", "0s"},
		"an argument":   {"gob"},
		"no such flag":  {"-fast"},
		"no such place": {"-out", filepath.Join(t.TempDir(), "missing", "file")},
	} {
		if err := run(t.Context(), args, io.Discard, io.Discard); err == nil {
			t.Errorf("%s: %q is accepted", name, args)
		}
	}
}

func TestFailedOperation(t *testing.T) {
	broken := errors.New("broken")
	if _, err := (operation{kind: call, codec: "gob", once: func() error { return broken }}).measure(); !errors.Is(err, broken) {
		t.Errorf("the error is %v, want that of the call", err)
	}
}
