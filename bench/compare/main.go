// Command compare measures RPC systems side by side: what a call costs in time,
// in processor time, in memory, in allocations, in system calls and on the wire.
//
// The peers that are written in Go are part of this program, which starts itself
// again as server and as client; the others are programs of their own. It prints
// a line for each run as it goes and a table at the end, and writes one line of
// JSON for each run to a file. See the bench module's README.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/weftrpc/weft/bench/harness"
	"github.com/weftrpc/weft/bench/internal/gopeers"
	"github.com/weftrpc/weft/bench/internal/runner"
	"github.com/weftrpc/weft/bench/msg"
	"github.com/weftrpc/weft/bench/report/comparison"
	"github.com/weftrpc/weft/bench/report/records"
	"github.com/weftrpc/weft/bench/report/tables"
)

// asPeer as the first argument makes this program one that holds the Go peers.
const asPeer = "peer"

func main() {
	if len(os.Args) > 1 && os.Args[1] == asPeer {
		os.Args = os.Args[1:]
		harness.Main(append(gopeers.All(), gopeers.Doors()...)...)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	if errors.Is(err, flag.ErrHelp) {
		os.Exit(2)
	}
	switch {
	case ctx.Err() != nil:
		fmt.Fprintln(os.Stderr, "compare: interrupted; the records so far are kept")
		os.Exit(1)
	case err != nil:
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	s, err := parse(args, stderr)
	if err != nil {
		return err
	}
	if err := msg.Verify(); err != nil {
		return err
	}
	peers, err := discover(ctx, s.with, stderr)
	if err != nil {
		return err
	}
	if s.list {
		return list(stdout, peers)
	}
	plan, err := s.plan(peers)
	if err != nil {
		return err
	}
	plan.Environment = runner.NewEnvironment(commit(ctx, s.commit))
	plan.Stderr = stderr
	return measure(ctx, plan, s.out, stdout, stderr)
}

// discover asks all programs for their peers. One of the repository's own that
// is not built is left out, with a message; one that was asked for is an error.
func discover(ctx context.Context, with []string, stderr io.Writer) ([]runner.Peer, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program to start it again: %w", err)
	}
	peers, err := runner.Describe(ctx, []string{self, asPeer}, stderr)
	if err != nil {
		return nil, err
	}
	for _, program := range []string{"peers/java/peer", "peers/cpp/peer"} {
		more, err := runner.Describe(ctx, []string{program}, stderr)
		if errors.Is(err, fs.ErrNotExist) {
			err = errors.New("it is not built, which scripts/bench-peers.sh does")
		}
		if err != nil {
			fmt.Fprintf(stderr, "without the peers of %s: %v\n", program, err)
			continue
		}
		peers = append(peers, more...)
	}
	for _, program := range with {
		more, err := runner.Describe(ctx, []string{program}, stderr)
		if err != nil {
			return nil, err
		}
		peers = append(peers, more...)
	}
	seen := make(map[string]string)
	for _, p := range peers {
		program := strings.Join(p.Program, " ")
		if other, twice := seen[p.Peer]; twice {
			return nil, fmt.Errorf("both %s and %s have a peer %q", other, program, p.Peer)
		}
		seen[p.Peer] = program
	}
	return peers, nil
}

// list prints the descriptions of all peers.
func list(w io.Writer, peers []runner.Peer) error {
	encoder := json.NewEncoder(w)
	for _, p := range peers {
		if err := encoder.Encode(p.Description); err != nil {
			return err
		}
	}
	return nil
}

// measure runs the plan: records to the file, progress to stderr, the table to
// stdout.
func measure(ctx context.Context, plan *runner.Plan, out string, stdout, stderr io.Writer) error {
	sink := io.Discard
	if out != "" {
		file, err := os.OpenFile(out, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
		if err != nil {
			return err
		}
		defer file.Close()
		sink = file
	}
	encoder := json.NewEncoder(sink)
	runs, takes := plan.Size()
	fmt.Fprintf(stderr, "%d runs, about %v\n", runs, takes.Round(time.Second))
	var made records.Runs
	failed := 0
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGUSR1)
	defer signal.Stop(signals)
	begin := func(at runner.Progress, r runner.Record) {
		pause(ctx, signals, stderr)
		fmt.Fprintf(stderr, "%d/%d (%v left) %s: ", at.Done+1, at.Of, at.Left.Round(time.Second), r.Title())
	}
	err := plan.Run(ctx, begin, func(r runner.Record) error {
		made = append(made, r)
		switch {
		case r.Skipped != "":
			fmt.Fprintf(stderr, "not run, %s\n", r.Skipped)
		case r.Failures > 0:
			failed++
			fmt.Fprintf(stderr, "%d FAILURES, the first: %s\n", r.Failures, r.FirstError)
		default:
			fmt.Fprintf(stderr, "%.0f calls/s, p99 %.0f µs, %.2f µs CPU/call\n", r.CallsPerSec, r.P99, r.ClientCPU+r.ServerCPU)
		}
		if r.Disturbed {
			fmt.Fprintf(stderr, "\tdisturbed by %s\n", r.DisturbedBy())
		}
		return encoder.Encode(r)
	})
	// An interrupted plan still shows what it has.
	if len(made) > 0 {
		err = errors.Join(err, show(stdout, made))
	}
	if failed > 0 {
		err = errors.Join(err, fmt.Errorf("%d of %d runs had failed calls", failed, len(made)))
	}
	return err
}

// show prints the tables of some records.
func show(w io.Writer, made records.Runs) error {
	for _, t := range tables.Runs(comparison.New(&records.File{Runs: made})) {
		if err := t.Print(w); err != nil {
			return err
		}
		if _, err := fmt.Fprintln(w); err != nil {
			return err
		}
	}
	return nil
}

// commit is the one given, or what git reports of the working tree, with
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
