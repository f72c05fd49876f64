// Package compat holds weft against other programs: clients and servers in other
// languages, each with its own folder.
package compat

import (
	"os/exec"
	"testing"

	"github.com/weftrpc/weft/internal/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

// TestPython runs the tests of the Python client, which was written from
// docs/PROTOCOL.md alone: against the golden vectors, against servers that
// misbehave, and against the Go server.
func TestPython(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Fatalf("python3 is needed for this test, 3.9 or newer with its standard library: %v", err)
	}
	cmd := exec.CommandContext(t.Context(), python, "-B", "-m", "unittest", "discover", "-s", ".")
	cmd.Dir = "python"
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", cmd.Args, err, out)
	}
}
