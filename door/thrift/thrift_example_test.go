package thrift_test

import (
	"context"
	"fmt"
	"log"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/thrift"
)

// Operands are the parameters of a method: 1: i32 a, 2: i32 b.
type Operands struct {
	A int32 `thrift:"a,1"`
	B int32 `thrift:"b,2"`
}

func multiply(_ context.Context, o *Operands) (*int32, error) {
	product := o.A * o.B
	return &product, nil
}

// One server speaks Thrift beside weft's own wire, and a client calls it by Thrift.
func Example() {
	ctx := context.Background()
	srv := weft.NewServer(&weft.ServerConfig{Doors: []weft.Door{thrift.Door(nil)}})
	if err := weft.Handle(srv, "Calculator.Multiply", multiply); err != nil {
		log.Fatal(err)
	}
	l, err := srv.Listen(ctx, "tcp://127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(l) }() // it ends with the server

	c, err := weft.Dial(ctx, "thrift://"+l.Addr().String(), &weft.ClientConfig{Wires: []weft.Wire{thrift.Wire(nil)}})
	if err != nil {
		log.Fatal(err)
	}
	product, err := weft.Invoke[int32](ctx, c, "Calculator.multiply", &Operands{7, 8})
	fmt.Println(*product, err)
	c.Close()

	idl, err := thrift.IDL(srv.Services, nil)
	fmt.Print(idl, err, "\n")
	srv.Close()
	<-served
	// Output:
	// 56 <nil>
	// // In messages its name is "Calculator".
	// service Calculator {
	//   i32 Multiply(1: i32 a, 2: i32 b)
	// }
	// <nil>
}
