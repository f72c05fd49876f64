package validate_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/plugin/internal/plugintest"
	"github.com/weftrpc/weft/plugin/validate"
)

func TestServer(t *testing.T) {
	w := plugintest.Serve(t, &weft.ServerConfig{Plugins: []weft.Plugin{validate.Plugin()}})
	c := w.Dial(t, nil)
	if err := c.Call(t.Context(), "Arith.Mul", &plugintest.Args{A: 1000}, nil); err != nil {
		t.Error(err)
	}
	err := c.Call(t.Context(), "Arith.Mul", &plugintest.Args{A: 1001}, nil)
	e, ok := errors.AsType[*weft.Error](err)
	if !ok || e.Code != weft.InvalidArgument || e.Reason != validate.Reason || !strings.Contains(e.Message, "a is above 1000") {
		t.Errorf("%v", err)
	}
	if d := weft.Details[validate.FieldError](err); len(d) != 1 || d[0].Message != "a is above 1000" {
		t.Errorf("%v", d)
	}
	if _, err := plugintest.Count(t.Context(), c, 1001); !errors.Is(err, weft.InvalidArgument) {
		t.Errorf("a stream: %v", err)
	}
	if err := w.DialDoor(t).Call("Arith.Mul", &plugintest.Args{A: 1001}, &plugintest.Result{}); err == nil || !strings.Contains(err.Error(), "a is above 1000") {
		t.Errorf("through the door: %v", err)
	}
}

func TestClient(t *testing.T) {
	w := plugintest.Serve(t, nil)
	c := w.Dial(t, &weft.ClientConfig{Plugins: []weft.Plugin{validate.Plugin()}})
	plugintest.IsError(t, c.Call(t.Context(), "Arith.Mul", &plugintest.Args{A: 1001}, nil), weft.InvalidArgument, weft.NotSent)
	if _, err := plugintest.Count(t.Context(), c, 1001); !errors.Is(err, weft.InvalidArgument) {
		t.Errorf("a stream: %v", err)
	}
	if n, err := plugintest.Count(t.Context(), c, 3); n != 3 || err != nil {
		t.Error(n, err)
	}
}

// order is a request with several errors.
type order struct{ Item, Address string }

type missing string

func (m missing) Error() string { return string(m) + " is missing" }
func (m missing) Field() string { return string(m) }

// Validate joins what is wrong.
func (o *order) Validate() error {
	var all []error
	if o.Item == "" {
		all = append(all, missing("item"))
	}
	if o.Address == "" {
		all = append(all, fmt.Errorf("delivery: %w", missing("address")))
	}
	return errors.Join(all...)
}

func Example() {
	ctx := context.Background()
	srv := weft.NewServer(&weft.ServerConfig{Plugins: []weft.Plugin{validate.Plugin()}})
	if err := weft.Handle(srv, "Orders.Place", func(_ context.Context, o *order) (*order, error) { return o, nil }); err != nil {
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
	err = c.Call(ctx, "Orders.Place", &order{}, nil)
	for _, d := range weft.Details[validate.FieldError](err) {
		fmt.Printf("%s: %s\n", d.Field, d.Message)
	}
	// Output:
	// item: item is missing
	// address: delivery: address is missing
}
