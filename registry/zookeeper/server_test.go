package zookeeper

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/registry"
	"github.com/weftrpc/weft/registry/registrytest"
)

const (
	// timeout is that of the sessions that are to expire in these tests.
	timeout = 3 * time.Second
	// patient is that of the others: a busy machine may do nothing for seconds, and all
	// that a process has published goes with its session.
	patient = 9 * time.Second
)

// jar returns where Debian has put a program's code.
func jar(t *testing.T, name string) string {
	t.Helper()
	path := filepath.Join("/usr/share/java", name+".jar")
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("%v: run scripts/registries.sh", err)
	}
	return path
}

// zooKeeper starts a server, with more lines of configuration, and returns it with its
// address.
func zooKeeper(t *testing.T, port int, id string, lines ...string) (*registrytest.Process, string) {
	t.Helper()
	dir, data := t.TempDir(), t.TempDir()
	config := fmt.Sprintf("tickTime=500\ndataDir=%s\nclientPort=%d\nclientPortAddress=127.0.0.1\nadmin.enableServer=false\nmaxClientCnxns=0\n%s\n",
		data, port, strings.Join(lines, "\n"))
	file := filepath.Join(dir, "zoo.cfg")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	main := "org.apache.zookeeper.server.ZooKeeperServerMain"
	if id != "" {
		main = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
		if err := os.WriteFile(filepath.Join(data, "myid"), []byte(id), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	address := fmt.Sprintf("127.0.0.1:%d", port)
	return registrytest.NewProcess(t, registrytest.Program{
		Name: "zookeeper" + id,
		Path: registrytest.Find(t, "java"),
		Args: []string{
			"-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
			"-Dzookeeper.4lw.commands.whitelist=srvr", "-Dzookeeper.forceSync=no", "-Dzookeeper.preAllocSize=1024",
			"-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
			"-cp", jar(t, "zookeeper") + ":" + jar(t, "slf4j-simple"), main, file,
		},
		Data: data,
		Ready: func(ctx context.Context) error {
			if id != "" {
				return nil // the first of several cannot serve alone
			}
			_, err := mode(ctx, address)
			return err
		},
	}), address
}

// mode asks a server what it is: "standalone", "leader" or "follower".
func mode(ctx context.Context, address string) (string, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if at, ok := ctx.Deadline(); ok {
		conn.SetDeadline(at)
	}
	if _, err := io.WriteString(conn, "srvr"); err != nil {
		return "", err
	}
	text, err := io.ReadAll(conn)
	if err != nil {
		return "", err
	}
	_, mode, found := strings.Cut(string(text), "Mode: ")
	if !found {
		return "", fmt.Errorf("it says %q", text)
	}
	mode, _, _ = strings.Cut(mode, "\n")
	return mode, nil
}

// connect makes a driver, which the end of the test closes.
func connect(t *testing.T, cfg Config) *driver {
	t.Helper()
	if cfg.SessionTimeout == 0 {
		cfg.SessionTimeout = patient
	}
	d, err := newDriver(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

// operation is the context of an operation that must succeed.
func operation(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func instance(service, id string) weft.Instance {
	return weft.Instance{Service: service, ID: id, Address: "tcp://10.0.0.7:8972"}
}

func put(t *testing.T, d *driver, i weft.Instance) {
	t.Helper()
	if err := d.Put(operation(t), i, time.Minute); err != nil {
		t.Fatalf("Put: %v", err)
	}
}

// count is the wanted list of so many instances.
func count(n int) func(registry.List) bool {
	return func(list registry.List) bool { return len(list.Instances) == n }
}
