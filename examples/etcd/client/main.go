// Command client finds the servers of a service in etcd and spreads its calls over
// them. Start and stop servers while it runs: it follows within a moment.
//
//	go run ./examples/etcd/client
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/cluster"
	"github.com/weftrpc/weft/registry/etcd"
)

// Hello and Greeting have the fields of the server's types.
type (
	Hello    struct{ Name string }
	Greeting struct{ Text, Server string }
)

func main() {
	log.SetFlags(0)
	endpoints := flag.String("registry", etcd.DefaultEndpoint, "the `addresses` of etcd, with commas between them")
	calls := flag.Int("calls", 0, "the `number` of calls; 0: until it is interrupted")
	every := flag.Duration("every", time.Second, "the `time` between two calls")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, strings.Split(*endpoints, ","), *calls, *every); err != nil {
		log.Fatal(err)
	}
}

// run makes the calls. Of a call that fails it prints the error and goes on; it returns
// an error if the last call failed.
func run(ctx context.Context, endpoints []string, calls int, every time.Duration) (err error) {
	reg, err := etcd.New(etcd.Config{Endpoints: endpoints})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, reg.Close()) }()
	c, err := cluster.New(&cluster.Config{Registry: reg})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	for n := 1; calls == 0 || n <= calls; n++ {
		greeting, failed := weft.Invoke[Greeting](ctx, c, "Greeter.Hello", &Hello{Name: "Ada"})
		switch {
		case ctx.Err() != nil:
			return nil // interrupted
		case failed != nil:
			fmt.Println(failed)
		default:
			fmt.Printf("%s This is %s.\n", greeting.Text, greeting.Server)
		}
		if err = failed; n == calls {
			break
		}
		select {
		case <-time.After(every):
		case <-ctx.Done():
			return nil
		}
	}
	return err
}
