package main

import (
	"context"
	"fmt"
	"io"
	"os"
)

// pause waits between two runs when a signal has come, until another one comes or
// ctx ends. A full plan has a machine to itself for up to two hours; with this, others
// get a turn without spoiling a run.
func pause(ctx context.Context, signals <-chan os.Signal, stderr io.Writer) {
	select {
	case <-signals:
	default:
		return
	}
	fmt.Fprintf(stderr, "paused until the next SIGUSR1, kill -USR1 %d\n", os.Getpid())
	select {
	case <-signals:
	case <-ctx.Done():
	}
}
