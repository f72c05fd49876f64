package grpc_test

import (
	"context"
	"fmt"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/grpc"
)

// Name and Greeting are the messages of a greeter. Their numbers make them Protocol Buffers.
type (
	Name struct {
		Text string `weft:"1"`
	}
	Greeting struct {
		Text string `weft:"1"`
	}
)

// A server that takes calls by gRPC on the port of its own wire, and a client of it.
func Example() {
	srv := weft.NewServer(&weft.ServerConfig{Doors: []weft.Door{grpc.Door(nil)}})
	err := weft.Handle(srv, "helloworld.Greeter.SayHello", func(_ context.Context, n *Name) (*Greeting, error) {
		return &Greeting{"Hello " + n.Text}, nil
	})
	if err != nil {
		panic(err)
	}
	l, err := srv.Listen(context.Background(), "tcp://127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(l) }() // it ends with the server

	c, err := weft.Dial(context.Background(), "grpc://"+l.Addr().String(), &weft.ClientConfig{Wires: []weft.Wire{grpc.Wire(nil)}})
	if err != nil {
		panic(err)
	}
	g, err := weft.Invoke[Greeting](context.Background(), c, "helloworld.Greeter.SayHello", &Name{"Ada"})
	fmt.Println(g.Text, err)
	c.Close()
	srv.Close()
	<-served
	// Output: Hello Ada <nil>
}
