package record_test

import (
	"context"
	"fmt"
	"os"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/plugin/record"
)

func Example() {
	if err := example(context.Background()); err != nil {
		fmt.Println(err)
	}
	// Output:
	// Greeter.Hello "Ada" "hello, Ada"
	// 1 of 1 calls were answered as before
}

func example(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	r, err := record.New(&record.Config{Dir: dir})
	if err != nil {
		return err
	}
	defer r.Close()
	srv := weft.NewServer(&weft.ServerConfig{Plugins: []weft.Plugin{r.Plugin()}})
	if err := weft.Handle(srv, "Greeter.Hello", func(_ context.Context, name *string) (*string, error) {
		text := "hello, " + *name
		return &text, nil
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
	name := "Ada"
	if _, err := weft.Invoke[string](ctx, c, "Greeter.Hello", &name); err != nil {
		return err
	}
	if err := r.Close(); err != nil {
		return err
	}

	recording, err := record.Open(dir)
	if err != nil {
		return err
	}
	for call, err := range recording.Calls() {
		if err != nil {
			return err
		}
		fmt.Println(call.Method, string(call.Request.Body), string(call.Reply.Body))
	}
	stats, err := record.Replay(ctx, dir, &record.ReplayConfig{Target: c})
	fmt.Printf("%d of %d calls were answered as before\n", stats.Equal, stats.Calls)
	return err
}
