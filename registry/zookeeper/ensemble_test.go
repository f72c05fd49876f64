package zookeeper

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/weftrpc/weft/registry"
	"github.com/weftrpc/weft/registry/registrytest"
)

// TestLeaderKilled kills the leader of three servers under a server and a client.
func TestLeaderKilled(t *testing.T) {
	t.Parallel()
	const nodes = 3
	lines := []string{"initLimit=20", "syncLimit=10"}
	for id := range nodes {
		lines = append(lines, fmt.Sprintf("server.%d=127.0.0.1:%d:%d", id+1, registrytest.FreePort(t), registrytest.FreePort(t)))
	}
	servers := make(map[string]*registrytest.Process)
	var addresses []string
	for id := range nodes {
		server, address := zooKeeper(t, registrytest.FreePort(t), fmt.Sprint(id+1), lines...)
		servers[address] = server
		addresses = append(addresses, address)
	}
	leader := findLeader(t, addresses)

	server := open(t, addresses)
	i := instance("Ensemble", "a")
	registration, err := server.Register(i)
	if err != nil {
		t.Fatal(err)
	}
	snapshots := make(chan *registry.Snapshot, 1000)
	t.Cleanup(open(t, addresses).Watch("Ensemble", func(s *registry.Snapshot) { snapshots <- s }))
	sees(t, snapshots, "the instance", func(s *registry.Snapshot) bool { return len(s.Instances) == 1 })

	servers[leader].Kill(t)
	killed := time.Now()
	i.Weight = 7
	if err := registration.Update(i); err != nil {
		t.Fatal(err)
	}
	for _, s := range sees(t, snapshots, "a change after the leader was killed", func(s *registry.Snapshot) bool {
		return s.Err == nil && len(s.Instances) == 1 && s.Instances[0].Weight == 7
	}) {
		if len(s.Instances) != 1 {
			t.Errorf("a snapshot has %d instances", len(s.Instances))
		}
	}
	t.Logf("a change was seen %v after the leader was killed", time.Since(killed).Round(time.Millisecond))
	if now := findLeader(t, addresses); now == leader {
		t.Error("the leader that was killed leads")
	}
	if err := registration.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

func open(t *testing.T, addresses []string) *registry.Registry {
	t.Helper()
	r, err := New(Config{Servers: addresses, SessionTimeout: patient, Registry: registry.Config{NoCache: true, Logger: slog.New(slog.DiscardHandler)}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// sees waits for a snapshot, and returns all until then.
func sees(t *testing.T, snapshots <-chan *registry.Snapshot, what string, wanted func(*registry.Snapshot) bool) []*registry.Snapshot {
	t.Helper()
	var seen []*registry.Snapshot
	deadline := time.After(60 * time.Second)
	for {
		select {
		case s := <-snapshots:
			seen = append(seen, s)
			if wanted(s) {
				return seen
			}
		case <-deadline:
			t.Fatalf("the client did not see %s; it saw %d snapshots", what, len(seen))
		}
	}
}

func findLeader(t *testing.T, addresses []string) string {
	t.Helper()
	for range 300 {
		for _, a := range addresses {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			m, err := mode(ctx, a)
			cancel()
			if err == nil && m == "leader" {
				return a
			}
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Fatal("no server leads")
	return ""
}
