// Grpc serves weft's own wire and gRPC on one port, and calls it by both. Stock clients of
// gRPC can call it too, with greeter.proto or by reflection:
//
//	go run . -address tcp://127.0.0.1:50051 -serve
//	grpcurl -plaintext -d '{"text": "Ada"}' 127.0.0.1:50051 greeter.Greeter/Hello
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/grpc"
)

// Name and Greeting are messages of Protocol Buffers, by the numbers of their fields; see
// greeter.proto. Messages that protoc has generated do as well.
type (
	Name struct {
		Text string `weft:"1"`
	}
	Greeting struct {
		Text string `weft:"1"`
	}
)

// Args and Product have no numbers: those of their fields follow from the names.
type (
	Args    struct{ A, B int }
	Product struct{ C int }
)

func multiply(_ context.Context, a *Args) (*Product, error) { return &Product{C: a.A * a.B}, nil }

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
	serve := flag.Bool("serve", false, "serve until interrupted")
	to := flag.String("call", "", "call another server, such as grpc://127.0.0.1:50051, and serve nothing")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var err error
	if *to != "" {
		err = call(ctx, *to)
	} else {
		err = run(ctx, *address, *serve)
	}
	if err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, address string, serve bool) error {
	srv := weft.NewServer(&weft.ServerConfig{Doors: []weft.Door{grpc.Door(nil)}})
	if err := weft.Handle(srv, "greeter.Greeter.Hello", hello); err != nil {
		return err
	}
	// The method has another name in greeter.proto than in Go.
	if err := weft.HandleServerStream(srv, "greeter.Letters.Send", spell, grpc.Path("/greeter.Greeter/Spell")); err != nil {
		return err
	}
	if err := weft.Handle(srv, "Arith.Multiply", multiply, weft.Idempotent(), weft.Doc("Multiply returns the product of two numbers.")); err != nil {
		return err
	}
	// Clients may ask what there is.
	if err := grpc.RegisterReflection(srv); err != nil {
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
	for _, scheme := range []string{"tcp", "grpc"} {
		if err := call(ctx, scheme+"://"+l.Addr().String()); err != nil {
			return err
		}
	}
	return nil
}

// call calls the server by the wire that the address names.
func call(ctx context.Context, address string) error {
	c, err := weft.Dial(ctx, address, &weft.ClientConfig{Wires: []weft.Wire{grpc.Wire(nil)}})
	if err != nil {
		return err
	}
	defer c.Close()
	g, err := weft.Invoke[Greeting](ctx, c, "greeter.Greeter.Hello", &Name{"Ada"})
	if err != nil {
		return err
	}
	fmt.Printf("by %s: %s", c.Peer().Wire(), g.Text)
	method := "greeter.Letters.Send"
	if c.Peer().Wire() == "grpc" {
		method = "greeter.Greeter.Spell"
	}
	letters, err := weft.Subscribe[Greeting](ctx, c, method, &Name{"Ada"})
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
