// Command server is the smallest server: one typed function, served until the
// program is interrupted.
//
//	go run ./examples/hello/server
package main

import (
	"context"
	"flag"
	"log"
	"net"
	"os"
	"os/signal"
	"syscall"

	"github.com/weftrpc/weft"
)

// Hello is the request and Greeting the reply: any Go types will do.
type (
	Hello    struct{ Name string }
	Greeting struct{ Text string }
)

func greet(ctx context.Context, req *Hello) (*Greeting, error) {
	if req.Name == "" {
		return nil, weft.Errorf(weft.InvalidArgument, "the name is empty")
	}
	return &Greeting{Text: "Hello, " + req.Name + "!"}, nil
}

// listening is a hook that prints the address once the server listens on it.
type listening struct{}

// Listening is called by ListenAndServe.
func (listening) Listening(addr net.Addr) {
	log.Printf("serving on %s://%s", addr.Network(), addr)
}

func main() {
	log.SetFlags(0)
	address := flag.String("address", "tcp://127.0.0.1:8972", "where to listen")
	flag.Parse()

	// Ctrl-C ends the context; the server then lets the calls in flight finish.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()

	srv := weft.NewServer(&weft.ServerConfig{Hooks: []any{listening{}}})
	if err := weft.Handle(srv, "Greeter.Hello", greet); err != nil {
		log.Fatal(err)
	}
	if err := srv.ListenAndServe(ctx, *address); err != nil {
		log.Fatal(err)
	}
	log.Print("all calls have ended")
}
