package interop

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// TestNode calls the doors with @connectrpc/connect-web, the client of browsers, in Node: by Connect with JSON,
// protobuf and GET, and by gRPC-Web.
func TestNode(t *testing.T) {
	address := serve(t)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	run := func(dir, name string, args ...string) {
		t.Helper()
		cmd := exec.CommandContext(ctx, name, args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s %v: %v\n%s", name, args, err, out)
		}
	}
	run("../../../..", "scripts/need.sh", "node", "npm")
	dir := t.TempDir()
	for _, name := range []string{"package.json", "package-lock.json", "client.js"} {
		b, err := os.ReadFile(filepath.Join("node", name))
		must(t, err)
		must(t, os.WriteFile(filepath.Join(dir, name), b, 0o600))
	}
	run("../../../..", "scripts/retry.sh", "npm", "ci", "--prefix", dir, "--ignore-scripts", "--no-audit", "--no-fund", "--silent")
	run(dir, "node", "client.js", "http://"+address)
}
