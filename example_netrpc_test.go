package weft_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/weftrpc/weft" // was: "net/rpc"
)

// Quotient and Calculator are those of the example in package net/rpc, unchanged.
type Quotient struct{ Quo, Rem int }

type Calculator int

func (t *Calculator) Multiply(args *Args, reply *int) error {
	*reply = args.A * args.B
	return nil
}

func (t *Calculator) Divide(args *Args, quo *Quotient) error {
	if args.B == 0 {
		return errors.New("divide by zero")
	}
	quo.Quo, quo.Rem = args.A/args.B, args.A%args.B
	return nil
}

// A program that uses net/rpc moves over: its services stay as they are, its calls
// get a context in front.
func Example_migrateFromNetRPC() {
	ctx := context.Background()
	srv := weft.NewServer(nil)
	srv.Register(new(Calculator))                  // was: rpc.Register(new(Calculator))
	l, err := srv.Listen(ctx, "tcp://127.0.0.1:0") // was: net.Listen("tcp", …)
	if err != nil {
		fmt.Println(err)
		return
	}
	go srv.Serve(l) // was: rpc.Accept(l). This goroutine ends with the server.
	defer srv.Close()

	client, err := weft.Dial(ctx, l.Addr().String(), nil) // was: rpc.Dial("tcp", address)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()

	var product int // was: client.Call("Calculator.Multiply", …)
	err = client.Call(ctx, "Calculator.Multiply", &Args{7, 8}, &product)
	fmt.Println(product, err)

	call := client.Go(ctx, "Calculator.Divide", &Args{17, 5}, new(Quotient), nil)
	<-call.Done
	fmt.Println(*call.Reply.(*Quotient), call.Error)

	err = client.Call(ctx, "Calculator.Divide", &Args{1, 0}, new(Quotient))
	fmt.Println(errors.Is(err, weft.Unknown)) // an error without a code
	// Output:
	// 56 <nil>
	// {3 2} <nil>
	// true
}
