package etcd

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/weftrpc/weft/internal/polltest"
	"github.com/weftrpc/weft/registry"
)

func endpoints(cluster []*server) []string {
	var all []string
	for _, s := range cluster {
		all = append(all, s.endpoint)
	}
	return all
}

// leader returns the place of the member that leads.
func leader(t *testing.T, cluster []*server) int {
	t.Helper()
	found := -1
	polltest.Until(t, time.Minute, "a member leads", func() error {
		for i, s := range cluster {
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			defer cancel()
			status, err := s.client(t).Status(ctx, s.endpoint)
			if err != nil {
				return err
			}
			if status.Leader == status.Header.MemberId {
				found = i
				return nil
			}
		}
		return errors.New("none says that it leads")
	})
	return found
}

// told collects what a client is told of a service.
type told struct {
	mu  sync.Mutex
	all []*registry.Snapshot
}

func tell(t *testing.T, r *registry.Registry, service string) *told {
	t.Helper()
	c := new(told)
	t.Cleanup(r.Watch(service, func(s *registry.Snapshot) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.all = append(c.all, s)
	}))
	return c
}

// has returns nil when the client knows so many instances and the registry answers.
func (c *told) has(n int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.all) == 0 {
		return errors.New("nothing was told")
	}
	last := c.all[len(c.all)-1]
	if last.Err != nil || len(last.Instances) != n {
		return fmt.Errorf("there are %d instances, want %d; error %v", len(last.Instances), n, last.Err)
	}
	return nil
}

// begun begins a watch of Arith that ends with ctx at the latest, and returns when it has shown a list. The channel gets the error with which
// it ends. A watch that a busy machine ends before is begun again.
func begun(t *testing.T, ctx context.Context, d *driver, emit func(registry.List)) <-chan error {
	t.Helper()
	var ended chan error
	polltest.Until(t, time.Minute, "a watch shows a list", func() error {
		first, now := make(chan struct{}), make(chan error, 1)
		var once sync.Once
		ended = now
		// It ends with ctx, or when nothing vouches for the list any more.
		go func() {
			now <- d.Watch(ctx, "Arith", func(l registry.List) {
				once.Do(func() { close(first) })
				emit(l)
			})
		}()
		select {
		case <-first:
			return nil
		case err := <-now:
			return err
		}
	})
	return ended
}

// TestLeaderKilled kills the leader of three members, once with a registration and a
// watch through all of them.
func TestLeaderKilled(t *testing.T) {
	t.Parallel()
	cluster := startCluster(t, 3)
	const ttl = 10 * time.Second // a busy machine may refresh seconds late
	cfg := Config{Endpoints: endpoints(cluster), Registry: registry.Config{TTL: ttl}}
	server, client := open(t, cfg), open(t, cfg)
	if _, err := server.Register(arith("one")); err != nil {
		t.Fatal(err)
	}
	c := tell(t, client, "Arith")
	polltest.Until(t, time.Minute, "one is seen", func() error { return c.has(1) })

	at := leader(t, cluster)
	cluster[at].Kill(t)
	began := time.Now()
	if _, err := server.Register(arith("two")); err != nil {
		t.Fatal(err)
	}
	polltest.Until(t, time.Minute, "two is seen", func() error { return c.has(2) })
	t.Logf("a registration was seen %v after the leader was killed", time.Since(began).Round(time.Millisecond))
	// Both stay for longer than etcd would keep them without a refresh.
	time.Sleep(ttl + ttl/2)
	polltest.Until(t, time.Minute, "both stay", func() error { return c.has(2) })
	cluster[at].Start(t)

	c.mu.Lock()
	defer c.mu.Unlock()
	for had, i := 0, 0; i < len(c.all); i++ {
		if n := len(c.all[i].Instances); n < had {
			t.Errorf("the client knew %d instances, and then %d", had, n)
		} else {
			had = n
		}
	}
}

// TestMinority leaves a member without the others: what it knows is old, and a watch
// of it must end.
func TestMinority(t *testing.T) {
	t.Parallel()
	cluster := startCluster(t, 3)
	alone := cluster[0]
	d := alone.driver(t)
	// A busy machine may have the members choose another leader meanwhile.
	polltest.Until(t, time.Minute, "an instance is put", func() error {
		return d.Put(testContext(t, 10*time.Second), arith("one"), time.Minute)
	})
	ctx := testContext(t, 3*time.Minute)
	ended := begun(t, ctx, d, func(registry.List) {})
	for _, s := range cluster[1:] {
		s.Freeze(t)
		t.Cleanup(func() { s.Thaw(t) })
	}
	began := time.Now()
	select {
	case err := <-ended:
		t.Logf("the watch ended %v after the others were frozen: %v", time.Since(began).Round(time.Millisecond), err)
	case <-time.After(time.Minute):
		t.Error("the watch goes on with a member that has lost the others")
	}
	lists := 0
	within, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	if err := d.Watch(within, "Arith", func(registry.List) { lists++ }); err == nil || lists > 0 {
		t.Errorf("a new watch shows %d lists of a member that has lost the others, error %v", lists, err)
	}
}
