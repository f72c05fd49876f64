package concurrency_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/plugin/concurrency"
)

func Example() {
	if err := example(context.Background()); err != nil {
		fmt.Println(err)
	}
	// Output:
	// ResourceExhausted Refused TOO_MANY_CALLS_IN_FLIGHT
}

func example(ctx context.Context) error {
	limiter, err := concurrency.New(&concurrency.Config{Limits: []concurrency.Limit{{By: concurrency.Address, Calls: 1}}})
	if err != nil {
		return err
	}
	srv := weft.NewServer(&weft.ServerConfig{Plugins: []weft.Plugin{limiter.Plugin()}})
	if err := weft.Handle(srv, "Greeter.Hello", func(ctx context.Context, name *string) (*string, error) {
		<-ctx.Done() // until the caller cancels the call
		return name, ctx.Err()
	}); err != nil {
		return err
	}
	l, err := srv.Listen(ctx, "tcp://127.0.0.1:0")
	if err != nil {
		return err
	}
	// It ends with Close.
	go srv.Serve(l)
	defer srv.Close()
	c, err := weft.Dial(ctx, l.Addr().String(), nil)
	if err != nil {
		return err
	}
	defer c.Close()
	first, cancel := context.WithCancel(ctx)
	call := c.Go(first, "Greeter.Hello", new("Ada"), new(string), nil)
	for limiter.InFlight(concurrency.Address) == 0 {
		time.Sleep(time.Millisecond)
	}
	err = c.Call(ctx, "Greeter.Hello", new("Bob"), nil)
	if e, ok := errors.AsType[*weft.Error](err); ok {
		fmt.Println(e.Code, e.Outcome, e.Reason)
	}
	cancel()
	<-call.Done
	return nil
}
