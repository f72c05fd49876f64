package weft_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/compress"
	"github.com/weftrpc/weft/compress/gzip"
)

// TestCallbackHasTheServersRules: calls that a server makes to its client are compressed as its configuration says, and run its hooks.
func TestCallbackHasTheServersRules(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, client := new(everyHook), new(everyHook)
		all := []compress.Compressor{gzip.New()}
		peers := make(chan *weft.Peer, 1)
		w := start(t, &weft.ServerConfig{Hooks: []any{server}, Compressors: all, Compressor: all[0]}, func(s *weft.Server) error {
			return weft.Handle(s, "Chat.Join", func(ctx context.Context, _ *string) (*string, error) {
				peers <- weft.PeerFrom(ctx)
				return new(string), nil
			})
		})
		in := &inbox{make(chan string, 1)}
		c := w.dial(&weft.ClientConfig{Services: in.services(t), Hooks: []any{client}, Compressors: all})
		_, err := weft.Invoke[string](t.Context(), c, "Chat.Join", "alice")
		must(t, err)
		synctest.Wait()
		server.take()
		client.take()

		text := prose(100_000)
		_, down := traffic(w, func() {
			_, err := weft.Invoke[string](t.Context(), <-peers, "Inbox.Put", &text)
			must(t, err)
		})
		if got := <-in.got; got != text || down > 50_000 {
			t.Errorf("a request of %d bytes came as %d, which took %d", len(text), len(got), down)
		}
		synctest.Wait()
		for side, x := range map[string]struct {
			heard []string
			want  []string
		}{
			"server": {server.take(), []string{"BeforeWriteRequest Inbox.Put", "AfterWriteRequest Inbox.Put", "AfterReadReplyBody Inbox.Put"}},
			"client": {client.take(), []string{"AfterReadRequestHeader Inbox.Put", "BeforeReadRequestBody Inbox.Put", "AfterWriteReply Inbox.Put"}},
		} {
			for _, want := range x.want {
				if !slices.Contains(x.heard, want) {
					t.Errorf("the hooks of the %s have not heard %q", side, want)
				}
			}
		}
	})
}
