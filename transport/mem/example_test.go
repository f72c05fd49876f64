package mem_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"syscall"

	"github.com/weftrpc/weft/transport/mem"
)

func Example() {
	ctx := context.Background()
	network := mem.New()
	l, err := network.Listen(ctx, "orders")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer l.Close()

	client, err := network.Dial(ctx, "orders")
	if err != nil {
		fmt.Println(err)
		return
	}
	io.WriteString(client, "hello")
	client.Close()

	server, _ := l.Accept()
	b, err := io.ReadAll(server)
	fmt.Printf("%s %v\n", b, err)

	_, err = network.Dial(ctx, "invoices")
	fmt.Println(err)
	// Output:
	// hello <nil>
	// dial mem invoices: connection refused
}

// A request is cut at each of its bytes.
func ExamplePipe() {
	for n := range int64(4) {
		client, server := mem.Pipe(nil)
		client.Out().CutAfter(n)
		client.Write([]byte("ping"))
		got, err := io.ReadAll(server)
		fmt.Printf("%q %v\n", got, errors.Is(err, syscall.ECONNRESET))
	}
	// Output:
	// "" true
	// "p" true
	// "pi" true
	// "pin" true
}

// The third byte the server sends is damaged, on every connection.
func ExampleNetwork_Intercept() {
	network := mem.New()
	network.Intercept(func(addr string, client, server *mem.Conn) error {
		server.Out().FlipBit(2, 0)
		return nil
	})
	l, _ := network.Listen(context.Background(), "orders")
	client, _ := network.Dial(context.Background(), "orders")
	server, _ := l.Accept()
	io.WriteString(server, "hello")
	server.Close()
	b, _ := io.ReadAll(client)
	fmt.Printf("%s\n", b)
	// Output: hemlo
}
