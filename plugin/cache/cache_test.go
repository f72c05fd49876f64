package cache_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/codec"
	"github.com/weftrpc/weft/codec/raw"
	"github.com/weftrpc/weft/plugin/cache"
	"github.com/weftrpc/weft/plugin/internal/plugintest"
	"github.com/weftrpc/weft/transport"
	"github.com/weftrpc/weft/transport/mem"
)

func newCache(t testing.TB, cfg cache.Config) *cache.Cache {
	t.Helper()
	if cfg.Methods == nil {
		cfg.Methods = map[string]time.Duration{"Arith.Mul": time.Minute, "Arith.Fail": time.Minute}
	}
	c, err := cache.New(&cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func multiply(t *testing.T, c weft.Caller, ctx context.Context, a, b int, opts ...weft.CallOption) {
	t.Helper()
	r, err := weft.Invoke[plugintest.Result](ctx, c, "Arith.Mul", &plugintest.Args{A: a, B: b}, opts...)
	if err != nil || r.C != a*b {
		t.Fatalf("%+v, %v", r, err)
	}
}

func is(t *testing.T, c *cache.Cache, hits, misses uint64) {
	t.Helper()
	if s := c.Stats(); s.Hits != hits || s.Misses != misses {
		t.Errorf("%+v, want %d hits and %d misses", s, hits, misses)
	}
}

func TestServer(t *testing.T) {
	k := newCache(t, cache.Config{Vary: []string{"tenant"}})
	w := plugintest.Serve(t, &weft.ServerConfig{
		Plugins: []weft.Plugin{k.Plugin()},
		Authenticate: func(_ context.Context, cred weft.Credential, _ *weft.CallInfo) (any, error) {
			switch cred.Token {
			case "":
				return nil, nil
			case "nameless":
				return struct{}{}, nil
			}
			return cred.Token, nil
		},
	})
	c, ctx := w.Dial(t, nil), t.Context()
	multiply(t, c, ctx, 6, 7)
	multiply(t, c, ctx, 6, 7)
	is(t, k, 1, 1)
	multiply(t, c, ctx, 7, 6)
	is(t, k, 1, 2)
	multiply(t, c, weft.WithMetadata(ctx, "tenant", "blue"), 6, 7)
	multiply(t, c, weft.WithMetadata(ctx, "other", "x"), 6, 7)
	is(t, k, 2, 3)
	as := func(name string) weft.CallOption { return weft.WithCredential(weft.Credential{Token: name}) }
	multiply(t, c, ctx, 6, 7, as("ada"))
	multiply(t, c, ctx, 6, 7, as("bob"))
	is(t, k, 2, 5)
	multiply(t, c, ctx, 6, 7, as("nameless"))
	is(t, k, 2, 5)
	var r plugintest.Result
	if err := w.DialDoor(t).Call("Arith.Mul", &plugintest.Args{A: 6, B: 7}, &r); err != nil || r.C != 42 {
		t.Error(r, err)
	}
	is(t, k, 3, 5)
	for range 2 { // errors are not kept
		plugintest.IsError(t, c.Call(ctx, "Arith.Fail", &plugintest.Args{A: 5}, nil), weft.NotFound, weft.Executed)
	}
	is(t, k, 3, 7)
	k.Clear()
	if n := k.Stats().Entries; n != 0 {
		t.Errorf("%d replies are kept", n)
	}
	if n, err := plugintest.Count(ctx, c, 3); n != 3 || err != nil {
		t.Error(n, err)
	}
}

func TestClient(t *testing.T) {
	k := newCache(t, cache.Config{})
	w := plugintest.Serve(t, nil)
	c := w.Dial(t, &weft.ClientConfig{Plugins: []weft.Plugin{k.Plugin()}})
	for range 3 {
		multiply(t, c, t.Context(), 6, 7)
	}
	is(t, k, 2, 1)
	if err := c.Call(t.Context(), "Arith.Mul", &plugintest.Args{A: 6, B: 7}, nil); err != nil {
		t.Error(err)
	}
	is(t, k, 2, 1) // a caller that does not want the reply
	if n := w.Server.Stats().Methods[0].Calls; n != 2 {
		t.Errorf("the server got %d calls", n)
	}
}

// One cache may be part of a server and of its client.
func TestBothSides(t *testing.T) {
	k := newCache(t, cache.Config{})
	w := plugintest.Serve(t, &weft.ServerConfig{Plugins: []weft.Plugin{k.Plugin()}})
	c := w.Dial(t, &weft.ClientConfig{Plugins: []weft.Plugin{k.Plugin()}})
	for range 3 {
		multiply(t, c, t.Context(), 6, 7)
	}
	is(t, k, 2, 2)
	multiply(t, w.Dial(t, nil), t.Context(), 6, 7)
	is(t, k, 3, 2)
}

func TestLeastRecentlyUsed(t *testing.T) {
	k := newCache(t, cache.Config{MaxEntries: 2})
	c := plugintest.Serve(t, &weft.ServerConfig{Plugins: []weft.Plugin{k.Plugin()}}).Dial(t, nil)
	for _, a := range []int{1, 2, 1, 3, 1, 2} { // 3 takes the place of 2
		multiply(t, c, t.Context(), a, 1)
	}
	is(t, k, 2, 4)
	if n := k.Stats().Entries; n != 2 {
		t.Errorf("%d replies are kept", n)
	}
}

// slow is a server in memory whose method takes a second.
func slow(t *testing.T, p weft.Plugin, calls *atomic.Int32) *weft.Client {
	net := mem.New()
	srv := weft.NewServer(&weft.ServerConfig{Transports: []transport.Transport{net}, Plugins: []weft.Plugin{p}})
	err := weft.Handle(srv, "Slow.Get", func(ctx context.Context, n *int) (*int, error) {
		calls.Add(1)
		select {
		case <-time.After(time.Second):
			return n, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	l, err := srv.Listen(t.Context(), "mem://slow")
	if err != nil {
		t.Fatal(err)
	}
	go srv.Serve(l) // it ends with the server
	c, err := weft.Dial(t.Context(), "mem://slow", &weft.ClientConfig{Transports: []transport.Transport{net}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Close()
		srv.Close()
	})
	return c
}

// Equal calls at the same time are one; replies are kept for their time, and not longer. A caller
// that gives up does not fail the others.
func TestTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newCache(t, cache.Config{Methods: map[string]time.Duration{"Slow.*": 10 * time.Second}})
		var calls atomic.Int32
		c := slow(t, k.Plugin(), &calls)
		together := func() {
			t.Helper()
			var wg sync.WaitGroup
			for range 10 {
				wg.Go(func() {
					n := 7
					if r, err := weft.Invoke[int](t.Context(), c, "Slow.Get", &n); err != nil || *r != 7 {
						t.Errorf("%v, %v", r, err)
					}
				})
			}
			wg.Wait()
		}
		n := 7
		first := c.Go(t.Context(), "Slow.Get", &n, new(int), nil, weft.WithTimeout(500*time.Millisecond))
		time.Sleep(100 * time.Millisecond)
		together()
		if <-first.Done; !errors.Is(first.Error, weft.DeadlineExceeded) {
			t.Errorf("%v", first.Error)
		}
		if got := calls.Load(); got != 2 {
			t.Errorf("%d calls were made, want that of the caller that gave up and one more", got)
		}
		together()
		time.Sleep(9 * time.Second)
		if got := calls.Load(); got != 2 {
			t.Errorf("%d calls were made, want no more", got)
		}
		time.Sleep(2 * time.Second)
		together()
		if got := calls.Load(); got != 3 {
			t.Errorf("%d calls were made, want one more", got)
		}
	})
}

// A reply whose call began before Clear is not kept, nor shared with calls that begin after it.
func TestClear(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newCache(t, cache.Config{Methods: map[string]time.Duration{"Slow.*": time.Hour}})
		var calls atomic.Int32
		c := slow(t, k.Plugin(), &calls)
		get := func() *weft.Call {
			n := 7
			return c.Go(t.Context(), "Slow.Get", &n, new(int), nil)
		}
		first := get()
		time.Sleep(500 * time.Millisecond)
		k.Clear()
		second := get()
		<-first.Done
		if n := k.Stats().Entries; n != 0 {
			t.Errorf("%d replies from before Clear are kept", n)
		}
		<-second.Done
		if got := calls.Load(); got != 2 {
			t.Errorf("%d calls were made, want 2", got)
		}
		third := get()
		<-third.Done
		if got := calls.Load(); got != 2 || first.Error != nil || second.Error != nil || third.Error != nil {
			t.Errorf("%d calls were made, want 2: %v, %v, %v", got, first.Error, second.Error, third.Error)
		}
	})
}

func TestWrongConfig(t *testing.T) {
	for _, cfg := range []*cache.Config{
		nil, {}, {Methods: map[string]time.Duration{"*": 1}}, {Methods: map[string]time.Duration{"A": 1}},
		{Methods: map[string]time.Duration{"A.B": -1}}, {Methods: map[string]time.Duration{"A.B": 1}, MaxEntries: -1},
		{Methods: map[string]time.Duration{"A.B": 1}, Codecs: []codec.Codec{nil}},
	} {
		if _, err := cache.New(cfg); !errors.Is(err, weft.InvalidArgument) {
			t.Errorf("%+v: %v", cfg, err)
		}
	}
}

func Example() {
	c, err := cache.New(&cache.Config{Methods: map[string]time.Duration{"Catalog.Get": time.Minute}})
	if err != nil {
		fmt.Println(err)
		return
	}
	srv := weft.NewServer(&weft.ServerConfig{Plugins: []weft.Plugin{c.Plugin()}})
	defer srv.Close()
	fmt.Printf("%+v\n", c.Stats())
	// Output: {Hits:0 Shared:0 Misses:0 Entries:0 Bytes:0}
}

// The memory of a reply of HandleRaw is the handler's, which uses it again.
func TestRaw(t *testing.T) {
	k := newCache(t, cache.Config{Shared: true, Methods: map[string]time.Duration{"Raw.Get": time.Minute}})
	w := plugintest.Serve(t, &weft.ServerConfig{Plugins: []weft.Plugin{k.Plugin()}})
	own := make([]byte, 4)
	if err := weft.HandleRaw(w.Server, "Raw.Get", func(_ context.Context, req, _ []byte) ([]byte, error) { return own[:copy(own, req)], nil }, weft.MethodLimit(1)); err != nil {
		t.Fatal(err)
	}
	c := w.Dial(t, nil)
	for _, text := range []string{"aaaa", "bbbb", "aaaa"} {
		body := []byte(text)
		got, err := weft.Invoke[[]byte](t.Context(), c, "Raw.Get", &body, weft.WithCodec(raw.New()))
		if err != nil || string(*got) != text {
			t.Errorf("%s: %q, %v", text, *got, err)
		}
	}
	is(t, k, 1, 2)
}
