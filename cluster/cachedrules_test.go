package cluster_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/cluster"
	"github.com/weftrpc/weft/registry"
	"github.com/weftrpc/weft/transport"
)

// cached makes a client that keeps what its registry says in dir, and logs into out.
func (f *fleet) cached(dir string, out *bytes.Buffer) (c *cluster.Client, end func()) {
	f.t.Helper()
	log := slog.New(slog.DiscardHandler)
	if out != nil {
		log = slog.New(slog.NewTextHandler(out, nil))
	}
	reg, err := registry.New("memory", f.store.Driver(), &registry.Config{CacheDir: dir, Logger: log})
	must(f.t, err)
	cfg := cluster.Config{Registry: reg, Logger: log}
	cfg.Client = &weft.ClientConfig{Transports: []transport.Transport{f.net}, Logger: log}
	c, err = cluster.New(&cfg)
	must(f.t, err)
	return c, func() {
		must(f.t, c.Close())
		must(f.t, reg.Close())
	}
}

// A client that starts while the rules in the registry are broken takes the last good
// ones of its cache, and says so.
func TestBrokenRulesAtStart(t *testing.T) {
	dir := t.TempDir()
	bubble(t, func(t *testing.T) {
		f := newFleet(t, "a", "b")
		f.rules(`{"instances":[{"match":{"id":"mem://a"},"state":"off"}]}`)
		before, end := f.cached(dir, nil)
		if got := shares(t, before, 10); keys(got) != "[b]" {
			t.Errorf("with the rules the shares are %v, want b alone", got)
		}
		end()

		f.rules(`{"instances":[{"match":{"id":"mem://a"},"sate":"off"}]}`)
		var out bytes.Buffer
		after, end := f.cached(dir, &out)
		if got := shares(t, after, 10); keys(got) != "[b]" {
			t.Errorf("with broken rules the shares are %v, want b alone, as the cached ones say", got)
		}
		f.rules(`{}`)
		time.Sleep(time.Minute) // the start of a server is slow
		if got := shares(t, after, 100); keys(got) != "[a b]" {
			t.Errorf("with new rules the shares are %v, want both", got)
		}
		end()
		for _, want := range []string{"the rules cannot be used", "the last good one of the cache is"} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("the log lacks %q:\n%s", want, &out)
			}
		}
	})
}

// A registry that says that there are no rules goes before the cache.
func TestRulesOfAWipedRegistry(t *testing.T) {
	dir := t.TempDir()
	bubble(t, func(t *testing.T) {
		f := newFleet(t, "a", "b")
		f.rules(`{"routes":[{"name":"old","to":[{"match":{"zone":"gone"}}],"else":"fail"}]}`)
		c, end := f.cached(dir, nil)
		if _, err := weft.Invoke[Reply](t.Context(), c, "Who.Who", &Args{}, weft.WithTimeout(time.Second)); err == nil {
			t.Error("a call that the rules forbid went well")
		}
		end()
	})
	bubble(t, func(t *testing.T) {
		f := newFleet(t, "a", "b") // with a registry of its own
		c, end := f.cached(dir, nil)
		defer end()
		shares(t, c, 10) // no call fails
	})
}
