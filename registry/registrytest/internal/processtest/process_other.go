//go:build !linux

package processtest

import (
	"errors"
	"io"
	"os"
	"os/exec"
)

// runToEnd runs a program to its end.
func runToEnd(cmd *exec.Cmd, started chan<- error, exited chan<- struct{}) {
	err := cmd.Start()
	started <- err
	if err == nil {
		_ = cmd.Wait() // it was killed, or its output says why it ended
		close(exited)
	}
}

func kill(p *os.Process) error { return p.Kill() }

func freeze(*os.Process) error { return errors.New("a process can be frozen on Linux only") }
func thaw(*os.Process) error   { return freeze(nil) }

// reserve keeps nothing: these systems have no names that end with their process.
func reserve(int) (io.Closer, error) { return io.NopCloser(nil), nil }
