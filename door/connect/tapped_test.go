package connect_test

import (
	"context"
	"io"
	"log/slog"
	nethttp "net/http"
	"strings"
	"testing"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/connect"
	"github.com/weftrpc/weft/door/grpc"
)

// Taps have the sizes of requests whose length no header tells, and of streams, by Connect and by gRPC.
func TestSizes(t *testing.T) {
	srv := weft.NewServer(&weft.ServerConfig{Doors: connect.Doors(nil), Logger: slog.New(slog.DiscardHandler)})
	must(t, weft.Handle(srv, "Sizes.Echo", func(_ context.Context, n *Name) (*Name, error) { return n, nil }))
	must(t, weft.HandleStream(srv, "Sizes.All", func(_ context.Context, s *weft.Stream[Name, Name]) error {
		var last *Name
		for n, err := range s.All() {
			if err != nil {
				return err
			}
			last = n
		}
		return s.Send(last)
	}))
	l, err := srv.Listen(t.Context(), "tcp://127.0.0.1:0")
	must(t, err)
	served := make(chan error, 1)
	go func() { served <- srv.Serve(l) }() // it ends with the server
	defer func() {
		srv.Close()
		<-served
	}()
	type sizes struct{ request, reply int }
	seen := make(chan sizes, 10)
	defer srv.Tap(func(c *weft.TappedCall) { seen <- sizes{c.RequestSize, c.ReplySize} })()
	is := func(what string, want sizes) {
		t.Helper()
		if got := <-seen; got != want {
			t.Errorf("%s: a tap shows %+v bytes, want %+v", what, got, want)
		}
	}

	for _, http2 := range []bool{false, true} {
		transport := &nethttp.Transport{Protocols: new(nethttp.Protocols)}
		transport.Protocols.SetHTTP1(!http2)
		transport.Protocols.SetUnencryptedHTTP2(http2)
		const body = `{"text":"Ada"}`
		// A reader whose length is not known is sent in chunks.
		req, err := nethttp.NewRequestWithContext(t.Context(), nethttp.MethodPost, "http://"+l.Addr().String()+"/Sizes/Echo", io.MultiReader(strings.NewReader(body)))
		must(t, err)
		req.Header.Set("Content-Type", "application/json")
		answer, err := transport.RoundTrip(req)
		must(t, err)
		_, err = io.Copy(io.Discard, answer.Body)
		must(t, err)
		answer.Body.Close()
		transport.CloseIdleConnections()
		is("Connect in chunks", sizes{len(body), len(body)})
	}

	for address, wire := range map[string]weft.Wire{"connect+http": connect.Wire(nil), "grpc": grpc.Wire(nil)} {
		c, err := weft.Dial(t.Context(), address+"://"+l.Addr().String(), &weft.ClientConfig{Wires: []weft.Wire{wire}})
		must(t, err)
		s, err := weft.OpenStream[Name, Name](t.Context(), c, "Sizes.All")
		must(t, err)
		for range 3 {
			must(t, s.Send(&Name{Text: "Ada"}))
		}
		must(t, s.CloseSend())
		for _, err := range s.All() {
			must(t, err)
		}
		is("a stream by "+address, sizes{3 * len("\x0a\x03Ada"), len("\x0a\x03Ada")})
		c.Close()
	}
}
