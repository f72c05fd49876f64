package rpcx_test

import (
	"context"
	"fmt"
	"log"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/rpcx"
)

// A server for clients of rpcx and of weft on one port, and a client of weft that
// calls it as it would call a server of rpcx.
func ExampleDoor() {
	ctx := context.Background()
	srv := weft.NewServer(&weft.ServerConfig{Doors: []weft.Door{rpcx.Door(nil)}})
	check(weft.Handle(srv, "Arith.Mul", func(_ context.Context, a *Args) (*Reply, error) { return &Reply{a.A * a.B}, nil }))
	l, err := srv.Listen(ctx, "tcp://127.0.0.1:0")
	check(err)
	go srv.Serve(l)
	defer srv.Shutdown(ctx)

	c, err := weft.Dial(ctx, "rpcx://"+l.Addr().String(), &weft.ClientConfig{Wires: []weft.Wire{rpcx.Wire(nil)}})
	check(err)
	defer c.Close()
	product, err := weft.Invoke[Reply](ctx, c, "Arith.Mul", &Args{7, 8})
	check(err)
	fmt.Println(product.C, c.Peer().Wire())
	err = c.Call(ctx, "Arith.Add", &Args{7, 8}, product)
	fmt.Println(weft.CodeOf(err))
	// Output:
	// 56 rpcx
	// Unimplemented
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
