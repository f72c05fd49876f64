package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/weftrpc/weft/internal/polltest"
	"github.com/weftrpc/weft/registry"
	"github.com/weftrpc/weft/registry/registrytest"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	server, address := zooKeeper(t, registrytest.FreePort(t), "")
	registrytest.Run(t, registrytest.Config{
		New: func(t *testing.T) registry.Driver {
			d, err := newDriver(Config{Servers: []string{address}, SessionTimeout: patient})
			if err != nil {
				t.Fatal(err)
			}
			return d
		},
		Server:  server,
		Probe:   server.Probe,
		Expires: patient + 2*time.Second,
	})
}

func TestNewChecksItsConfig(t *testing.T) {
	good := []string{"127.0.0.1"}
	for _, test := range []struct {
		name string
		cfg  Config
		want string // "": it is good
	}{
		{"one server", Config{Servers: good}, ""},
		{"a deep prefix", Config{Servers: good, Prefix: "/a/b-c/d_1"}, ""},
		{"no servers", Config{}, "no Servers"},
		{"a relative prefix", Config{Servers: good, Prefix: "weft"}, "Prefix"},
		{"the root", Config{Servers: good, Prefix: "/"}, "Prefix"},
		{"an empty part", Config{Servers: good, Prefix: "/a//b"}, "Prefix"},
		{"a slash at the end", Config{Servers: good, Prefix: "/a/"}, "Prefix"},
		{"a path upwards", Config{Servers: good, Prefix: "/a/../b"}, "Prefix"},
		{"an empty server", Config{Servers: []string{""}}, "empty"},
		{"a user with a colon", Config{Servers: good, User: "a:b"}, "User"},
		{"a password without a user", Config{Servers: good, Password: "x"}, "User"},
		{"a short session", Config{Servers: good, SessionTimeout: time.Millisecond}, "SessionTimeout"},
		{"a short TTL", Config{Servers: good, SessionTimeout: time.Second, Registry: registry.Config{TTL: time.Millisecond}}, "TTL"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r, err := New(test.cfg)
			switch {
			case test.want == "" && err != nil:
				t.Fatal(err)
			case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
				t.Fatalf("New returned %v, want an error about %s", err, test.want)
			case err == nil:
				if err := r.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

func TestServersHavePorts(t *testing.T) {
	d := connect(t, Config{Servers: []string{"zk1", "zk2:99", "::1", "[::1]", "[::1]:99"}})
	want := "zk1:2181 zk2:99 [::1]:2181 [::1]:2181 [::1]:99"
	if got := strings.Join(d.servers, " "); got != want {
		t.Errorf("the servers are %s, want %s", got, want)
	}
}

// A server that is not there costs the time that one gives it, and says so.
func TestNoServer(t *testing.T) {
	d := connect(t, Config{Servers: []string{"127.0.0.1:1"}})
	// A busy machine may not have tried before the time is over.
	polltest.Until(t, time.Minute, "Put without a server names the deadline and what happened before", func() error {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		err := d.Put(ctx, instance("Arith", "a"), time.Minute)
		if errors.Is(err, context.DeadlineExceeded) && strings.Contains(err.Error(), "refused") {
			return nil
		}
		return fmt.Errorf("it returned %v", err)
	})
	began := time.Now()
	err := d.Watch(t.Context(), "Arith", func(registry.List) { t.Error("Watch emits a list without a server") })
	if err == nil || !strings.Contains(err.Error(), "127.0.0.1:1") {
		t.Errorf("Watch without a server returned %v, want an error that names it", err)
	}
	if took := time.Since(began); took > time.Minute {
		t.Errorf("Watch took %v to find that there is no server", took)
	}
}

func TestPathsAreReversible(t *testing.T) {
	for _, name := range []string{"a", ".", "..", "...", "a/b", "a%2Fb", "%", " ", "größe", "{}", "~", "\x00\n"} {
		part := escape(name)
		if strings.ContainsAny(part, "/\x00\n") || part == "." || part == ".." {
			t.Errorf("escape of %q is %q, which is no part of a path", name, part)
		}
		if got, err := unescape(part); err != nil || got != name {
			t.Errorf("unescape of %q returned %q, %v, want %q", part, got, err, name)
		}
	}
	for _, part := range []string{"%", "%zz", "a%2fb", "%41", "größe", "a b"} {
		if name, err := unescape(part); err == nil {
			t.Errorf("unescape takes %q for %q; escape would not have made it", part, name)
		}
	}
}
