// Command client calls the server beside it.
//
//	go run ./examples/hello/client -name Ada
package main

import (
	"context"
	"flag"
	"fmt"
	"log"

	"github.com/weftrpc/weft"
)

// Hello and Greeting have the fields of the server's types: the two sides agree on
// the names of fields, not on a Go package.
type (
	Hello    struct{ Name string }
	Greeting struct{ Text string }
)

func main() {
	log.SetFlags(0)
	address := flag.String("address", "tcp://127.0.0.1:8972", "where the server listens")
	name := flag.String("name", "world", "the name in the greeting")
	flag.Parse()
	if err := run(context.Background(), *address, *name); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, address, name string) error {
	c, err := weft.Dial(ctx, address, nil)
	if err != nil {
		return err
	}
	defer c.Close()
	greeting, err := weft.Invoke[Greeting](ctx, c, "Greeter.Hello", &Hello{Name: name})
	if err != nil {
		return err
	}
	fmt.Println(greeting.Text)
	return nil
}
