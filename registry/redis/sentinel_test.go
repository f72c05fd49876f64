package redis

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/weftrpc/weft/internal/polltest"
	"github.com/weftrpc/weft/registry"
	"github.com/weftrpc/weft/registry/registrytest"
)

// startSentinel starts a Sentinel that watches over a master, and returns its address.
func startSentinel(t *testing.T, name, master string) string {
	t.Helper()
	host, port := split(t, master)
	own, dir := registrytest.FreePort(t), t.TempDir()
	file := filepath.Join(dir, "sentinel.conf")
	config := fmt.Sprintf("port %d\nbind 127.0.0.1\ndir %s\nsentinel monitor %s %s %s 1\n"+
		"sentinel down-after-milliseconds %[3]s 500\nsentinel failover-timeout %[3]s 5000\n", own, dir, name, host, port)
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	address := fmt.Sprintf("127.0.0.1:%d", own)
	registrytest.NewProcess(t, registrytest.Program{
		Name: "redis-sentinel",
		Path: registrytest.Find(t, "redis-server"),
		Args: []string{file, "--sentinel"},
		Ready: func(ctx context.Context) error {
			c := redis.NewSentinelClient(&redis.Options{Addr: address, MaxRetries: -1, Protocol: 2, Dialer: dialer(nil)})
			defer c.Close()
			return c.Ping(ctx).Err()
		},
	})
	return address
}

func split(t *testing.T, address string) (host, port string) {
	t.Helper()
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	return host, port
}

// startReplica starts a server that follows another, and waits until it has all.
func startReplica(t *testing.T, master string) string {
	t.Helper()
	host, port := split(t, master)
	_, address := redisServer(t, "--replicaof", host, port, "--repl-diskless-sync-delay", "0")
	c := raw(t, address)
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		info, err := c.Info(operation(t), "replication").Result()
		if err == nil && strings.Contains(info, "master_link_status:up") {
			return address
		}
	}
	t.Fatal("the replica does not follow its master")
	return ""
}

// A replica cannot be written to, and the error says so.
func TestReplica(t *testing.T) {
	t.Parallel()
	_, master := redisServer(t, "--repl-diskless-sync-delay", "0")
	d := connect(t, Config{Addresses: []string{startReplica(t, master)}})
	err := d.Put(operation(t), instance("Replica", "a"), time.Minute)
	if err == nil || !strings.Contains(err.Error(), "name the master in Addresses") {
		t.Errorf("Put returned %v, want what to do", err)
	}
	if err := d.Store(operation(t), "rules", nil, 0); err == nil || !strings.Contains(err.Error(), "name the master in Addresses") {
		t.Errorf("Store returned %v, want what to do", err)
	}
}

// TestSentinel finds the master through a Sentinel, and the next one after the master
// was killed.
func TestSentinel(t *testing.T) {
	t.Parallel()
	server, master := redisServer(t, "--repl-diskless-sync-delay", "0")
	replica := startReplica(t, master)
	sentinel := startSentinel(t, "weft", master)
	knowsReplica(t, sentinel)

	through := func() *registry.Registry {
		r, err := New(Config{Addresses: []string{"127.0.0.1:1", sentinel}, Master: "weft", Registry: registry.Config{NoCache: true, TTL: 3 * time.Second, Logger: slog.New(slog.DiscardHandler)}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { r.Close() })
		return r
	}
	wrong := connect(t, Config{Addresses: []string{sentinel}, Master: "other"})
	polltest.Until(t, time.Minute, "Put with the name of another master says that there is none", func() error {
		err := wrong.Put(operation(t), instance("Sentinel", "a"), time.Minute)
		if err == nil {
			t.Fatal("Put went well")
		}
		if strings.Contains(err.Error(), "no master of this name") {
			return nil
		}
		return err
	})
	registration, err := through().Register(instance("Sentinel", "a"))
	if err != nil {
		t.Fatal(err)
	}
	snapshots := make(chan *registry.Snapshot, 1000)
	t.Cleanup(through().Watch("Sentinel", func(s *registry.Snapshot) { snapshots <- s }))
	sees := func(what string, wanted func(*registry.Snapshot) bool) {
		t.Helper()
		deadline := time.After(2 * time.Minute)
		for {
			select {
			case s := <-snapshots:
				if wanted(s) {
					return
				}
			case <-deadline:
				t.Fatalf("the client did not see %s", what)
			}
		}
	}
	sees("the instance", func(s *registry.Snapshot) bool { return len(s.Instances) == 1 })

	server.Kill(t)
	killed := time.Now()
	i := instance("Sentinel", "a")
	i.Weight = 7
	if err := registration.Update(i); err != nil {
		t.Fatal(err)
	}
	sees("a change after the master was killed", func(s *registry.Snapshot) bool {
		if s.Err == nil && len(s.Instances) != 1 {
			t.Errorf("a snapshot has %d instances", len(s.Instances))
		}
		return s.Err == nil && len(s.Instances) == 1 && s.Instances[0].Weight == 7
	})
	t.Logf("a change was seen %v after the master was killed", time.Since(killed).Round(time.Millisecond))
	registrytest.NewWatch(t, connect(t, Config{Addresses: []string{replica}}), "Sentinel").Count(t, 1)
	if err := registration.Close(operation(t)); err != nil {
		t.Error(err)
	}
}

// knowsReplica waits until a Sentinel knows the replica that it may promote.
func knowsReplica(t *testing.T, sentinel string) {
	t.Helper()
	c := redis.NewSentinelClient(&redis.Options{Addr: sentinel, Protocol: 2})
	defer c.Close()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		replicas, err := c.Replicas(operation(t), "weft").Result()
		if err == nil && len(replicas) == 1 && replicas[0]["master-link-status"] == "ok" {
			return
		}
	}
	t.Fatal("the Sentinel does not know the replica")
}
