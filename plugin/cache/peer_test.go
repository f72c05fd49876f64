package cache_test

import (
	"context"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/internal/polltest"
	"github.com/weftrpc/weft/plugin/cache"
	"github.com/weftrpc/weft/plugin/internal/plugintest"
)

// TestPeers has a server that asks its clients the same, each of which answers differently: no client's reply is given for another's, unless
// Shared says that they are the same.
func TestPeers(t *testing.T) {
	for _, c := range []struct {
		name string
		cfg  cache.Config
		want string
		hits uint64
	}{
		{"alone", cache.Config{}, "bob", 0},
		{"shared", cache.Config{Shared: true}, "alice", 1},
		{"by caller", cache.Config{Caller: func(context.Context) string { return "all" }}, "alice", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.cfg.Methods = map[string]time.Duration{"Person.Name": time.Minute}
			k := newCache(t, c.cfg)
			w := plugintest.Serve(t, &weft.ServerConfig{Plugins: []weft.Plugin{k.Plugin()}})
			got := ""
			for _, name := range []string{"alice", "bob"} {
				own := weft.NewServices()
				if err := weft.Handle(own, "Person.Name", func(context.Context, *struct{}) (*string, error) { return &name, nil }); err != nil {
					t.Fatal(err)
				}
				client := w.Dial(t, &weft.ClientConfig{Services: own})
				multiply(t, client, t.Context(), 6, 7)
				peers := w.Server.Peers()
				if len(peers) != 1 {
					t.Fatalf("the server has %d peers, want %s alone", len(peers), name)
				}
				reply, err := weft.Invoke[string](t.Context(), peers[0], "Person.Name", &struct{}{})
				if err != nil {
					t.Fatal(err)
				}
				got = *reply
				gone := peers[0].Done()
				if err := client.Close(); err != nil {
					t.Fatal(err)
				}
				<-gone
				polltest.True(t, time.Minute, "the end of the peer", func() bool { return len(w.Server.Peers()) == 0 })
			}
			if got != c.want {
				t.Errorf("bob was asked, and the answer is %s, want %s", got, c.want)
			}
			if hits := k.Stats().Hits; hits != c.hits {
				t.Errorf("%d replies were kept ones, want %d", hits, c.hits)
			}
		})
	}
}
