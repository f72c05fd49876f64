package unix_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/weftrpc/weft/transport/unix"
)

func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "weft")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "orders.sock")

	t := unix.New(nil)
	l, err := t.Listen(ctx, path)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer l.Close()
	info, _ := os.Lstat(path)
	fmt.Println(info.Mode())

	client, err := t.Dial(ctx, path)
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
	// Output:
	// Srw-------
	// hello <nil>
}
