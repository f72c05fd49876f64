package jsonrpc_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/jsonrpc"
	"github.com/weftrpc/weft/transport/mem"
)

// FuzzServer sends a server any bytes: what it answers is JSON, it ends the connection when the
// client does, and is well afterwards.
func FuzzServer(f *testing.F) {
	b, err := os.ReadFile("testdata/specification.txt")
	if err != nil {
		f.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		if text, ok := strings.CutPrefix(line, "--> "); ok {
			f.Add([]byte(text))
		}
	}
	network := mem.New()
	srv := weft.NewServer(&weft.ServerConfig{Doors: []weft.Door{jsonrpc.Door(&jsonrpc.Config{Service: "Spec"})}, Logger: slog.New(slog.DiscardHandler),
		Limits: weft.Limits{MaxMessage: 1 << 16, HandshakeTimeout: time.Minute}})
	for _, err := range []error{
		weft.Handle(srv, "Spec.subtract", func(_ context.Context, o *operands) (*operands, error) { return o, nil }),
		weft.Handle(srv, "Spec.sum", func(_ context.Context, s *Sum) (*Sum, error) { return s, nil }),
		weft.Handle(srv, "Spec.get_data", func(context.Context, *struct{}) (*[]any, error) { return &[]any{"hello", 5}, nil }),
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
	f.Fuzz(func(t *testing.T, b []byte) {
		conn, err := network.Dial(t.Context(), "server")
		must(t, err)
		defer conn.Close()
		must(t, conn.SetDeadline(time.Now().Add(20*time.Second)))
		_, _ = conn.Write(b) // the server may have closed it
		if h, ok := conn.(interface{ CloseWrite() error }); ok {
			_ = h.CloseWrite()
		}
		got, err := io.ReadAll(conn)
		if err != nil && strings.Contains(err.Error(), "timeout") {
			t.Error("the server did not end the connection")
		}
		for line := range strings.Lines(string(got)) {
			if err == nil && !json.Valid([]byte(line)) {
				t.Errorf("%q was answered", line)
			}
		}
		good, err := network.Dial(t.Context(), "server")
		must(t, err)
		defer good.Close()
		must(t, good.SetDeadline(time.Now().Add(20*time.Second)))
		_, err = io.WriteString(good, `{"jsonrpc":"2.0","method":"sum","params":[1],"id":1}`)
		must(t, err)
		if line, err := bufio.NewReader(good).ReadString('\n'); line != `{"jsonrpc":"2.0","id":1,"result":[1]}`+"\n" {
			t.Errorf("afterwards: %q, %v", line, err)
		}
	})
}
