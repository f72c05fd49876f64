// Command demo shows what weft does, in under a minute, between real processes on
// this machine: calls, a stream, a cancelled call, errors, restarts of the server
// that lose no call, and a table of throughput and latency.
//
//	go run ./examples/demo
//
// The program starts itself again as servers and clients. Every reply is checked,
// every call of the restarts is accounted for, and the exit code tells whether all
// was well.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"github.com/weftrpc/weft/examples/internal/benchmark"
)

// limit is how long the whole may take.
const limit = time.Minute

func main() {
	log.SetFlags(0)
	role, args := "", os.Args[1:]
	if len(args) > 0 && (args[0] == "server" || args[0] == "client") {
		role, args = args[0], args[1:]
	}
	var err error
	switch role {
	case "server":
		err = runServer(args)
	case "client":
		err = runClient(args)
	default:
		err = show(args)
	}
	if err != nil {
		log.Fatalf("demo: %v", err)
	}
}

// show runs the sections one after the other.
func show(args []string) error {
	flags := flag.NewFlagSet("demo", flag.ExitOnError)
	quick := flags.Bool("quick", false, "measure for a moment only, to see that all works")
	flags.Parse(args)
	if flags.NArg() > 0 {
		return fmt.Errorf("%q: no arguments are wanted, see -h", flags.Args())
	}
	began := time.Now()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("it was not over within %v", limit))
	defer cancel()

	// Nothing below means anything if the message is not the published one.
	if _, err := benchmark.New(); err != nil {
		return err
	}
	fmt.Printf("weft between processes, with the %d-byte message of the published RPC comparisons\n", benchmark.Size)
	fmt.Printf("%s, %s/%s, %d processors\n", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.GOMAXPROCS(0))

	d := &demo{ctx: ctx, quick: *quick}
	defer d.stopAll()
	for _, section := range []func() error{d.server, d.calls, d.restarts, d.table} {
		if err := section(); err != nil {
			if ctx.Err() != nil {
				err = context.Cause(ctx)
			}
			return err
		}
	}
	fmt.Printf("\n%s in %.0f s\n", good("Everything was as it should be,"), time.Since(began).Seconds())
	return nil
}

// demo is what the sections share.
type demo struct {
	ctx       context.Context
	quick     bool
	processes []*process
	first     *process // the server of the first sections
	address   string   // where it listens, and those that follow it
}

// server is the first section.
func (d *demo) server() error {
	heading(1, "A server process")
	p, err := d.startServer("127.0.0.1:0")
	if err != nil {
		return err
	}
	if err := p.listens(); err != nil {
		return err
	}
	d.first, d.address = p, p.address
	line("process %d listens on tcp://%s", p.pid(), p.address)
	return nil
}

// calls runs the process of a client, which shows the next sections itself.
func (d *demo) calls() error {
	p, err := d.startClient(shown, "-do", "calls", "-address", d.address)
	if err != nil {
		return err
	}
	return p.wait()
}
