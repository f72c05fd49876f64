package transport_test

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/weftrpc/weft/transport"
	"github.com/weftrpc/weft/transport/mem"
	"github.com/weftrpc/weft/transport/tcp"
	"github.com/weftrpc/weft/transport/unix"
)

// A program picks a transport by the scheme of an address, from the ones it was
// given.
func Example() {
	ctx := context.Background()
	byScheme := make(map[string]transport.Transport)
	for _, t := range []transport.Transport{tcp.New(nil), unix.New(nil), mem.New()} {
		byScheme[t.Scheme()] = t
	}

	scheme, addr, _ := strings.Cut("tcp://127.0.0.1:0", "://")
	l, err := byScheme[scheme].Listen(ctx, addr)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer l.Close()

	client, err := byScheme[scheme].Dial(ctx, l.Addr().String())
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
