package main

import (
	"context"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/weftrpc/weft/bench/contract"
	"github.com/weftrpc/weft/bench/internal/runner"
	"github.com/weftrpc/weft/internal/leak"
)

// The test binary is the program that it tests, when it is started with a command
// of the contract.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-test.") {
		main()
	}
	os.Setenv("GORACE", "atexit_sleep_ms=0")
	leak.Main(m)
}

// TestIsMeasured measures programs that the comparison knows nothing of, one
// built on package harness and one that is written in another language from the
// document alone.
func TestIsMeasured(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name    string
		program []string
	}{
		{"pigeon", []string{self}},
		{"courier", []string{"python3", "../example-python/courier.py"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			peers, err := runner.Describe(ctx, test.program, io.Discard)
			if err != nil {
				t.Fatal(err)
			}
			plan := &runner.Plan{Rounds: 1, Warmup: 50 * time.Millisecond, Measure: 500 * time.Millisecond, Stderr: io.Discard}
			for _, peer := range peers {
				for _, codec := range peer.Codecs {
					plan.Entries = append(plan.Entries, runner.Entry{Label: peer.Peer, Peer: peer, Codec: codec})
				}
			}
			for _, workload := range contract.Workloads() {
				plan.Points = append(plan.Points, runner.Point{Workload: workload, Callers: 3, Calls: 60})
			}
			plan.Points = append(plan.Points, runner.Point{Workload: contract.Echo, Callers: 3, Servers: 2, Calls: 60})
			runs := 0
			err = plan.Run(ctx, func(runner.Progress, runner.Record) {}, func(r runner.Record) error {
				runs++
				if r.Calls != 60 || r.Failures != 0 || r.P50 <= 0 {
					t.Errorf("%s: %d calls, %d failures (%s), p50 %v µs", r.Title(), r.Calls, r.Failures, r.FirstError, r.P50)
				}
				return nil
			})
			if err != nil || runs < 2 {
				t.Errorf("%d runs, %v", runs, err)
			}
		})
	}
}

// TestTheREADMEShowsThisProgram keeps the adaptor of the bench module's README
// one that compiles.
func TestTheREADMEShowsThisProgram(t *testing.T) {
	source, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(readme), "```go\n"+string(source)+"```\n") {
		t.Error("the README shows another program than main.go")
	}
}
