package protovalidate_test

import (
	"context"
	"fmt"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/protobuf/proto"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/plugin/protovalidate"
	"github.com/weftrpc/weft/plugin/protovalidate/shop"
)

func Example() {
	if err := example(context.Background()); err != nil {
		fmt.Println(err)
	}
	// Output:
	// InvalidArgument NOT_VALID
	// email: must be a valid email address
	// items: must contain at least 1 item(s)
}

func example(ctx context.Context) error {
	p, err := protovalidate.New(&protovalidate.Config{Messages: []proto.Message{&shop.Order{}}})
	if err != nil {
		return err
	}
	srv := weft.NewServer(&weft.ServerConfig{Plugins: []weft.Plugin{p}})
	defer srv.Close()
	if err := weft.Handle(srv, "Shop.Buy", func(context.Context, *shop.Order) (*shop.Receipt, error) {
		return &shop.Receipt{Number: "1"}, nil
	}); err != nil {
		return err
	}
	l, err := srv.Listen(ctx, "tcp://127.0.0.1:0")
	if err != nil {
		return err
	}
	// It ends with Close.
	go srv.Serve(l)
	c, err := weft.Dial(ctx, l.Addr().String(), nil)
	if err != nil {
		return err
	}
	defer c.Close()

	err = c.Call(ctx, "Shop.Buy", &shop.Order{Email: "ada"}, &shop.Receipt{})
	e, _ := err.(*weft.Error)
	fmt.Println(e.Code, e.Reason)
	for _, bad := range weft.Details[errdetails.BadRequest](err) {
		for _, v := range bad.FieldViolations {
			fmt.Printf("%s: %s\n", v.Field, v.Description)
		}
	}
	return nil
}
