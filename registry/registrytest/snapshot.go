package registrytest

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/registry"
)

// registry makes a Registry of a driver, as a user has it, but without a cache: what
// an earlier run has left there would hide what the driver does.
func (s *suite) registry(t *testing.T, ttl, protect time.Duration) *registry.Registry {
	t.Helper()
	r, err := registry.New("kit", s.New(t), &registry.Config{
		TTL: max(ttl, time.Second), Protect: protect, NoCache: true, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Errorf("Registry.Close: %v", err)
		}
	})
	return r
}

// client is a client of a Registry, and what it was told.
type client struct {
	s       *suite
	service string

	mu   sync.Mutex
	all  []*registry.Snapshot
	news chan struct{} // closed at the next one
}

func (s *suite) client(t *testing.T, r *registry.Registry, service string) *client {
	t.Helper()
	c := &client{s: s, service: service, news: make(chan struct{})}
	t.Cleanup(r.Watch(service, func(snapshot *registry.Snapshot) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.all = append(c.all, snapshot)
		close(c.news)
		c.news = make(chan struct{})
	}))
	return c
}

// until waits until the last snapshot is as wanted, for which lacks returns "", and
// otherwise what is wrong with it.
func (c *client) until(t *testing.T, within time.Duration, want string, lacks func(*registry.Snapshot) string) {
	t.Helper()
	deadline := time.After(within + c.s.patience)
	for {
		c.mu.Lock()
		news, problem := c.news, "there is no snapshot"
		if n := len(c.all); n > 0 {
			problem = lacks(c.all[n-1])
		}
		c.mu.Unlock()
		if problem == "" {
			return
		}
		select {
		case <-news:
		case <-deadline:
			t.Fatalf("a client of %q wants %s within %v; it was not so after %v: %s", c.service, want, within, within+c.s.patience, problem)
		}
	}
}

// sees waits until the registry answers and has exactly these instances.
func (c *client) sees(t *testing.T, within time.Duration, want ...weft.Instance) {
	t.Helper()
	c.until(t, within, fmt.Sprintf("a list of %d instances", len(want)), func(s *registry.Snapshot) string {
		if s.Err != nil {
			return fmt.Sprintf("the registry does not answer: %v", s.Err)
		}
		return c.s.difference(s.Instances, want)
	})
}

// notices waits until it is known that the registry does not answer.
func (c *client) notices(t *testing.T, within time.Duration) {
	t.Helper()
	c.until(t, within, "to know that the registry is away", func(s *registry.Snapshot) string {
		if s.Err == nil {
			return "the last snapshot has no error"
		}
		return ""
	})
}

// kept fails the test unless every snapshot since the first that had an instance has
// it.
func (c *client) kept(t *testing.T, want weft.Instance) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	had := false
	for _, s := range c.all {
		if has(s.Instances, want) {
			had = true
		} else if had {
			t.Errorf("a client lost %q through the outage: a snapshot has %d instances, error %v", want.ID, len(s.Instances), s.Err)
			return
		}
	}
	if !had {
		t.Errorf("a client never saw %q", want.ID)
	}
}

// withdraw closes the registration of an instance. If that has failed because the machine
// or the registry stood still, the instance is deleted in another way.
func (s *suite) withdraw(t *testing.T, g weft.Registration, i weft.Instance) {
	t.Helper()
	err := g.Close(t.Context())
	switch {
	case err == nil:
	case s.pulse.explains(t.Context().Done()):
		t.Logf("the machine or the registry stood still: %v", err)
		s.delete(t, s.driver(t), i)
	default:
		t.Errorf("Close of the registration: %v", err)
	}
}

func checkSnapshot(t *testing.T, s *suite) {
	name := service()
	r := s.roster(t, name)
	r.set(t, instances(name, 2)...)
	c := s.client(t, s.registry(t, s.TTL, -1), name)
	c.sees(t, s.Settle, instances(name, 2)...)
	if !s.Fixed {
		r.set(t, instances(name, 3)...)
		c.sees(t, s.Settle, instances(name, 3)...)
	}
}

// checkRegister has a time to live that nothing expires in, so that what goes was
// withdrawn.
func checkRegister(t *testing.T, s *suite) {
	name := service()
	i := instance(name, 0)
	server := s.registry(t, s.long(), -1)
	c := s.client(t, s.registry(t, s.long(), -1), name)
	g, err := server.Register(i)
	if err != nil {
		t.Fatalf("Register: %v", err)
	}
	c.sees(t, s.Settle, i)
	i.Weight = 55
	if err := g.Update(i); err != nil {
		t.Fatalf("Update: %v", err)
	}
	c.sees(t, s.Settle, i)
	s.withdraw(t, g, i)
	c.sees(t, s.Settle)
	if err := s.refresh(t, s.driver(t), i, s.TTL); !errors.Is(err, registry.ErrLost) {
		t.Errorf("Refresh of an instance that a Registry has withdrawn returned %v, want ErrLost", err)
	}
}
