// Command codecs measures what a user of weft pays for each codec: the time, the
// memory and the allocations of encoding and of decoding the published message,
// and of a whole call with it. The calls of net/rpc stand beside those of weft.
//
// Client and server of a call are in this process, one caller makes one call
// after the other over TCP, and the figures are those of both sides: so the
// published table of codecs was made. Every reply is checked.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"testing"
	"time"

	"github.com/weftrpc/weft/bench/report/comparison"
	"github.com/weftrpc/weft/bench/report/records"
	"github.com/weftrpc/weft/bench/report/tables"
)

func main() {
	testing.Init() // the flags of testing.Benchmark; they are not among this program's own
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	if errors.Is(err, flag.ErrHelp) {
		os.Exit(2)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "codecs:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("codecs", flag.ContinueOnError)
	flags.SetOutput(stderr)
	var (
		name   = flags.String("out", "", "`file` to append the records to, a line of JSON for each operation and round; none if empty")
		rounds = flags.Int("rounds", 3, "how often each operation is measured, in turns")
		length = flags.Duration("time", time.Second, "how long each operation is measured in a round")
	)
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if *rounds < 1 || *length <= 0 {
		return errors.New("-rounds and -time must be positive")
	}
	if err := flag.Set("test.benchtime", length.String()); err != nil {
		return fmt.Errorf("set the time of a benchmark: %w", err)
	}
	if *name == "" {
		return measure(ctx, *rounds, io.Discard, stdout, stderr)
	}
	file, err := os.OpenFile(*name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	err = measure(ctx, *rounds, file, stdout, stderr)
	return errors.Join(err, file.Close())
}

// measure takes all operations in turns, writes each record to out as it comes,
// and the tables of their medians to stdout at the end.
func measure(ctx context.Context, rounds int, out, stdout, progress io.Writer) error {
	operations, stop, err := operations(ctx)
	if err != nil {
		return err
	}
	defer stop()
	lines := json.NewEncoder(out)
	var all []records.Codec
	for round := range rounds {
		for i, o := range operations {
			if err := ctx.Err(); err != nil {
				return err
			}
			fmt.Fprintf(progress, "round %d of %d, %2d of %d: %s\n", round+1, rounds, i+1, len(operations), o)
			record, err := o.measure()
			if err != nil {
				return fmt.Errorf("%s: %w", o, err)
			}
			if err := lines.Encode(record); err != nil {
				return err
			}
			all = append(all, record)
		}
	}
	for _, t := range tables.Codecs(comparison.New(&records.File{Codecs: all})) {
		if err := t.Print(stdout); err != nil {
			return err
		}
	}
	return nil
}
