package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weftrpc/weft/bench/internal/harness"
	"github.com/weftrpc/weft/internal/leak"
)

// The test binary is the program that it tests, when it is started as a child.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && (os.Args[1] == string(harness.ModeServe) || os.Args[1] == string(harness.ModeLoad)) {
		main()
		return
	}
	// A child under the race detector sleeps a second before it ends, without this.
	os.Setenv("GORACE", "atexit_sleep_ms=0")
	leak.Main(m)
}

// TestRunsOfAllPeers runs the whole program with its processes, a few hundred
// calls for each peer and codec.
func TestRunsOfAllPeers(t *testing.T) {
	file := filepath.Join(t.TempDir(), "records.jsonl")
	var stdout, stderr strings.Builder
	args := []string{"-rounds=1", "-callers=4", "-calls=300", "-warmup=20ms", "-commit=abc", "-out=" + file}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	if err := run(ctx, args, nil, &stdout, &stderr); err != nil {
		t.Fatalf("%v\n%s", err, stderr.String())
	}
	written, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	printed := stdout.String()
	if !strings.HasPrefix(printed, string(written)) {
		t.Error("the file does not hold the lines that were printed")
	}
	if !strings.Contains(printed, "| workload | callers |") {
		t.Errorf("no table:\n%s", printed)
	}
	seen := make(map[string]bool)
	lines := bufio.NewScanner(strings.NewReader(string(written)))
	for lines.Scan() {
		var r harness.Record
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		seen[r.Peer+" "+string(r.Codec)] = true
		if r.Calls != 300 || r.Failures != 0 || r.Commit != "abc" {
			t.Errorf("%s %s: %d calls, %d failures (%s), commit %s", r.Peer, r.Codec, r.Calls, r.Failures, r.FirstError, r.Commit)
		}
		for name, value := range map[string]float64{
			"p50": r.P50, "max": r.Max, "calls/s": r.CallsPerSec, "client CPU": r.ClientCPU, "server CPU": r.ServerCPU,
			"writes": float64(r.ClientWrites), "server writes": float64(r.ServerWrites), "client RSS": r.ClientRSS, "server RSS": r.ServerRSS,
		} {
			if value <= 0 {
				t.Errorf("%s %s: %s is %v", r.Peer, r.Codec, name, value)
			}
		}
	}
	for _, want := range []string{"tcp raw", "floor raw", "floor vtproto", "floor google", "grpc raw", "grpc vtproto", "grpc google"} {
		if !seen[want] {
			t.Errorf("no record of %s", want)
		}
	}
}

func TestGatesRunBesideThePlainWorkload(t *testing.T) {
	var stdout, stderr strings.Builder
	args := []string{"-rounds=1", "-callers=3", "-seconds=0.2", "-warmup=20ms", "-commit=abc", "-codecs=raw", "-peers=tcp", "-workload=large"}
	if err := run(t.Context(), args, nil, &stdout, &stderr); err != nil {
		t.Fatalf("%v\n%s", err, stderr.String())
	}
	for _, want := range []string{`"workload":"say"`, `"workload":"large"`, `"side_calls":`, "| side calls/s |"} {
		if !strings.Contains(stdout.String(), want) {
			t.Errorf("no %s in\n%s", want, stdout.String())
		}
	}
}

func TestBadFlags(t *testing.T) {
	tests := []struct{ flag, want string }{
		{"-peers=spindle", `unknown peer "spindle"`},
		{"-codecs=gob", `unknown codec "gob"`},
		{"-callers=0", `"0" is not a positive number`},
		{"-callers=1,,2", `"" is not a positive number`},
		{"-workload=weave", `unknown workload "weave"`},
		{"-rounds=0", "must be positive"},
		{"-seconds=0", "must be positive"},
		{"-conns=-1", "not negative"},
		{"more", `unexpected argument "more"`},
		{"-spin", "flag provided but not defined"},
	}
	for _, test := range tests {
		if _, err := parse([]string{test.flag}, io.Discard); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v, want one with %q", test.flag, err, test.want)
		}
	}
}

func TestFlags(t *testing.T) {
	s, err := parse([]string{"-peers=floor, floor:1,grpc:each", "-conns=3", "-workload=slow", "-seconds=0.5"}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	conns := []int{}
	for _, e := range s.plan.Entries {
		conns = append(conns, e.Conns)
	}
	if len(conns) != 3 || conns[0] != 3 || conns[1] != 1 || conns[2] != harness.PerCaller {
		t.Errorf("connections %v, want 3, 1, one each", conns)
	}
	if w := s.plan.Workloads; len(w) != 2 || w[0] != harness.Say || w[1] != harness.Slow {
		t.Errorf("workloads %v, want the plain one and slow", w)
	}
	if c := s.plan.Callers; len(c) != 2 || c[0] != 100 || c[1] != 1000 {
		t.Errorf("callers %v", c)
	}
	if s.plan.Measure != 500*time.Millisecond {
		t.Errorf("measured time %v", s.plan.Measure)
	}
}
