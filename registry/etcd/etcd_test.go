package etcd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/internal/polltest"
	"github.com/weftrpc/weft/registry"
	"github.com/weftrpc/weft/registry/registrytest"
)

func TestConformance(t *testing.T) {
	s := startServer(t)
	registrytest.Run(t, registrytest.Config{
		New: func(t *testing.T) registry.Driver {
			t.Helper()
			d, err := newDriver(Config{Endpoints: []string{s.endpoint}})
			if err != nil {
				t.Fatal(err)
			}
			return d
		},
		Server: s,
		Probe:  s.Probe,
	})
}

func TestConfig(t *testing.T) {
	for _, test := range []struct {
		name string
		cfg  Config
		want string // in the error; "": there is none
	}{
		{"the zero value", Config{}, ""},
		{"host and port", Config{Endpoints: []string{"a:1", "[::1]:2"}}, ""},
		{"URLs", Config{Endpoints: []string{"http://a:1", "http://b:2/"}}, ""},
		{"https", Config{Endpoints: []string{"https://a:1", "b:2"}}, ""},
		{"no port", Config{Endpoints: []string{"10.0.0.1"}}, `"10.0.0.1"`},
		{"no host", Config{Endpoints: []string{":2379"}}, `":2379"`},
		{"an empty endpoint", Config{Endpoints: []string{""}}, `endpoint ""`},
		{"a path", Config{Endpoints: []string{"http://a:1/weft"}}, "a:1/weft"},
		{"a foreign scheme", Config{Endpoints: []string{"etcd://a:1"}}, "etcd://a:1"},
		{"plain and encrypted", Config{Endpoints: []string{"https://a:1", "http://b:2"}}, "http://b:2"},
		{"a password without a user", Config{Password: "x"}, "Username"},
		{"a negative timeout", Config{DialTimeout: -1}, "DialTimeout"},
		{"a TTL that is too short", Config{Registry: registry.Config{TTL: time.Millisecond}}, "TTL"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r, err := New(test.cfg)
			switch {
			case err == nil && test.want != "":
				t.Errorf("New returned no error, want one with %s", test.want)
			case err != nil && (test.want == "" || !strings.Contains(err.Error(), test.want)):
				t.Errorf("New returned %v, want an error with %q", err, test.want)
			}
			if err == nil {
				if err := r.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// watched runs a watch until the end of the test and returns its lists. One that ends by itself, as it does when etcd stands still on a busy
// machine, is begun again.
func watched(t *testing.T, d *driver, service string) <-chan registry.List {
	t.Helper()
	lists := make(chan registry.List, 100)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	// It ends with ctx; the cleanup waits for it.
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			err := d.Watch(ctx, service, func(l registry.List) {
				select {
				case lists <- l:
				case <-ctx.Done():
				}
			})
			if ctx.Err() == nil {
				t.Logf("the watch of %s is begun again after: %v", service, err)
				time.Sleep(polltest.Pause)
			}
		}
	}()
	t.Cleanup(func() { cancel(); <-done })
	return lists
}

// next returns the next list that a watch shows.
func next(t *testing.T, lists <-chan registry.List) registry.List {
	t.Helper()
	select {
	case l := <-lists:
		return l
	case <-time.After(time.Minute):
		t.Fatal("the watch shows nothing")
		return registry.List{}
	}
}

func arith(id string) weft.Instance {
	return weft.Instance{Service: "Arith", ID: id, Address: "tcp://10.0.0.1:8972"}
}

// TestForeignKeys has what others may have left below the prefix.
func TestForeignKeys(t *testing.T) {
	t.Parallel()
	d := startServer(t).driver(t)
	ctx := testContext(t, time.Minute)
	value, err := registry.Encode(arith("a/b"))
	if err != nil {
		t.Fatal(err)
	}
	base := d.keys.service("Arith")
	for _, key := range []string{"a%2fb", "a/b", "%zz", "", "plain"} {
		if _, err := d.client.Put(ctx, base+key, string(value)); err != nil {
			t.Fatal(err)
		}
	}
	for _, key := range []string{"/weft/instances/Arit", "/weft/instances/Arith0/x", "/weft/instances/%zz/x", "/weft/instances/", "/other"} {
		if _, err := d.client.Put(ctx, key, "x"); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.Put(ctx, arith("a/b"), time.Minute); err != nil {
		t.Fatal(err)
	}
	list := next(t, watched(t, d, "Arith"))
	if len(list.Instances) != 1 || list.Instances[0].ID != "a/b" {
		t.Errorf("the list has %v, want a/b alone", list.Instances)
	}
	var invalid []string
	for _, i := range list.Invalid {
		invalid = append(invalid, i.ID)
	}
	slices.Sort(invalid)
	if want := []string{"", "%zz", "a%2fb", "a/b", "plain"}; !slices.Equal(invalid, want) {
		t.Errorf("invalid are %q, want %q", invalid, want)
	}
}

func TestServices(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	d := s.driver(t)
	ctx := testContext(t, time.Minute)
	for _, i := range []weft.Instance{
		{Service: "Echo", ID: "1", Address: "tcp://10.0.0.1:1"}, {Service: "Echo", ID: "2", Address: "tcp://10.0.0.1:2"},
		{Service: "a/b", ID: "1", Address: "tcp://10.0.0.1:1"},
	} {
		if err := d.Put(ctx, i, time.Minute); err != nil {
			t.Fatal(err)
		}
	}
	names, err := Services(ctx, Config{Endpoints: []string{s.endpoint}})
	if want := []string{"Echo", "a/b"}; err != nil || !slices.Equal(names, want) {
		t.Errorf("Services returned %q, %v, want %q", names, err, want)
	}
	names, err = Services(ctx, Config{Endpoints: []string{s.endpoint}, Prefix: "/another"})
	if err != nil || len(names) > 0 {
		t.Errorf("Services of another prefix returned %q, %v, want none", names, err)
	}
}

func TestSilence(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	d := s.driver(t)
	ctx := testContext(t, time.Minute)
	if err := errors.Join(d.Put(ctx, arith("a/b"), time.Minute), d.Put(ctx, arith("two"), time.Minute)); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"foreign", "%zz"} { // without a lease
		if _, err := d.client.Put(ctx, d.keys.service("Arith")+key, "x"); err != nil {
			t.Fatal(err)
		}
	}
	cfg := Config{Endpoints: []string{s.endpoint}}
	polltest.Until(t, time.Minute, "the silence of one is seen, and the other is refreshed", func() error {
		if err := d.Refresh(ctx, arith("two"), time.Minute); err != nil {
			t.Fatal(err)
		}
		silent, err := Silence(ctx, cfg, "Arith")
		if err == nil && (len(silent) != 2 || silent["a/b"] < 2*time.Second || silent["two"] > time.Second) {
			err = fmt.Errorf("it is %v", silent)
		}
		return err
	})
	silent, err := Silence(ctx, cfg, "Nobody")
	if err != nil || len(silent) > 0 {
		t.Errorf("of no service it is %v, error %v", silent, err)
	}
}

// TestSameID lets a second process take the place of the first under the same ID. The
// end of the first must not take it away.
func TestSameID(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	first, second := s.driver(t), s.driver(t)
	ctx := testContext(t, time.Minute)
	old, young := arith("one"), arith("one")
	young.Version = "2.0"
	if err := errors.Join(first.Put(ctx, old, time.Minute), second.Put(ctx, young, time.Minute)); err != nil {
		t.Fatal(err)
	}
	if err := first.Refresh(ctx, old, time.Minute); !errors.Is(err, registry.ErrLost) {
		t.Errorf("Refresh of what another process has put returned %v, want ErrLost", err)
	}
	if err := first.Delete(ctx, old); err != nil {
		t.Errorf("Delete of what another process has put: %v", err)
	}
	if err := second.Refresh(ctx, young, time.Minute); err != nil {
		t.Errorf("Refresh after the first process has ended: %v", err)
	}
	list := next(t, watched(t, second, "Arith"))
	if len(list.Instances) != 1 || list.Instances[0].Version != "2.0" {
		t.Errorf("the list has %v, want the second one", list.Instances)
	}
}

// TestLateServer starts servers and clients before the registry.
func TestLateServer(t *testing.T) {
	t.Parallel()
	p := freePorts(t)
	// With a user, too, though this etcd will turn out to have none.
	cfg := Config{Endpoints: []string{p.client}, Username: "weft", Password: "secret"}
	server, client := open(t, cfg), open(t, cfg)
	registration, err := server.Register(arith("one"))
	if err != nil {
		t.Fatal(err)
	}
	snapshots := make(chan *registry.Snapshot, 100)
	t.Cleanup(client.Watch("Arith", func(s *registry.Snapshot) { snapshots <- s }))
	select {
	case s := <-snapshots:
		if s.Err == nil || len(s.Instances) > 0 {
			t.Errorf("before etcd is there the client is told %v and error %v", s.Instances, s.Err)
		}
	case <-time.After(time.Minute):
		t.Error("the client is not told that the registry cannot be reached")
	}
	startAt(t, p)
	began := time.Now()
	for s := range snapshots {
		if s.Err == nil && len(s.Instances) == 1 {
			break
		}
		if time.Since(began) > time.Minute {
			t.Fatalf("%v after etcd is there the client knows %v, error %v", time.Since(began), s.Instances, s.Err)
		}
	}
	t.Logf("found %v after etcd was there", time.Since(began).Round(time.Millisecond))
	if err := registration.Close(t.Context()); err != nil {
		t.Error(err)
	}
}
