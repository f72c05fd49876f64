// Command server is one of several servers of the same service. It registers itself
// with etcd, keeps its registration alive, and withdraws it before it drains.
//
//	go run ./examples/etcd/server -name ann
package main

import (
	"context"
	"errors"
	"flag"
	"log"
	"net"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/registry/etcd"
)

// The messages.
type (
	Hello    struct{ Name string }
	Greeting struct{ Text, Server string }
)

// listening is a hook that prints the address once the server listens on it.
type listening struct{}

// Listening is called by ListenAndServe.
func (listening) Listening(addr net.Addr) {
	log.Printf("serving on %s://%s", addr.Network(), addr)
}

func main() {
	log.SetFlags(0)
	endpoints := flag.String("registry", etcd.DefaultEndpoint, "the `addresses` of etcd, with commas between them")
	address := flag.String("address", "tcp://127.0.0.1:0", "the `address` to listen on; other machines need one that they can reach")
	name := flag.String("name", "ann", "the `name` of this server")
	flag.Parse()

	// Ctrl-C ends the context. The server then withdraws its registration and lets the
	// calls in flight finish.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, strings.Split(*endpoints, ","), *address, *name); err != nil {
		log.Fatal(err)
	}
	log.Print("all calls have ended")
}

func run(ctx context.Context, endpoints []string, address, name string) error {
	reg, err := etcd.New(etcd.Config{Endpoints: endpoints})
	if err != nil {
		return err
	}
	srv := weft.NewServer(&weft.ServerConfig{
		Registry: reg,
		Instance: weft.Instance{Tags: map[string]string{"name": name}}, // rules can match tags
		Hooks:    []any{listening{}},
	})
	err = weft.Handle(srv, "Greeter.Hello", func(_ context.Context, req *Hello) (*Greeting, error) {
		return &Greeting{Text: "Hello, " + req.Name + "!", Server: name}, nil
	})
	if err == nil {
		err = srv.ListenAndServe(ctx, address)
	}
	return errors.Join(err, reg.Close())
}
