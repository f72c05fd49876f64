package registrytest

import (
	"testing"

	"github.com/weftrpc/weft/registry/registrytest/internal/processtest"
)

// Server is a registry's server that tests break and mend.
type Server interface {
	Start(t *testing.T)  // starts it and waits until it serves
	Kill(t *testing.T)   // SIGKILL; its data stays
	Wipe(t *testing.T)   // kills it if it runs, and removes its data; Start follows
	Freeze(t *testing.T) // SIGSTOP
	Thaw(t *testing.T)   // SIGCONT
}

// Program is a server program for the tests.
type Program = processtest.Program

// Process is a Server that is a process of this machine.
type Process = processtest.Process

var _ Server = (*Process)(nil)

// NewProcess starts a program and waits until it serves. At the end of the test it
// is killed, and when the test has failed, the end of what it has written is logged.
func NewProcess(t *testing.T, p Program) *Process {
	t.Helper()
	return processtest.New(t, p)
}

// Find returns the path of a program: in $PATH, or in the folder where
// scripts/registries.sh puts programs. The test fails, and is not skipped, when the program is not found.
func Find(t *testing.T, name string) string {
	t.Helper()
	return processtest.Find(t, name)
}

// FreePort returns a TCP port of the loopback address on which nothing listens. It
// stays free until the server is started, and while it is down: until the end of the
// test FreePort gives it to no other test, on Linux to none of another process either.
// The same holds for the ports at the given distances from it.
func FreePort(t *testing.T, distances ...int) int {
	t.Helper()
	return processtest.FreePort(t, distances...)
}
