// Command checkpeer reports whether programs keep the contract of the comparison
// (CONTRACT.md): it asks each for its peers, lets every peer make some hundred
// calls with each of its codecs and workloads, and prints what went
// wrong.
//
//	go run ./checkpeer path/to/program...
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/weftrpc/weft/bench/internal/runner"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "checkpeer:", err)
		os.Exit(1)
	}
}

// run checks the programs one after the other. Their standard error
// goes to stderr, a line for each check to stdout.
func run(ctx context.Context, programs []string, stdout, stderr io.Writer) error {
	if len(programs) == 0 {
		return errors.New("name the programs to check")
	}
	wrong := 0
	tell := func(what string, err error) {
		if err == nil {
			fmt.Fprintf(stdout, "ok     %s\n", what)
			return
		}
		wrong++
		fmt.Fprintf(stdout, "WRONG  %s: %v\n", what, err)
	}
	for _, program := range programs {
		peers, err := runner.Describe(ctx, []string{program}, stderr)
		tell(program+" describe", err)
		for _, p := range peers {
			checkEnds(ctx, p, stderr, tell)
			for _, codec := range p.Codecs {
				if err := checkCalls(ctx, p, codec, stderr, tell); err != nil {
					return err
				}
			}
		}
	}
	if wrong > 0 {
		return fmt.Errorf("%d checks found something wrong", wrong)
	}
	return nil
}
