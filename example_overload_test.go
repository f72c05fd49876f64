package weft_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/transport"
	"github.com/weftrpc/weft/transport/mem"
)

// A server refuses what it cannot do in time, here more than one call of a method at a time.
// Its caller is told so at once, and when to try again.
func ExampleMethodLimit() {
	network := []transport.Transport{mem.New()}
	srv := weft.NewServer(&weft.ServerConfig{Transports: network})
	begun, release := make(chan bool), make(chan bool)
	err := weft.Handle(srv, "Export.All", func(ctx context.Context, _ *Args) (*Product, error) {
		fmt.Println("exporting for a call of priority", weft.PriorityFrom(ctx))
		begun <- true
		<-release
		return &Product{C: 1}, nil
	}, weft.MethodLimit(1))
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	ended := make(chan error)
	listening, err := srv.Listen(ctx, "mem://export")
	if err != nil {
		fmt.Println(err)
		return
	}
	go func() { ended <- srv.Serve(listening) }() // it ends with the server

	c, err := weft.Dial(ctx, "mem://export", &weft.ClientConfig{Transports: network})
	if err != nil {
		fmt.Println(err)
		return
	}
	first := c.Go(weft.WithPriority(ctx, weft.PrioritySheddable), "Export.All", &Args{}, &Product{}, nil)
	<-begun

	err = c.Call(ctx, "Export.All", &Args{}, &Product{})
	if e, ok := errors.AsType[*weft.Error](err); ok {
		wait, _ := e.RetryAfter()
		fmt.Println(e.Code, e.Outcome, e.Reason, "again after", wait)
	}
	fmt.Println("refused:", srv.Stats().Refused[weft.ReasonOverloadMethod])

	close(release)
	fmt.Println("the first call:", (<-first.Done).Error)
	c.Close()

	drain, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	srv.Shutdown(drain)
	<-ended
	// Output:
	// exporting for a call of priority sheddable
	// ResourceExhausted Refused OVERLOAD_METHOD again after 100ms
	// refused: 1
	// the first call: <nil>
}
