// Connect serves weft's own wire, Connect, gRPC-Web, gRPC and HTTP with JSON on one port, and calls it by
// three of them. With -serve it stays, for curl and for pages in browsers:
//
//	go run . -address tcp://127.0.0.1:8080 -serve
//	curl -d '{"text":"Ada"}' -H 'Content-Type: application/json' http://127.0.0.1:8080/greeter.Greeter/Hello
//	curl 'http://127.0.0.1:8080/greeter.Greeter/Hello?connect=v1&encoding=json&message=%7B%22text%22:%22Ada%22%7D'
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/connect"
	"github.com/weftrpc/weft/door/http"
)

// Name and Greeting are messages of JSON, and of Protocol Buffers by the numbers of their fields.
type (
	Name struct {
		Text string `json:"text" weft:"1"`
	}
	Greeting struct {
		Text string `json:"text" weft:"1"`
	}
)

func hello(_ context.Context, n *Name) (*Greeting, error) {
	if n.Text == "" {
		return nil, weft.Errorf(weft.InvalidArgument, "the name is empty")
	}
	return &Greeting{Text: "Hello, " + n.Text + "!"}, nil
}

// spell sends the letters of a name one by one.
func spell(_ context.Context, n *Name, out *weft.Sender[Greeting]) error {
	for _, r := range n.Text {
		if err := out.Send(&Greeting{Text: string(r)}); err != nil {
			return err
		}
	}
	return nil
}

func main() {
	address := flag.String("address", "tcp://127.0.0.1:0", "where to listen")
	origin := flag.String("origin", "http://localhost:5173", "the origin of pages that may call")
	serve := flag.Bool("serve", false, "serve until interrupted")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *address, *origin, *serve); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, address, origin string, serve bool) error {
	srv := weft.NewServer(&weft.ServerConfig{Doors: connect.Doors(&connect.Config{Origins: []string{origin}, HTTP: &http.Config{}})})
	if err := weft.Handle(srv, "greeter.Greeter.Hello", hello, weft.Idempotent()); err != nil {
		return err
	}
	if err := weft.HandleServerStream(srv, "greeter.Greeter.Spell", spell); err != nil {
		return err
	}
	l, err := srv.Listen(ctx, address)
	if err != nil {
		return err
	}
	served := make(chan error, 1)
	// It ends when the server does.
	go func() { served <- srv.Serve(l) }()
	defer func() {
		_ = srv.Shutdown(context.WithoutCancel(ctx))
		<-served
	}()
	if serve {
		fmt.Println("serving on", l.Addr())
		<-ctx.Done()
		return nil
	}
	for name, wire := range map[string]weft.Wire{"HTTP/1.1": connect.Wire(nil), "HTTP/2": connect.Wire(&connect.WireConfig{HTTP2: true})} {
		if err := call(ctx, name, "connect+http://"+l.Addr().String(), wire); err != nil {
			return err
		}
	}
	return nil
}

// call calls the server by a wire.
func call(ctx context.Context, name, address string, wire weft.Wire) error {
	c, err := weft.Dial(ctx, address, &weft.ClientConfig{Wires: []weft.Wire{wire}})
	if err != nil {
		return err
	}
	defer c.Close()
	g, err := weft.Invoke[Greeting](ctx, c, "greeter.Greeter.Hello", &Name{"Ada"})
	if err != nil {
		return err
	}
	fmt.Printf("by Connect over %s: %s", name, g.Text)
	letters, err := weft.Subscribe[Greeting](ctx, c, "greeter.Greeter.Spell", &Name{"Ada"})
	if err != nil {
		return err
	}
	for m, err := range letters.All() {
		if err != nil {
			return err
		}
		fmt.Print(" ", m.Text)
	}
	fmt.Println()
	err = c.Call(ctx, "greeter.Greeter.Hello", &Name{}, nil)
	if weft.CodeOf(err) != weft.InvalidArgument {
		return fmt.Errorf("a call without a name: %v", err)
	}
	return nil
}
