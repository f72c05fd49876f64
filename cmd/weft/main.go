// Command weft calls and shows services, runs a registry, changes what is in one, and
// generates code.
//
//	weft call Arith.Mul '{"A":6,"B":7}'   call a method
//	weft up                               run a registry on this machine
//	weft instances [service]              list the servers that are registered
//	weft rules show service               show the rules by which clients route calls
//	weft generate [input ...]             write clients and register functions for services
//
// "weft help" lists all commands, "weft help up" explains one; docs/cli of the repository
// has the same text. "weft help exit-codes" lists the exit codes.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/weftrpc/weft/cmd/weft/internal/shell"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// A second signal ends the program at once.
	context.AfterFunc(ctx, stop)
	p := &shell.Shell{
		Out: os.Stdout, Log: os.Stderr, In: os.Stdin, Dumb: shell.IsDumb(),
		Terminal: shell.IsTerminal(os.Stdout), LogTerminal: shell.IsTerminal(os.Stderr), InTerminal: shell.IsTerminal(os.Stdin),
		Size:    func() (width, height int) { return shell.SizeOf(os.Stdout) },
		LogSize: func() (width, height int) { return shell.SizeOf(os.Stderr) },
	}
	os.Exit(execute(ctx, p, os.Args[1:]))
}
