package accesslog_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/plugin/accesslog"
)

func Example() {
	ctx := context.Background()
	few := func(_ []string, a slog.Attr) slog.Attr { // what is the same in every run
		switch a.Key {
		case "level", "call", "method", "code", "wire":
			return a
		}
		return slog.Attr{}
	}
	p, err := accesslog.New(&accesslog.Config{Logger: slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: few}))})
	if err != nil {
		fmt.Println(err)
		return
	}
	srv := weft.NewServer(&weft.ServerConfig{Plugins: []weft.Plugin{p}})
	if err := weft.Handle(srv, "Greeter.Hello", func(_ context.Context, name *string) (*string, error) { return name, nil }); err != nil {
		fmt.Println(err)
		return
	}
	l, err := srv.Listen(ctx, "tcp://127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	// It ends with Close.
	go srv.Serve(l)
	defer srv.Close()
	c, err := weft.Dial(ctx, l.Addr().String(), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	if _, err := weft.Invoke[string](ctx, c, "Greeter.Hello", "Ada"); err != nil {
		fmt.Println(err)
	}
	// Output: level=INFO call=answered method=Greeter.Hello code=OK wire=weft
}
