package main

import (
	"context"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
)

func TestPause(t *testing.T) {
	t.Run("no signal", func(t *testing.T) {
		pause(t.Context(), make(chan os.Signal), io.Discard)
	})
	t.Run("until the next signal", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			signals := make(chan os.Signal, 1)
			signals <- syscall.SIGUSR1
			var said strings.Builder
			over := make(chan struct{})
			go func() {
				pause(t.Context(), signals, &said)
				close(over)
			}()
			synctest.Wait()
			select {
			case <-over:
				t.Fatal("it went on without a second signal")
			default:
			}
			if !strings.Contains(said.String(), "paused") {
				t.Errorf("it said %q and not that it is paused", said.String())
			}
			signals <- syscall.SIGUSR1
			<-over
		})
	})
	t.Run("until the end", func(t *testing.T) {
		signals := make(chan os.Signal, 1)
		signals <- syscall.SIGUSR1
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		pause(ctx, signals, io.Discard)
	})
}
