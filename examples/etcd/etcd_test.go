//go:build unix

package etcd_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/weftrpc/weft/internal/leak"
	"github.com/weftrpc/weft/internal/polltest"
	"github.com/weftrpc/weft/registry/registrytest"
)

func TestMain(m *testing.M) { leak.Main(m) }

// patience is how long anything may take on a busy machine.
const patience = time.Minute

// TestProcesses starts an etcd, two servers and a client, and stops one server.
func TestProcesses(t *testing.T) {
	bin := build(t)
	t.Setenv("XDG_CACHE_HOME", t.TempDir()) // where clients keep the last list
	endpoint := runEtcd(t)
	stopAnn := startServer(t, bin, endpoint, "ann")
	startServer(t, bin, endpoint, "bob")
	polltest.Until(t, patience, "both servers answer", func() error {
		out, err := call(t, bin, endpoint, 20)
		if err == nil && (!strings.Contains(out, "This is ann.") || !strings.Contains(out, "This is bob.")) {
			err = fmt.Errorf("the client printed:\n%s", out)
		}
		return err
	})
	stopAnn()
	out, err := call(t, bin, endpoint, 5)
	if want := strings.Repeat("Hello, Ada! This is bob.\n", 5); err != nil || out != want {
		t.Errorf("after ann has ended the client printed %q, %v, want %q", out, err, want)
	}
}

// build builds the two programs into a folder.
func build(t *testing.T) (bin string) {
	t.Helper()
	bin = t.TempDir()
	if out, err := exec.Command("go", "build", "-o", bin, "./server", "./client").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return bin
}

// runEtcd runs an etcd until the end of the test, and returns its address.
func runEtcd(t *testing.T) string {
	t.Helper()
	port := func() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(registrytest.FreePort(t))) }
	client, peer, data := port(), port(), t.TempDir()
	registrytest.NewProcess(t, registrytest.Program{
		Name: "etcd",
		Path: registrytest.Find(t, "etcd"),
		Args: []string{
			"--data-dir", data, "--logger", "zap", "--log-level", "error",
			"--listen-client-urls", "http://" + client, "--advertise-client-urls", "http://" + client,
			"--listen-peer-urls", "http://" + peer, "--initial-advertise-peer-urls", "http://" + peer,
			"--initial-cluster", "default=http://" + peer,
		},
		Env:  []string{"ETCD_UNSUPPORTED_ARCH=" + runtime.GOARCH}, // of Debian's etcd all but amd64
		Data: data,
		Ready: func(ctx context.Context) error {
			conn, err := new(net.Dialer).DialContext(ctx, "tcp", client)
			if err == nil {
				err = conn.Close()
			}
			return err
		},
		Within: patience,
	})
	return client
}

// startServer starts a server and waits until it serves. stop ends it as Ctrl-C does.
func startServer(t *testing.T, bin, endpoint, name string) (stop func()) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(bin, "server"), "-registry", endpoint, "-name", name)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	log := bufio.NewReader(stderr)
	ended := false
	t.Cleanup(func() {
		if !ended {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	})
	if line, err := log.ReadString('\n'); !strings.HasPrefix(line, "serving on tcp://") {
		t.Fatalf("server %s began with %q, %v", name, line, err)
	}
	return func() {
		t.Helper()
		if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
		line, err := log.ReadString('\n')
		ended = true
		if failed := cmd.Wait(); failed != nil || line != "all calls have ended\n" {
			t.Errorf("server %s ended with %v and wrote %q, %v", name, failed, line, err)
		}
	}
}

// call runs a client that makes calls, and returns its output.
func call(t *testing.T, bin, endpoint string, calls int) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	out, err := exec.CommandContext(ctx, filepath.Join(bin, "client"),
		"-registry", endpoint, "-calls", strconv.Itoa(calls), "-every", "20ms").CombinedOutput()
	return string(out), err
}
