package main

import (
	"context"
	"fmt"
	"io"
	"os"
)

// pause waits between two runs when a signal has come, until another one comes or
// ctx ends. A full plan needs a machine for hours; with this, other work can be done
// between two runs without disturbing one.
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
