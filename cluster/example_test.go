package cluster_test

import (
	"context"
	"fmt"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/cluster"
	"github.com/weftrpc/weft/registry/memory"
)

type greeter struct{}

// Hello greets by name.
func (greeter) Hello(_ context.Context, name *string) (*string, error) {
	text := "Hello, " + *name
	return &text, nil
}

// Servers register themselves, and a client finds them by the name of the service.
// With memory replaced by etcd, zookeeper, consul, redis or nacos, they can be
// anywhere.
func Example() {
	reg, err := memory.New(nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer reg.Close()

	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	srv := weft.NewServer(&weft.ServerConfig{Registry: reg})
	if err := srv.RegisterName("Greeter", greeter{}); err != nil {
		fmt.Println(err)
		return
	}
	ended := make(chan error, 1)
	go func() { ended <- srv.ListenAndServe(ctx, "tcp://127.0.0.1:0") }() // it ends with ctx

	c, err := cluster.New(&cluster.Config{Registry: reg})
	if err != nil {
		fmt.Println(err)
		return
	}
	for tries := 0; ; tries++ {
		text, err := weft.Invoke[string](ctx, c, "Greeter.Hello", new("weft"))
		if weft.CodeOf(err) == weft.Unavailable && tries < 100 {
			continue // the server is still starting
		}
		if err != nil {
			fmt.Println(err)
			break
		}
		fmt.Println(*text)
		break
	}
	c.Close()
	stop()
	if err := <-ended; err != nil {
		fmt.Println(err)
	}
	// Output: Hello, weft
}
