// Command arith calls a calculator over the network.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"

	"github.com/weftrpc/weft"
)

// Args are two numbers, Quotient is what their division gives.
type (
	Args     struct{ A, B int }
	Quotient struct{ Quo, Rem int }
)

// Arith is the service.
type Arith int

// Multiply multiplies.
func (t *Arith) Multiply(args *Args, reply *int) error {
	*reply = args.A * args.B
	return nil
}

// Divide divides.
func (t *Arith) Divide(args *Args, quo *Quotient) error {
	if args.B == 0 {
		return errors.New("divide by zero")
	}
	quo.Quo = args.A / args.B
	quo.Rem = args.A % args.B
	return nil
}

func serve() (net.Addr, error) {
	server := weft.NewServer(nil)
	if err := server.Register(new(Arith)); err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	// This goroutine ends with the program.
	go server.Serve(l)
	return l.Addr(), nil
}

func main() {
	ctx := context.Background()
	addr, err := serve()
	if err != nil {
		log.Fatal("listen: ", err)
	}
	client, err := weft.Dial(ctx, addr.String(), nil)
	if err != nil {
		log.Fatal("dialing: ", err)
	}

	// Synchronous call
	args := &Args{17, 8}
	var reply int
	err = client.Call(ctx, "Arith.Multiply", args, &reply)
	if err != nil {
		log.Fatal("arith error: ", err)
	}
	fmt.Printf("Arith: %d*%d=%d\n", args.A, args.B, reply)

	// Asynchronous call
	quotient := new(Quotient)
	divCall := client.Go(ctx, "Arith.Divide", args, quotient, nil)
	replyCall := <-divCall.Done // will be equal to divCall
	if replyCall.Error != nil {
		log.Fatal("arith error: ", replyCall.Error)
	}
	fmt.Printf("Arith: %d/%d=%d remainder %d\n", args.A, args.B, quotient.Quo, quotient.Rem)

	// An error
	err = client.Call(ctx, "Arith.Divide", &Args{17, 0}, quotient)
	if err == nil {
		log.Fatal("17/0 is a number")
	}
	fmt.Println("Arith:", err)
}
