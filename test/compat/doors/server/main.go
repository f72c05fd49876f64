// Command server is a weft server with the doors for HTTP and JSON-RPC, for clients in other
// languages. It prints its address and ends with its standard input.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/http"
	"github.com/weftrpc/weft/door/jsonrpc"
	"github.com/weftrpc/weft/schema"
)

// Args are the operands of Arith.
type Args struct {
	A int `json:"a" doc:"the first operand"`
	B int `json:"b" doc:"the second operand"`
}

// Node is a message that contains itself.
type Node struct {
	Name string         `json:"name"`
	Next []*Node        `json:"next,omitempty"`
	Meta map[string]any `json:"meta,omitempty"`
	Data []byte         `json:"data,omitempty"`
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "server:", err)
		os.Exit(1)
	}
}

func run() error {
	srv := weft.NewServer(&weft.ServerConfig{Logger: slog.New(slog.DiscardHandler), Doors: []weft.Door{
		http.Door(&http.Config{Handler: jsonrpc.Handler(nil), OpenAPI: &schema.Info{Title: "Compat", Version: "1"}}), jsonrpc.Door(nil)}})
	defer srv.Close()
	err := errors.Join(
		weft.Handle(srv, "Arith.Mul", func(_ context.Context, a *Args) (*int, error) {
			c := a.A * a.B
			return &c, nil
		}, weft.Idempotent(), weft.Doc("Mul multiplies.\n\nIt never fails."), http.Get("/mul/{a}/{b}")),
		weft.Handle(srv, "Arith.Div", func(_ context.Context, a *Args) (*float64, error) {
			if a.B == 0 {
				return nil, weft.Errorf(weft.InvalidArgument, "division by zero").WithReason("ZERO")
			}
			c := float64(a.A) / float64(a.B)
			return &c, nil
		}, http.Post("/div", http.Body("b"))),
		weft.Handle(srv, "Tree.Echo", func(_ context.Context, n *Node) (*Node, error) { return n, nil }, http.Put("/trees/{name}"), http.Put("/v1/{name=forests/*/trees/*}")),
		weft.HandleRaw(srv, "Bytes.Echo", func(_ context.Context, req, buf []byte) ([]byte, error) { return append(buf, req...), nil }),
		weft.HandleServerStream(srv, "Tree.Count", func(_ context.Context, a *Args, out *weft.Sender[Node]) error {
			for i := range a.A {
				if err := out.Send(&Node{Name: fmt.Sprint(i)}); err != nil {
					return err
				}
			}
			return nil
		}, weft.Idempotent()),
		weft.HandleClientStream(srv, "Tree.Sum", func(_ context.Context, in *weft.Receiver[Args]) (*int, error) {
			total := 0
			for a, err := range in.All() {
				if err != nil {
					return nil, err
				}
				total += a.A
			}
			return &total, nil
		}),
		weft.HandleStream(srv, "Tree.Talk", func(_ context.Context, s *weft.Stream[Node, Node]) error {
			for n, err := range s.All() {
				if err != nil {
					return err
				}
				if n.Name == "" {
					return weft.Errorf(weft.InvalidArgument, "a node without a name").WithReason("NAMELESS")
				}
				if err := s.Send(n); err != nil {
					return err
				}
			}
			return nil
		}),
	)
	if err != nil {
		return err
	}
	l, err := srv.Listen(context.Background(), "tcp://127.0.0.1:0")
	if err != nil {
		return err
	}
	// It ends with Close of the server.
	go srv.Serve(l)
	fmt.Println(l.Addr())
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}
