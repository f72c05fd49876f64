// Command demo shows the main job of weft in under a minute, with real processes on
// this machine: servers that register themselves, clients that find them and call under
// load, while one server is killed, one is added, one freezes, one is drained, the
// registry stops and comes back, and one server becomes slow.
//
//	make demo
//
// The program is the clients. It starts itself again for each server, and the program
// weft for the registry. Every reply is checked, every call that must not run twice is
// compared with the journals of the servers, and the table at the end says which
// promises were kept. The exit code is 1 unless all were.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"github.com/weftrpc/weft/cluster"
)

// limit is how long the demonstration may take.
const limit = time.Minute

func main() {
	log.SetFlags(0)
	var err error
	if len(os.Args) > 1 && os.Args[1] == "server" {
		err = runServer(os.Args[2:])
	} else {
		err = show(os.Args[1:])
	}
	if err != nil {
		log.Fatalf("demo: %v", err)
	}
}

// show runs the demonstration.
func show(args []string) error {
	flags := flag.NewFlagSet("demo", flag.ExitOnError)
	program := flags.String("weft", "", "the `path` of the program weft, built from cmd/weft")
	quick := flags.Bool("quick", false, "take ten seconds, to check that everything works")
	_ = flags.Parse(args) // ExitOnError
	if flags.NArg() > 0 {
		return fmt.Errorf("%q: there are no arguments, see -h", flags.Args())
	}
	if *program == "" {
		return errors.New("-weft is missing: the path of the program weft; 'make demo' builds it")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("it did not end within %v", limit))
	defer cancel()

	folder, err := os.MkdirTemp("", "weft-demo-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(folder) }() // what is left lies in the temporary folder
	f, err := newFleet(ctx, *program, folder)
	if err != nil {
		return err
	}
	defer f.killAll()

	t := full()
	if *quick {
		t = short()
	}
	d := &demo{ctx: ctx, times: t, fleet: f, began: time.Now()}
	defer d.leave()
	defer cancel()
	if err := d.run(); err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return err
	}
	return nil
}

// demo is what the phases share.
type demo struct {
	ctx     context.Context
	times   times
	fleet   *fleet
	load    *load
	verdict verdict
	began   time.Time

	usual float64              // the share of slow calls of Ledger.Read before anything happens
	why   *cluster.Explanation // of a call while a server was frozen
	top   []string             // what "weft top" has shown while a server was slow
}

// leave stops the callers and closes the clients, if they still run.
func (d *demo) leave() {
	if d.load != nil {
		d.load.stop()
		_ = d.load.close() // an error is reported by settle, which comes first
	}
}

// run runs everything from the first process to the verdict.
func (d *demo) run() error {
	fmt.Printf("weft: a registry, servers that register, clients that find and call them\n")
	fmt.Printf("%s, %s/%s, %d processors\n", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.GOMAXPROCS(0))
	if err := d.fleet.startRegistry(); err != nil {
		return err
	}
	if err := d.fleet.add("A", "B", "C"); err != nil {
		return err
	}
	if err := d.connect(); err != nil {
		return err
	}
	if err := d.introduce(); err != nil {
		return err
	}
	if err := d.perform(); err != nil {
		return err
	}
	if err := d.settle(); err != nil {
		return err
	}
	if err := d.verdict.print(time.Since(d.began)); err != nil {
		return err
	}
	whereToLook()
	return nil
}
