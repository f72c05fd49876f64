package reserve_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/plugin/reserve"
)

func Example() {
	if err := example(context.Background()); err != nil {
		fmt.Println(err)
	}
	// Output:
	// the handler has less time than its caller: true
	// DeadlineExceeded Refused DEADLINE_TOO_SHORT
}

func example(ctx context.Context) error {
	r, err := reserve.New(&reserve.Config{Percent: 10, AtLeast: time.Minute, AtMost: time.Hour})
	if err != nil {
		return err
	}
	srv := weft.NewServer(&weft.ServerConfig{Plugins: []weft.Plugin{r.Plugin()}})
	if err := weft.Handle(srv, "Greeter.Hello", func(ctx context.Context, name *string) (*string, error) {
		until, _ := ctx.Deadline()
		fmt.Println("the handler has less time than its caller:", time.Until(until) < 54*time.Minute)
		return name, nil
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
	if err := c.Call(ctx, "Greeter.Hello", new("Ada"), nil, weft.WithTimeout(time.Hour)); err != nil {
		return err
	}
	err = c.Call(ctx, "Greeter.Hello", new("Ada"), nil, weft.WithTimeout(30*time.Second))
	if e, ok := errors.AsType[*weft.Error](err); ok {
		fmt.Println(e.Code, e.Outcome, e.Reason)
	}
	return nil
}
