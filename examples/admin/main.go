// Command admin operates a running server: it lists what the server serves, finds a call that hangs,
// taps the calls of one client, raises the log level for a minute, and shuts the server down without
// losing a call.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net"
	"os"
	"strings"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/admin"
)

// Order is the request, Receipt the reply.
type (
	Order struct {
		Item  string `json:"item"`
		Count int    `json:"count"`
		Card  struct {
			Number string `json:"number"`
		} `json:"card"`
	}
	Receipt struct {
		Cents int `json:"cents"`
	}
)

func buy(_ context.Context, o *Order) (*Receipt, error) {
	if o.Count < 1 {
		return nil, weft.Errorf(weft.InvalidArgument, "count is %d, want 1 or more", o.Count)
	}
	return &Receipt{Cents: 250 * o.Count}, nil
}

// pack takes as long as its caller waits.
func pack(ctx context.Context, _ *Order) (*Receipt, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func main() {
	log.SetFlags(0)
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

// token is what operators show. A real one comes from a file or the environment.
const token = "a long and random text"

func run(ctx context.Context) error {
	var level slog.LevelVar
	logger := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{Level: &level, ReplaceAttr: brief}))
	srv := weft.NewServer(&weft.ServerConfig{Logger: logger})
	life, stop := context.WithCancel(ctx) // of the server
	defer stop()
	err := errors.Join(
		weft.Handle(srv, "Shop.Buy", buy, weft.Doc("Buy orders an item.")),
		weft.Handle(srv, "Shop.Pack", pack),
		admin.Register(srv, &admin.Config{
			Token: token, LogLevel: &level, Logger: logger, Shutdown: stop,
			Bodies: true, Mask: func(_, path string) bool { return strings.HasPrefix(path, "card.") },
		}))
	if err != nil {
		return err
	}
	l, err := srv.Listen(ctx, "tcp://127.0.0.1:0")
	if err != nil {
		return err
	}
	address := l.Addr().String()
	served := make(chan error, 1)
	// This goroutine ends with the shutdown.
	go func() { served <- serve(life, srv, l) }()

	shop, err := weft.Dial(ctx, address, &weft.ClientConfig{Name: "shop/2.1"})
	if err != nil {
		return err
	}
	defer shop.Close()
	ops, err := weft.Dial(ctx, address, &weft.ClientConfig{Name: "ops"})
	if err != nil {
		return err
	}
	defer ops.Close()
	if err := operate(ctx, shop, ops); err != nil {
		return err
	}
	if err := <-served; err != nil {
		return err
	}
	fmt.Println("the server has shut down:", srv.Phase())
	return nil
}

// operate is what an operator does.
func operate(ctx context.Context, shop, ops *weft.Client) error {
	_, err := admin.NewClient(ops, nil).Stats(ctx, nil)
	fmt.Println("without the token:", weft.CodeOf(err))

	a := admin.NewClient(ops, &admin.ClientConfig{Token: token})
	d, err := a.Describe(ctx, &admin.DescribeRequest{Name: "Shop"})
	if err != nil {
		return err
	}
	for _, m := range d.Services[0].Methods {
		fmt.Printf("method %s(%s) %s %s\n", m.Name, m.Request, m.Reply, m.Doc)
	}

	waiting, give := context.WithCancel(ctx)
	defer give()
	hangs := shop.Go(waiting, "Shop.Pack", &Order{}, &Receipt{}, nil)
	for {
		open, err := a.Calls(ctx, &admin.CallsRequest{Peer: "shop/"})
		if err != nil {
			return err
		}
		if len(open.Calls) > 0 {
			c := open.Calls[0]
			fmt.Printf("open: %s of %s, %d s left\n", c.Method, c.Name, int(*c.Left+0.5))
			break
		}
		time.Sleep(time.Millisecond)
	}
	give()
	<-hangs.Done

	tap, err := a.Tap(ctx, &admin.TapRequest{Methods: []string{"Shop.Buy"}, Bodies: true, Count: 2})
	if err != nil {
		return err
	}
	for _, count := range []int{3, 0} {
		order := &Order{Item: "tea", Count: count}
		order.Card.Number = "4711"
		_, _ = weft.Invoke[Receipt](ctx, shop, "Shop.Buy", order) // the second fails, as the tap shows
	}
	for c, err := range tap.All() {
		if err != nil {
			return err
		}
		fmt.Printf("tap: %s from %s: %s %s -> %s%s\n", c.Method, c.Name, c.Code, c.Content.Request, c.Content.Reply, c.Error)
	}

	now, err := a.SetLogLevel(ctx, &admin.SetLogLevelRequest{Level: "debug", For: 60})
	if err != nil {
		return err
	}
	fmt.Println("the log level is", now.Level, "and then", now.Next)
	_, err = a.Drain(ctx, &admin.DrainRequest{Shutdown: true, Reason: "the end of the example"})
	return err
}

// serve serves until ctx ends, and shuts down then.
func serve(ctx context.Context, srv *weft.Server, l net.Listener) error {
	ended := make(chan error, 1)
	// This goroutine ends when the shutdown closes the listener.
	go func() { ended <- srv.Serve(l) }()
	<-ctx.Done()
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), weft.DefaultDrainTimeout)
	defer cancel()
	err := srv.Shutdown(drain)
	if e := <-ended; !errors.Is(e, weft.ErrServerClosed) {
		err = errors.Join(err, e)
	}
	return err
}

// brief leaves out of the log what differs from run to run.
func brief(_ []string, a slog.Attr) slog.Attr {
	switch a.Key {
	case slog.TimeKey, "peer":
		return slog.Attr{}
	}
	return a
}
