// Command core measures the call path: what one unary call costs, in time, in
// processor time, in allocations and in system calls, for weft and beside it for
// plain TCP, for the floor, and for grpc-go.
//
// The program starts itself twice for each run, as server and as client, prints
// one line of JSON for each run and a table at the end. See the bench module's
// README for the flags and the fields.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"

	"github.com/weftrpc/weft/bench/internal/harness"
	"github.com/weftrpc/weft/bench/internal/msg"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "core:", err)
		os.Exit(1)
	}
}

// run is the program, as one of the children if the first argument says so.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) error {
	if len(args) == 1 {
		switch harness.Mode(args[0]) {
		case harness.ModeServe:
			return harness.Serve(ctx, peers(), stdin, stdout)
		case harness.ModeLoad:
			return harness.Load(ctx, peers(), stdin, stdout)
		}
	}
	settings, err := parse(args, stderr)
	if err != nil {
		return err
	}
	if err := msg.Verify(); err != nil {
		return err
	}
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program to start it again: %w", err)
	}
	settings.plan.Environment = harness.NewEnvironment(commit(ctx, settings.commit))
	settings.plan.Command = func(mode harness.Mode) *exec.Cmd {
		cmd := exec.Command(program, string(mode))
		cmd.Stderr = stderr
		return cmd
	}
	return measure(ctx, settings, stdout, stderr)
}

// measure runs the plan, with records to stdout and the file, progress to
// stderr, and the table at the end.
func measure(ctx context.Context, s *settings, stdout, stderr io.Writer) error {
	sink := stdout
	if s.out != "" {
		file, err := os.OpenFile(s.out, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
		if err != nil {
			return err
		}
		defer file.Close()
		sink = io.MultiWriter(stdout, file)
	}
	encoder := json.NewEncoder(sink)
	var records []harness.Record
	failed := 0
	err := s.plan.Run(ctx, func(done, of int, r harness.Record) error {
		records = append(records, r)
		if r.Failures > 0 {
			failed++
		}
		fmt.Fprintf(stderr, "%d/%d %s %s %s, %d callers: %.0f calls/s, %.2f µs CPU/call\n",
			done, of, r.Workload, r.Peer, r.Codec, r.Callers, r.CallsPerSec, r.ClientCPU+r.ServerCPU)
		return encoder.Encode(r)
	})
	// An interrupted plan still shows what it has.
	if len(records) > 0 {
		fmt.Fprintln(stdout)
		err = errors.Join(err, harness.WriteTable(stdout, records))
	}
	if failed > 0 {
		err = errors.Join(err, fmt.Errorf("%d of %d runs had failed calls", failed, len(records)))
	}
	return err
}

// commit is the one given, or what git says about the working tree, with
// "-dirty" if it has changes.
func commit(ctx context.Context, given string) string {
	if given != "" {
		return given
	}
	out, err := exec.CommandContext(ctx, "git", "--no-optional-locks",
		"describe", "--always", "--dirty", "--abbrev=12", "--exclude=*").Output()
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(out))
}
