package weft_test

import (
	"context"
	"fmt"

	"github.com/weftrpc/weft"
)

type HelloRequest struct{ Name string }

type HelloReply struct{ Text string }

type Greeter struct{}

func (Greeter) Hello(_ context.Context, req *HelloRequest) (*HelloReply, error) {
	return &HelloReply{Text: "Hello, " + req.Name + "!"}, nil
}

// A server and a client, whole. A server of a program's own would call
// srv.ListenAndServe(ctx, "tcp://:8972"), which returns when ctx has ended and every
// call is done; here the system chooses the port.
func Example() {
	ctx := context.Background()

	srv := weft.NewServer(nil)
	if err := srv.Register(Greeter{}); err != nil {
		fmt.Println(err)
		return
	}
	l, err := srv.Listen(ctx, "tcp://127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	go srv.Serve(l) // this goroutine ends with the server
	defer srv.Shutdown(ctx)

	c, err := weft.Dial(ctx, l.Addr().String(), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()

	reply, err := weft.Invoke[HelloReply](ctx, c, "Greeter.Hello", &HelloRequest{Name: "weft"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(reply.Text)
	// Output: Hello, weft!
}
