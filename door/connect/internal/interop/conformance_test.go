package interop

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// suite is Connect's conformance suite: it sends a server what it may get, and a client what it may be answered.
const suite = "connectrpc.com/conformance/cmd/connectconformance@v1.0.7"

// TestConformance runs the whole suite against the doors and the wire. The files …-known.txt name the cases that
// fail, with the reasons; one of them that passes is an error too.
func TestConformance(t *testing.T) {
	bin := t.TempDir()
	goCommand(t, append(os.Environ(), "GOBIN="+bin, "GOWORK=off", "GOFLAGS="), "install", suite)
	goCommand(t, os.Environ(), "build", "-o", bin+string(filepath.Separator), "./conformance")
	for _, mode := range []string{"server", "client"} {
		t.Run(mode, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			defer cancel()
			cmd := exec.CommandContext(ctx, filepath.Join(bin, "connectconformance"), "--mode", mode,
				"--conf", filepath.Join("conformance", mode+".yaml"), "--known-failing", "@"+filepath.Join("conformance", mode+"-known.txt"),
				"--max-servers", "2", "--", filepath.Join(bin, "conformance"), mode)
			// It ends its servers when it is interrupted.
			cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
			cmd.WaitDelay = 10 * time.Second
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Errorf("%v\n%s", err, failures(string(out)))
			}
		})
	}
}

// failures leaves out what the suite says of the cases that were to fail.
func failures(out string) string {
	var kept []string
	skip := false
	for line := range strings.Lines(out) {
		if !strings.HasPrefix(line, "\t") {
			skip = strings.HasPrefix(line, "INFO: ")
		}
		if !skip {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "")
}

// goCommand runs the go command, once more if the first time fails, as a proxy may do.
func goCommand(t *testing.T, env []string, args ...string) {
	t.Helper()
	var out []byte
	var err error
	for range 2 {
		cmd := exec.CommandContext(t.Context(), "go", args...)
		cmd.Env = env
		if out, err = cmd.CombinedOutput(); err == nil {
			return
		}
	}
	t.Fatalf("go %v: %v\n%s", args, err, out)
}
