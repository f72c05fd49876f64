package netrpc_test

import (
	"context"
	"fmt"
	"log"
	"net/rpc"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/netrpc"
)

// Args and Arith are as net/rpc has them.
type (
	Args  struct{ A, B int }
	Arith struct{}
)

// Multiply has the shape of net/rpc.
func (Arith) Multiply(args *Args, reply *int) error {
	*reply = args.A * args.B
	return nil
}

// A client of the standard library and one of weft call the same server, on one port.
func ExampleDoor() {
	ctx := context.Background()
	srv := weft.NewServer(&weft.ServerConfig{Doors: []weft.Door{netrpc.Door()}})
	check(srv.Register(Arith{}))
	l, err := srv.Listen(ctx, "tcp://127.0.0.1:0")
	check(err)
	go srv.Serve(l)
	defer srv.Shutdown(ctx)

	old, err := rpc.Dial("tcp", l.Addr().String())
	check(err)
	defer old.Close()
	var product int
	check(old.Call("Arith.Multiply", &Args{7, 8}, &product))
	fmt.Println(product)

	c, err := weft.Dial(ctx, "tcp://"+l.Addr().String(), nil)
	check(err)
	defer c.Close()
	p, err := weft.Invoke[int](ctx, c, "Arith.Multiply", &Args{6, 7})
	check(err)
	fmt.Println(*p)
	// Output:
	// 56
	// 42
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
