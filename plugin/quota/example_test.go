package quota_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/plugin/quota"
)

func Example() {
	if err := example(context.Background()); err != nil {
		fmt.Println(err)
	}
	// Output:
	// <nil>
	// ResourceExhausted Refused QUOTA_EXCEEDED
}

func example(ctx context.Context) error {
	q, err := quota.New(&quota.Config{Quotas: []quota.Quota{{By: quota.Method, Calls: 1, Every: 10_000 * time.Hour}}})
	if err != nil {
		return err
	}
	srv := weft.NewServer(&weft.ServerConfig{Plugins: []weft.Plugin{q.Plugin()}})
	if err := weft.Handle(srv, "Greeter.Hello", func(_ context.Context, name *string) (*string, error) {
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
	fmt.Println(c.Call(ctx, "Greeter.Hello", new("Ada"), nil))
	err = c.Call(ctx, "Greeter.Hello", new("Ada"), nil)
	if e, ok := errors.AsType[*weft.Error](err); ok {
		fmt.Println(e.Code, e.Outcome, e.Reason)
	}
	return nil
}
