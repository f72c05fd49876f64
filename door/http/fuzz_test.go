package http_test

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	nethttp "net/http"
	"strings"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/http"
	"github.com/weftrpc/weft/transport/mem"
)

// FuzzRequest sends a server any bytes behind the first word of a request: it answers each whole
// request, or ends the connection, and is well afterwards.
func FuzzRequest(f *testing.F) {
	for _, s := range []string{
		" /users/7?name=x&tags=a HTTP/1.1\r\nHost: x\r\n\r\n",
		" /Users/Get HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 8\r\n\r\n{\"id\":1}",
		" /Users/Get HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n8\r\n{\"id\":1}\r\n0\r\n\r\n",
		" /Stream/Sum HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-ndjson\r\nContent-Length: 10\r\n\r\n{}\n{\"id\":1",
		" /Stream/Count?id=3 HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\n\r\n",
		" /Users/Get HTTP/1.1\r\nHost: x\r\nWeft-Timeout: 1\r\nWeft-Meta-a: b\r\nWeft-Bin-c: AA\r\nOrigin: null\r\n\r\n",
		" /openapi.json HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
	} {
		f.Add(true, s)
		f.Add(false, s)
	}
	network := mem.New()
	srv := weft.NewServer(&weft.ServerConfig{Doors: []weft.Door{http.Door(nil)}, Logger: slog.New(slog.DiscardHandler),
		Limits: weft.Limits{MaxMessage: 1 << 16, HandshakeTimeout: time.Minute}, Timeout: time.Minute})
	same := func(_ context.Context, u *User) (*User, error) { return u, nil }
	for _, err := range []error{
		weft.Handle(srv, "Users.Get", same, weft.Idempotent(), http.Get("/users/{id}"), http.Put("/users/{name...}", http.Body("address"))),
		weft.HandleServerStream(srv, "Stream.Count", func(ctx context.Context, u *User, out *weft.Sender[User]) error {
			u.ID = min(u.ID, 10)
			return count(ctx, u, out)
		}, weft.Idempotent()),
		weft.HandleClientStream(srv, "Stream.Sum", sum),
		weft.HandleStream(srv, "Stream.Echo", echo),
	} {
		if err != nil {
			f.Fatal(err)
		}
	}
	l, err := network.Listen(f.Context(), "server")
	if err != nil {
		f.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(l) }() // it ends with the server
	f.Cleanup(func() {
		srv.Close()
		<-served
	})
	f.Fuzz(func(t *testing.T, post bool, rest string) {
		conn, err := network.Dial(t.Context(), "server")
		must(t, err)
		defer conn.Close()
		verb := "GET"
		if post {
			verb = "POST"
		}
		conn.SetDeadline(time.Now().Add(20 * time.Second))
		_, _ = io.WriteString(conn, verb+rest) // the server may have closed it
		if h, ok := conn.(interface{ CloseWrite() error }); ok {
			_ = h.CloseWrite()
		}
		if _, err := io.Copy(io.Discard, conn); err != nil && strings.Contains(err.Error(), "timeout") {
			t.Error("the server neither answered nor ended the connection")
		}
		good, err := network.Dial(t.Context(), "server")
		must(t, err)
		defer good.Close()
		must(t, good.SetDeadline(time.Now().Add(20*time.Second)))
		_, err = io.WriteString(good, "GET /users/7 HTTP/1.1\r\nHost: x\r\n\r\n")
		must(t, err)
		answer, err := nethttp.ReadResponse(bufio.NewReader(good), nil)
		must(t, err)
		body, err := io.ReadAll(answer.Body)
		if string(body) != `{"id":7}` || err != nil {
			t.Errorf("afterwards: %s %s, %v", answer.Status, body, err)
		}
	})
}
