package tcp_test

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/weftrpc/weft/transport/tcp"
)

func Example() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	// Notice a vanished peer after 5 seconds rather than 15.
	t := tcp.New(&tcp.Config{PeerTimeout: 5 * time.Second})

	l, err := t.Listen(ctx, "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer l.Close()

	client, err := t.Dial(ctx, l.Addr().String())
	if err != nil {
		fmt.Println(err)
		return
	}
	io.WriteString(client, "hello")
	client.Close()

	server, err := l.Accept()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer server.Close()
	b, err := io.ReadAll(server)
	fmt.Printf("%s %v\n", b, err)
	// Output: hello <nil>
}
