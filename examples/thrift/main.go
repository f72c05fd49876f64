// Thrift serves weft's own wire and Thrift on one port, and calls it by both. Stock clients of
// Thrift can call it too, by code that their compiler makes of the description that -idl prints:
//
//	go run . -idl >shop.thrift
//	go run . -address tcp://127.0.0.1:9090 -serve
//
// With -call it calls another server of that description.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/thrift"
)

// Add has the parameters of a method.
type Add struct {
	A int32 `thrift:"a,1"`
	B int32 `thrift:"b,2"`
}

// Order is a struct with most of what Thrift has.
type Order struct {
	ID      int64             `thrift:"id,1"`
	Name    string            `thrift:"name,2"`
	Price   float64           `thrift:"price,3"`
	Paid    bool              `thrift:"paid,4"`
	Picture []byte            `thrift:"picture,5"`
	Lines   []Line            `thrift:"lines,6"`
	Tags    []string          `thrift:"tags,7,set"`
	Notes   map[string]string `thrift:"notes,8"`
	Parent  *Order            `thrift:"parent,9"`
	Gift    *bool             `thrift:"gift,10"`
}

// Line is a part of an Order.
type Line struct {
	Article string `thrift:"article,1"`
	Number  int16  `thrift:"number,2,required"`
}

// Find asks for an order.
type Find struct {
	ID int64 `thrift:"id,1"`
}

// NotFound is an exception.
type NotFound struct {
	ID int64 `thrift:"id,1"`
}

func (n *NotFound) Error() string { return fmt.Sprintf("there is no order %d", n.ID) }

// exceptions are those that the methods declare.
func exceptions() thrift.Exceptions {
	return thrift.Exceptions{"Shop.find": {{ID: 1, Name: "missing", Value: (*NotFound)(nil)}}}
}

func newServer() (*weft.Server, error) {
	srv := weft.NewServer(&weft.ServerConfig{Doors: []weft.Door{thrift.Door(nil)}, Plugins: []weft.Plugin{exceptions().Plugin()}})
	for _, err := range []error{
		weft.Handle(srv, "Shop.add", func(_ context.Context, a *Add) (*int32, error) {
			sum := a.A + a.B
			return &sum, nil
		}),
		weft.Handle(srv, "Shop.echo", func(_ context.Context, o *Order) (*Order, error) { return o, nil }, thrift.Parameter("order")),
		weft.Handle(srv, "Shop.find", func(_ context.Context, f *Find) (*Order, error) {
			if f.ID < 0 {
				return nil, weft.Errorf(weft.InvalidArgument, "the number %d is negative", f.ID)
			}
			if f.ID != 7 {
				return nil, &NotFound{f.ID}
			}
			return &Order{ID: 7, Name: "seven"}, nil
		}),
		weft.Handle(srv, "Shop.log", func(_ context.Context, line *string) (*struct{}, error) {
			fmt.Println(*line)
			return &struct{}{}, nil
		}, thrift.Oneway(), thrift.Parameter("line")),
		weft.Handle(srv, "Shop.ping", func(context.Context, *struct{}) (*struct{}, error) { return &struct{}{}, nil }),
	} {
		if err != nil {
			return nil, err
		}
	}
	return srv, nil
}

func main() {
	address := flag.String("address", "tcp://127.0.0.1:0", "where to listen")
	serve := flag.Bool("serve", false, "serve until interrupted")
	idl := flag.Bool("idl", false, "print the description of the methods")
	call := flag.String("call", "", "call another server, such as thrift://127.0.0.1:9090")
	var cfg thrift.WireConfig
	flag.BoolVar(&cfg.Multiplexed, "multiplexed", false, "name the service in calls of another server")
	flag.Func("framing", "that of another server: framed, unframed or theader", func(s string) (err error) {
		cfg.Framing, err = one(s, "framed", thrift.Framed, "unframed", thrift.Unframed, "theader", thrift.THeader)
		return err
	})
	flag.Func("protocol", "that of another server: binary, old or compact", func(s string) (err error) {
		cfg.Protocol, err = one(s, "binary", thrift.Binary, "old", thrift.BinaryOld, "compact", thrift.Compact)
		return err
	})
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var err error
	switch {
	case *idl:
		err = describe()
	case *call != "":
		err = talk(ctx, *call, &cfg)
	default:
		err = run(ctx, *address, *serve)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// one returns the value that stands behind a name.
func one[T any](s, a string, x T, b string, y T, c string, z T) (T, error) {
	switch s {
	case a:
		return x, nil
	case b:
		return y, nil
	case c:
		return z, nil
	}
	return x, fmt.Errorf("want %s, %s or %s", a, b, c)
}

func describe() error {
	srv, err := newServer()
	if err != nil {
		return err
	}
	defer srv.Close()
	text, err := thrift.IDL(srv.Services, &thrift.IDLConfig{Exceptions: exceptions()})
	fmt.Print(text)
	return err
}

func run(ctx context.Context, address string, serve bool) error {
	srv, err := newServer()
	if err != nil {
		return err
	}
	l, err := srv.Listen(ctx, address)
	if err != nil {
		return err
	}
	served := make(chan error, 1)
	// It ends when the server does.
	go func() { served <- srv.Serve(l) }()
	defer func() {
		_ = srv.Shutdown(context.WithoutCancel(ctx))
		<-served
	}()
	if serve {
		fmt.Println("serving on", l.Addr())
		<-ctx.Done()
		return nil
	}
	for _, scheme := range []string{"tcp", "thrift"} {
		if err := talk(ctx, scheme+"://"+l.Addr().String(), nil); err != nil {
			return err
		}
	}
	return nil
}

// talk calls a server by the wire that the address names.
func talk(ctx context.Context, address string, cfg *thrift.WireConfig) error {
	c, err := weft.Dial(ctx, address, &weft.ClientConfig{Wires: []weft.Wire{thrift.Wire(cfg)}})
	if err != nil {
		return err
	}
	sum, err := weft.Invoke[int32](ctx, c, "Shop.add", &Add{7, 8})
	if err != nil {
		return err
	}
	order, err := weft.Invoke[Order](ctx, c, "Shop.find", &Find{7})
	if err != nil {
		return err
	}
	_, err = weft.Invoke[Order](ctx, c, "Shop.find", &Find{8})
	var missing NotFound
	if !thrift.Caught(err, 1, &missing) || missing.ID != 8 {
		return fmt.Errorf("the order 8: %v", err)
	}
	line := "by " + c.Peer().Wire()
	if err := c.Notify(ctx, "Shop.log", &line); err != nil {
		return err
	}
	if err := c.Call(ctx, "Shop.ping", &struct{}{}, nil); err != nil {
		return err
	}
	fmt.Printf("by %s: %d, %s, no order %d\n", c.Peer().Wire(), *sum, order.Name, missing.ID)
	return c.Shutdown(ctx)
}
