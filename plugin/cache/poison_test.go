package cache_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/cluster"
	"github.com/weftrpc/weft/codec"
	"github.com/weftrpc/weft/codec/json"
	"github.com/weftrpc/weft/codec/msgpack"
	"github.com/weftrpc/weft/plugin/cache"
	"github.com/weftrpc/weft/plugin/internal/plugintest"
	"github.com/weftrpc/weft/registry/static"
)

// whose answers with the name of its caller.
func whose(t *testing.T, cfg *weft.ServerConfig) *plugintest.World {
	t.Helper()
	cfg.Authenticate = func(_ context.Context, cred weft.Credential, _ *weft.CallInfo) (any, error) { return cred.Token, nil }
	w := plugintest.Serve(t, cfg)
	if err := weft.Handle(w.Server, "Who.Am", func(ctx context.Context, _ *string) (*string, error) {
		return new(fmt.Sprint(weft.PrincipalFrom(ctx), " of ", weft.MetadataFrom(ctx).Get("tenant"))), nil
	}); err != nil {
		t.Fatal(err)
	}
	return w
}

// Clients with different credentials that share a cache get no reply of each other, unless the cache is told that replies are
// the same for all. Clients of one value of Plugin share replies.
func TestClientsApart(t *testing.T) {
	for _, tt := range []struct {
		name string
		cfg  cache.Config
		hits uint64 // of ada, ada again, bob, and ada at another client
		bob  string
	}{
		{"as it comes", cache.Config{}, 2, "bob of "},
		{"Shared", cache.Config{Shared: true}, 3, "ada of "},
	} {
		tt.cfg.Methods = map[string]time.Duration{"Who.Am": time.Hour}
		k := newCache(t, tt.cfg)
		w := whose(t, &weft.ServerConfig{})
		dial := func(name string, p weft.Plugin) *weft.Client {
			return w.Dial(t, &weft.ClientConfig{Credential: weft.StaticCredential("", name), Plugins: []weft.Plugin{p}})
		}
		as := func(c *weft.Client, want string) {
			t.Helper()
			var got string
			if err := c.Call(t.Context(), "Who.Am", new("x"), &got); err != nil || got != want {
				t.Errorf("%s: %q, %v, want %q", tt.name, got, err, want)
			}
		}
		of := k.Plugin()
		ada, bob := dial("ada", of), dial("bob", k.Plugin())
		as(ada, "ada of ")
		as(ada, "ada of ")
		as(bob, tt.bob)
		as(dial("ada", of), "ada of ")
		is(t, k, tt.hits, 4-tt.hits)
	}
}

// No caller gets the reply of another one, on either side, whatever names, metadata and requests look like together.
func TestPrincipalsApart(t *testing.T) {
	for _, side := range []string{"server", "client"} {
		k := newCache(t, cache.Config{Methods: map[string]time.Duration{"Who.Am": time.Hour}, Vary: []string{"tenant"}})
		var on weft.ServerConfig
		var at weft.ClientConfig
		if side == "server" {
			on.Plugins = []weft.Plugin{k.Plugin()}
		} else {
			at.Plugins = []weft.Plugin{k.Plugin()}
		}
		c := whose(t, &on).Dial(t, &at)
		for range 2 {
			for _, name := range []string{"ada", "adabob", "ada\x00", "ada of x", ""} {
				for _, tenant := range []string{"", "x", "bobx"} {
					ctx := t.Context()
					if tenant != "" {
						ctx = weft.WithMetadata(ctx, "tenant", tenant)
					}
					var got string
					if err := c.Call(ctx, "Who.Am", new("x"), &got, weft.WithCredential(weft.Credential{Token: name})); err != nil || got != name+" of "+tenant {
						t.Fatalf("%s: %q of %q got %q, %v", side, name, tenant, got, err)
					}
				}
			}
		}
		if hits := k.Stats().Hits; side == "server" && hits == 0 || side == "client" && hits != 0 {
			t.Errorf("%s: %d hits", side, hits)
		}
		// A credential may be a pair of the metadata, which the server does not tell from one by an option.
		for range 2 {
			for _, name := range []string{"ada", "bob"} {
				var got string
				ctx := weft.WithMetadata(t.Context(), "authorization", name)
				if err := c.Call(ctx, "Who.Am", new("x"), &got); err != nil || got != name+" of " {
					t.Fatalf("%s: %q in the metadata got %q, %v", side, name, got, err)
				}
			}
		}
	}
}

// A client leaves calls with a credential in their metadata alone, whatever the case of the key; so in a cluster.Client, around calls and
// around attempts.
func TestCredentialInMetadata(t *testing.T) {
	for _, key := range []string{"authorization", "Authorization", "AUTHORIZATION"} {
		for _, around := range []string{"client", "calls of a cluster", "attempts of a cluster"} {
			k := newCache(t, cache.Config{Methods: map[string]time.Duration{"Who.Am": time.Hour}})
			w := whose(t, &weft.ServerConfig{})
			p := []weft.Plugin{k.Plugin()}
			var c weft.Caller
			switch around {
			case "client":
				c = w.Dial(t, &weft.ClientConfig{Plugins: p})
			case "calls of a cluster":
				c = fleet(t, w, &cluster.Config{Plugins: p})
			default:
				c = fleet(t, w, &cluster.Config{Client: &weft.ClientConfig{Plugins: p}})
			}
			for range 2 {
				ctx := weft.WithMetadata(t.Context(), key, "ada")
				if _, err := weft.Invoke[string](ctx, c, "Who.Am", new("x")); err != nil {
					t.Fatal(err)
				}
			}
			if s := k.Stats(); s.Hits != 0 || s.Misses != 0 {
				t.Errorf("%s, %s: %+v, want calls that are left alone", around, key, s)
			}
			for range 2 {
				if _, err := weft.Invoke[string](t.Context(), c, "Who.Am", new("x")); err != nil {
					t.Fatal(err)
				}
			}
			is(t, k, 1, 1)
		}
	}
}

// fleet is a client of package cluster with one server.
func fleet(t *testing.T, w *plugintest.World, cfg *cluster.Config) *cluster.Client {
	t.Helper()
	reg, err := static.New("tcp://" + w.Addr)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Registry, cfg.Logger = reg, slog.New(slog.DiscardHandler)
	c, err := cluster.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Close()
		reg.Close()
	})
	return c
}

// kinds has what codecs carry in different ways.
type kinds struct {
	Any    any
	Hidden string `msgpack:"-"`
}

// A client that has a reply from the cache has the same value as from the server, with every codec; one that is unknown is left
// alone.
func TestSameValue(t *testing.T) {
	for _, tt := range []struct {
		codec codec.Codec
		cfg   cache.Config
		hits  uint64
	}{
		{json.New(), cache.Config{}, 1},
		{msgpack.New(), cache.Config{}, 1},
		{renamed{json.New()}, cache.Config{}, 0},
		{renamed{json.New()}, cache.Config{Codecs: []codec.Codec{renamed{json.New()}}}, 1},
	} {
		tt.cfg.Methods = map[string]time.Duration{"Kinds.Get": time.Hour}
		k := newCache(t, tt.cfg)
		w := plugintest.Serve(t, &weft.ServerConfig{Codecs: []codec.Codec{json.New(), msgpack.New(), renamed{json.New()}}})
		if err := weft.Handle(w.Server, "Kinds.Get", func(context.Context, *string) (*kinds, error) {
			return &kinds{map[string]any{"a": []any{"b", 1.5}}, "hidden"}, nil
		}); err != nil {
			t.Fatal(err)
		}
		c := w.Dial(t, &weft.ClientConfig{Codec: tt.codec, Plugins: []weft.Plugin{k.Plugin()}})
		var all [2]*kinds
		for i := range all {
			var err error
			if all[i], err = weft.Invoke[kinds](t.Context(), c, "Kinds.Get", new("x")); err != nil {
				t.Fatal(err)
			}
		}
		if !reflect.DeepEqual(all[0], all[1]) {
			t.Errorf("%s: the server sends %#v, the cache %#v", tt.codec.Name(), all[0], all[1])
		}
		if hits := k.Stats().Hits; hits != tt.hits {
			t.Errorf("%s: %d hits, want %d", tt.codec.Name(), hits, tt.hits)
		}
	}
}

// renamed is a codec of the program.
type renamed struct{ codec.Codec }

func (renamed) Name() string { return "own" }

// A client that acts for several names them.
func TestCaller(t *testing.T) {
	type user struct{}
	k := newCache(t, cache.Config{Methods: map[string]time.Duration{"Who.Am": time.Hour},
		Caller: func(ctx context.Context) string { return fmt.Sprint(ctx.Value(user{})) }})
	c := whose(t, &weft.ServerConfig{}).Dial(t, &weft.ClientConfig{Plugins: []weft.Plugin{k.Plugin()},
		Credential: func(ctx context.Context, _ string) (weft.Credential, error) {
			return weft.Credential{Token: fmt.Sprint(ctx.Value(user{}))}, nil
		}})
	for range 2 {
		for _, name := range []string{"ada", "bob"} {
			var got string
			if err := c.Call(context.WithValue(t.Context(), user{}, name), "Who.Am", new("x"), &got); err != nil || got != name+" of " {
				t.Fatalf("%s got %q, %v", name, got, err)
			}
		}
	}
	is(t, k, 2, 2)
}

// hidden has a field that MessagePack does not carry.
type hidden struct {
	Kept   string
	Hidden string `msgpack:"-"`
}

// Requests that differ in what their codec carries are not equal.
func TestRequestsApart(t *testing.T) {
	k := newCache(t, cache.Config{Methods: map[string]time.Duration{"Hidden.Echo": time.Hour}})
	w := plugintest.Serve(t, &weft.ServerConfig{Plugins: []weft.Plugin{k.Plugin()}})
	if err := weft.Handle(w.Server, "Hidden.Echo", func(_ context.Context, h *hidden) (*hidden, error) { return h, nil }); err != nil {
		t.Fatal(err)
	}
	c := w.Dial(t, &weft.ClientConfig{Codec: json.New()})
	for _, name := range []string{"a", "b", "a"} {
		r, err := weft.Invoke[hidden](t.Context(), c, "Hidden.Echo", &hidden{"x", name})
		if err != nil || r.Hidden != name {
			t.Errorf("%q: %+v, %v", name, r, err)
		}
	}
	is(t, k, 1, 2)
}

// unwritable can be read as JSON, and panics when it is written.
type unwritable struct{ N int }

func (unwritable) MarshalJSON() ([]byte, error) { panic("as asked") }

// A request that cannot be written is answered, and its reply is not kept.
func TestPanic(t *testing.T) {
	k := newCache(t, cache.Config{Methods: map[string]time.Duration{"Un.Written": time.Hour}})
	w := plugintest.Serve(t, &weft.ServerConfig{Plugins: []weft.Plugin{k.Plugin()}})
	if err := weft.Handle(w.Server, "Un.Written", func(_ context.Context, u *unwritable) (*int, error) { return &u.N, nil }); err != nil {
		t.Fatal(err)
	}
	c := w.Dial(t, &weft.ClientConfig{Codec: json.New()})
	for range 2 {
		if n, err := weft.Invoke[int](t.Context(), c, "Un.Written", &struct{ N int }{7}); err != nil || *n != 7 {
			t.Error(n, err)
		}
	}
	is(t, k, 0, 0)
}

// The replies that are kept have a bounded size, and one that is larger is not kept.
func TestMaxBytes(t *testing.T) {
	for _, side := range []string{"server", "client"} {
		k := newCache(t, cache.Config{Methods: map[string]time.Duration{"Text.Repeat": time.Hour}, MaxBytes: 10_000})
		var on weft.ServerConfig
		var at weft.ClientConfig
		if side == "server" {
			on.Plugins = []weft.Plugin{k.Plugin()}
		} else {
			at.Plugins = []weft.Plugin{k.Plugin()}
		}
		w := plugintest.Serve(t, &on)
		if err := weft.Handle(w.Server, "Text.Repeat", func(_ context.Context, n *int) (*string, error) {
			return new(strings.Repeat("x", *n)), nil
		}); err != nil {
			t.Fatal(err)
		}
		c := w.Dial(t, &at)
		call := func(n int) {
			t.Helper()
			if r, err := weft.Invoke[string](t.Context(), c, "Text.Repeat", &n); err != nil || len(*r) != n {
				t.Fatal(err)
			}
			if s := k.Stats(); s.Bytes > 10_000 {
				t.Fatalf("%s: %+v", side, s)
			}
		}
		for n := range 50 {
			call(1000 + n)
		}
		if s := k.Stats(); s.Entries < 5 || s.Entries > 9 || s.Bytes < 5000 {
			t.Errorf("%s: %+v", side, s)
		}
		before := k.Stats()
		call(20_000)
		call(20_000)
		if s := k.Stats(); s.Entries != before.Entries || s.Bytes != before.Bytes || s.Hits != 0 {
			t.Errorf("%s: a large reply: %+v, %+v", side, before, s)
		}
		call(1049)
		if s := k.Stats(); s.Hits != 1 {
			t.Errorf("%s: %+v", side, s)
		}
		k.Clear()
		if s := k.Stats(); s.Entries != 0 || s.Bytes != 0 {
			t.Errorf("%s: %+v", side, s)
		}
	}
	if _, err := cache.New(&cache.Config{Methods: map[string]time.Duration{"A.B": 1}, MaxBytes: -1}); !errors.Is(err, weft.InvalidArgument) {
		t.Error(err)
	}
}
