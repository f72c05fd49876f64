package admin_test

import (
	"context"
	"fmt"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/admin"
)

func Example() {
	srv := weft.NewServer(nil)
	defer srv.Close()
	if err := admin.Register(srv, &admin.Config{Token: "secret"}); err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	l, err := srv.Listen(ctx, "tcp://127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	go srv.Serve(l)
	c, err := weft.Dial(ctx, l.Addr().String(), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()

	a := admin.NewClient(c, &admin.ClientConfig{Token: "secret"})
	d, err := a.Describe(ctx, &admin.DescribeRequest{Name: "weft.Admin.Stats"})
	if err != nil {
		fmt.Println(err)
		return
	}
	m := d.Services[0].Methods[0]
	fmt.Println(m.Name, m.Kind, m.Request)
	_, err = admin.NewClient(c, nil).Stats(ctx, nil)
	fmt.Println(weft.CodeOf(err))
	// Output:
	// weft.Admin.Stats unary admin.StatsRequest
	// Unauthenticated
}
