package tee_test

import (
	"context"
	"fmt"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/plugin/tee"
)

func Example() {
	if err := example(context.Background()); err != nil {
		fmt.Println(err)
	}
	// Output:
	// hello, Ada
	// Greeter.Hello: 0 of 1 copies were answered alike
}

// greeter serves one method until the function that it returns is called.
func greeter(ctx context.Context, greeting string, plugins ...weft.Plugin) (c *weft.Client, stop func(), err error) {
	srv := weft.NewServer(&weft.ServerConfig{Plugins: plugins})
	if err := weft.Handle(srv, "Greeter.Hello", func(_ context.Context, name *string) (*string, error) {
		text := greeting + ", " + *name
		return &text, nil
	}); err != nil {
		return nil, nil, err
	}
	l, err := srv.Listen(ctx, "tcp://127.0.0.1:0")
	if err != nil {
		return nil, nil, err
	}
	// It ends with Close.
	go srv.Serve(l)
	if c, err = weft.Dial(ctx, l.Addr().String(), nil); err != nil {
		srv.Close()
		return nil, nil, err
	}
	return c, func() { c.Close(); srv.Close() }, nil
}

func example(ctx context.Context) error {
	next, stop, err := greeter(ctx, "good morning")
	if err != nil {
		return err
	}
	defer stop()
	t, err := tee.New(&tee.Config{Target: next, Percent: 100, Methods: []string{"Greeter.*"}})
	if err != nil {
		return err
	}
	defer t.Close()
	c, stop, err := greeter(ctx, "hello", t.Plugin())
	if err != nil {
		return err
	}
	defer stop()
	name := "Ada"
	reply, err := weft.Invoke[string](ctx, c, "Greeter.Hello", &name)
	if err != nil {
		return err
	}
	fmt.Println(*reply)
	for len(t.Stats().Methods) == 0 {
		time.Sleep(time.Millisecond)
	}
	m := t.Stats().Methods[0]
	fmt.Printf("%s: %d of %d copies were answered alike\n", m.Method, m.Equal, m.Copies)
	return nil
}
