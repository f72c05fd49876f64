// Thrift serves weft's own wire, Thrift and Thrift over HTTP on one port, and calls it by each. The service is described in
// shop.thrift, of which "weft generate" has made shop_weft.go. Stock clients of Thrift can call it too, by code
// that their compiler makes of shop.thrift:
//
//	go run . -address tcp://127.0.0.1:9090 -serve
//
// With -call it calls another server of that description, at an address such as thrift://127.0.0.1:9090 or
// thrift+http://127.0.0.1:8080/thrift. With -idl it prints the description that the server
// gives of itself.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"maps"
	nethttp "net/http"
	"os"
	"os/signal"
	"slices"
	"strings"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/http"
	"github.com/weftrpc/weft/door/thrift"
)

//go:generate go run -C ../../generate ./cmd/weft-generate ../examples/thrift/shop.thrift

// shop implements Shop, which is generated of shop.thrift.
type shop struct{}

func (shop) Add(_ context.Context, a, b int32) (int32, error) { return a + b, nil }

func (shop) Echo(_ context.Context, o *Order) (*Order, error) { return o, nil }

func (shop) Find(_ context.Context, id int64) (*Order, error) {
	if id < 0 {
		return nil, weft.Errorf(weft.InvalidArgument, "the number %d is negative", id)
	}
	if id != 7 {
		return nil, &NotFound{id}
	}
	return &Order{Id: 7, Name: "seven"}, nil
}

func (shop) States(context.Context) (thrift.Set[OrderState], error) {
	return thrift.Set[OrderState]{OrderState_OPEN, OrderState_SENT}, nil
}

func (shop) Log(_ context.Context, line string) error {
	fmt.Println(line)
	return nil
}

func (shop) Ping(context.Context) error { return nil }

func newServer() (*weft.Server, error) {
	mux := nethttp.NewServeMux()
	mux.Handle("/thrift", thrift.Handler(nil))
	srv := weft.NewServer(&weft.ServerConfig{Doors: []weft.Door{thrift.Door(nil), http.Door(&http.Config{Handler: mux})}})
	return srv, RegisterShop(srv, shop{})
}

func main() {
	address := flag.String("address", "tcp://127.0.0.1:0", "where to listen")
	serve := flag.Bool("serve", false, "serve until interrupted")
	idl := flag.Bool("idl", false, "print the description of the methods")
	call := flag.String("call", "", "call another server, such as thrift://127.0.0.1:9090")
	var cfg thrift.WireConfig
	flag.BoolVar(&cfg.Multiplexed, "multiplexed", false, "name the service in calls of another server")
	flag.Func("framing", "that of another server that is not called over HTTP: framed, unframed or theader", func(s string) (err error) {
		cfg.Framing, err = one(s, map[string]thrift.Framing{"framed": thrift.Framed, "unframed": thrift.Unframed, "theader": thrift.THeader})
		return err
	})
	flag.Func("protocol", "that of another server: binary, old, compact or json", func(s string) (err error) {
		cfg.Protocol, err = one(s, map[string]thrift.Protocol{"binary": thrift.Binary, "old": thrift.BinaryOld, "compact": thrift.Compact, "json": thrift.JSON})
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
		err = talk(ctx, *call, cfg)
	default:
		err = run(ctx, *address, *serve)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// one returns the value with a name.
func one[T any](name string, values map[string]T) (T, error) {
	v, ok := values[name]
	if !ok {
		return v, fmt.Errorf("want one of %s", strings.Join(slices.Sorted(maps.Keys(values)), ", "))
	}
	return v, nil
}

func describe() error {
	srv, err := newServer()
	if err != nil {
		return err
	}
	defer srv.Close()
	text, err := thrift.IDL(srv.Services, &thrift.IDLConfig{Exceptions: ShopExceptions()})
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
	for _, address := range []string{"tcp://" + l.Addr().String(), "thrift://" + l.Addr().String(), "thrift+http://" + l.Addr().String() + "/thrift"} {
		if err := talk(ctx, address, thrift.WireConfig{}); err != nil {
			return err
		}
	}
	return nil
}

// talk calls a server by the wire that the address names.
func talk(ctx context.Context, address string, cfg thrift.WireConfig) error {
	overHTTP := &thrift.HTTPConfig{Protocol: cfg.Protocol, Multiplexed: cfg.Multiplexed}
	c, err := weft.Dial(ctx, address, &weft.ClientConfig{Wires: []weft.Wire{thrift.Wire(&cfg), thrift.WireHTTP(overHTTP), thrift.SecureWireHTTP(overHTTP)}})
	if err != nil {
		return err
	}
	client := NewShopClient(c)
	sum, err := client.Add(ctx, 7, 8)
	if err != nil {
		return err
	}
	order, err := client.Find(ctx, 7)
	if err != nil {
		return err
	}
	_, err = client.Find(ctx, 8)
	missing, ok := errors.AsType[*NotFound](err)
	if !ok || missing.Id != 8 {
		return fmt.Errorf("the order 8: %v", err)
	}
	if err := client.Log(ctx, "by "+c.Peer().Wire()); err != nil {
		return err
	}
	if err := client.Ping(ctx); err != nil {
		return err
	}
	fmt.Printf("by %s: %d, %s, no order %d\n", c.Peer().Wire(), sum, order.Name, missing.Id)
	return c.Shutdown(ctx)
}
