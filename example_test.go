package weft_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/codec/json"
	"github.com/weftrpc/weft/codec/raw"
	"github.com/weftrpc/weft/transport"
	"github.com/weftrpc/weft/transport/mem"
)

// connect serves on a network in memory and returns a client of the server. Both end
// with stop. The other examples use it to come to the point; see the package example
// for how programs find each other.
func connect(srv *weft.Server, cfg weft.ClientConfig) (c *weft.Client, stop func()) {
	network := mem.New()
	l, err := network.Listen(context.Background(), "demo")
	if err != nil {
		panic(err)
	}
	go srv.Serve(l) // this goroutine ends with the server
	cfg.Transports = []transport.Transport{network}
	if c, err = weft.Dial(context.Background(), "mem://demo", &cfg); err != nil {
		panic(err)
	}
	return c, func() {
		c.Close()
		srv.Close()
	}
}

func ExampleHandle() {
	srv := weft.NewServer(nil)
	weft.Handle(srv, "Arith.Mul", func(_ context.Context, a *Args) (*Product, error) {
		return &Product{C: a.A * a.B}, nil
	})
	c, stop := connect(srv, weft.ClientConfig{})
	defer stop()

	p, err := weft.Invoke[Product](context.Background(), c, "Arith.Mul", &Args{7, 8})
	fmt.Println(p.C, err)
	// Output: 56 <nil>
}

// Counter is a service of three methods, each of another shape. Its methods are
// called concurrently.
type Counter struct{ n atomic.Int64 }

func (c *Counter) Add(_ context.Context, n *int64) (*int64, error) {
	total := c.n.Add(*n)
	return &total, nil
}

func (c *Counter) Get(_ context.Context, _ *struct{}, total *int64) error {
	*total = c.n.Load()
	return nil
}

func (c *Counter) Reset(_ *struct{}, was *int64) error {
	*was = c.n.Swap(0)
	return nil
}

func ExampleServer_Register() {
	srv := weft.NewServer(nil)
	srv.Register(&Counter{})
	for _, service := range srv.Describe() {
		for _, m := range service.Methods {
			fmt.Println(m.Name, m.Kind, m.Request, m.Reply)
		}
	}
	fmt.Println(srv.Register(&Counter{}))
	// Output:
	// Counter.Add unary int64 int64
	// Counter.Get unary struct {} int64
	// Counter.Reset unary struct {} int64
	// AlreadyExists: weft: method Counter.Add is registered already
}

func ExampleServices_RegisterMethods() {
	srv := weft.NewServer(nil)
	srv.RegisterMethods("calc", Arith{}, map[string]string{"Mul": "multiply"})
	srv.Alias("Arith.Mul", "calc.multiply") // for callers that know the old name
	c, stop := connect(srv, weft.ClientConfig{})
	defer stop()

	for _, name := range []string{"calc.multiply", "Arith.Mul", "calc.divide"} {
		p, err := weft.Invoke[Product](context.Background(), c, name, &Args{7, 8})
		fmt.Println(name, p != nil, weft.CodeOf(err))
	}
	// Output:
	// calc.multiply true OK
	// Arith.Mul true OK
	// calc.divide false Unimplemented
}

func ExampleInvoke() {
	srv := weft.NewServer(nil)
	srv.Register(Arith{})
	c, stop := connect(srv, weft.ClientConfig{})
	defer stop()

	product, err := weft.Invoke[Product](context.Background(), c, "Arith.Mul", &Args{6, 7})
	fmt.Println(product.C, err)
	// Output: 42 <nil>
}

func ExampleClient_Call() {
	srv := weft.NewServer(nil)
	srv.Register(Arith{})
	c, stop := connect(srv, weft.ClientConfig{})
	defer stop()

	var product Product
	err := c.Call(context.Background(), "Arith.Mul", &Args{6, 7}, &product)
	fmt.Println(product.C, err)
	// Output: 42 <nil>
}

func ExampleClient_Go() {
	srv := weft.NewServer(nil)
	srv.Register(Arith{})
	c, stop := connect(srv, weft.ClientConfig{})
	defer stop()

	done := make(chan *weft.Call, 3) // with room for all
	for i := range 3 {
		c.Go(context.Background(), "Arith.Mul", &Args{i, 10}, new(Product), done)
	}
	sum := 0
	for range 3 {
		call := <-done
		if call.Error != nil {
			fmt.Println(call.Error)
			return
		}
		sum += call.Reply.(*Product).C
	}
	fmt.Println(sum)
	// Output: 30
}

func ExampleClient_Notify() {
	srv := weft.NewServer(nil)
	heard := make(chan string, 1)
	weft.Handle(srv, "Log.Write", func(_ context.Context, line *string) (*struct{}, error) {
		heard <- *line
		return &struct{}{}, nil
	})
	c, stop := connect(srv, weft.ClientConfig{})
	defer stop()

	err := c.Notify(context.Background(), "Log.Write", "disk full")
	fmt.Println(err, <-heard)
	// Output: <nil> disk full
}

func ExampleHandleServerStream() {
	srv := weft.NewServer(nil)
	weft.HandleServerStream(srv, "Math.Squares", func(_ context.Context, upTo *int, out *weft.Sender[int]) error {
		for i := range *upTo {
			square := i * i
			if err := out.Send(&square); err != nil {
				return err
			}
		}
		return nil
	})
	c, stop := connect(srv, weft.ClientConfig{})
	defer stop()

	five := 5
	squares, err := weft.Subscribe[int](context.Background(), c, "Math.Squares", &five)
	if err != nil {
		fmt.Println(err)
		return
	}
	for square, err := range squares.All() {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Print(*square, " ")
	}
	// Output: 0 1 4 9 16
}

func ExampleHandleClientStream() {
	srv := weft.NewServer(nil)
	weft.HandleClientStream(srv, "Math.Sum", func(_ context.Context, in *weft.Receiver[int]) (*int, error) {
		sum := 0
		for n, err := range in.All() {
			if err != nil {
				return nil, err
			}
			sum += *n
		}
		return &sum, nil
	})
	c, stop := connect(srv, weft.ClientConfig{})
	defer stop()

	stream, err := weft.OpenStream[int, int](context.Background(), c, "Math.Sum")
	if err != nil {
		fmt.Println(err)
		return
	}
	for n := range 5 {
		if err := stream.Send(&n); err != nil {
			fmt.Println(err)
			return
		}
	}
	sum, err := stream.CloseAndRecv()
	fmt.Println(*sum, err)
	// Output: 10 <nil>
}

func ExampleHandleStream() {
	srv := weft.NewServer(nil)
	weft.HandleStream(srv, "Text.Upper", func(_ context.Context, s *weft.Stream[string, string]) error {
		for word, err := range s.All() {
			if err != nil {
				return err
			}
			upper := strings.ToUpper(*word)
			if err := s.Send(&upper); err != nil {
				return err
			}
		}
		return nil
	})
	c, stop := connect(srv, weft.ClientConfig{})
	defer stop()

	s, err := weft.OpenStream[string, string](context.Background(), c, "Text.Upper")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, word := range []string{"warp", "and", "weft"} {
		s.Send(&word)
		upper, err := s.Recv()
		fmt.Println(*upper, err)
	}
	s.CloseSend()
	_, err = s.Recv()
	fmt.Println(err == io.EOF)
	// Output:
	// WARP <nil>
	// AND <nil>
	// WEFT <nil>
	// true
}

func ExampleHandleRaw() {
	srv := weft.NewServer(nil)
	weft.HandleRaw(srv, "Bytes.Upper", func(_ context.Context, req, buf []byte) ([]byte, error) {
		for _, b := range req {
			buf = append(buf, b&^0x20)
		}
		return buf, nil
	})
	c, stop := connect(srv, weft.ClientConfig{Codec: raw.New()})
	defer stop()

	var reply []byte
	err := c.Call(context.Background(), "Bytes.Upper", []byte("weft"), &reply)
	fmt.Printf("%s %v\n", reply, err)
	// Output: WEFT <nil>
}

// A server calls its clients over the connections that they have made.
func ExamplePeer() {
	srv := weft.NewServer(nil)
	weft.Handle(srv, "Chat.Join", func(ctx context.Context, name *string) (*string, error) {
		return weft.Invoke[string](ctx, weft.PeerFrom(ctx), "Screen.Ask", "What brings you here, "+*name+"?")
	})

	screen := weft.NewServices()
	weft.Handle(screen, "Screen.Ask", func(_ context.Context, question *string) (*string, error) {
		fmt.Println("server asks:", *question)
		answer := "curiosity"
		return &answer, nil
	})
	shown := make(chan string)
	weft.Handle(screen, "Screen.Show", func(_ context.Context, text *string) (*struct{}, error) {
		shown <- *text
		return &struct{}{}, nil
	})
	c, stop := connect(srv, weft.ClientConfig{Services: screen})
	defer stop()

	answer, err := weft.Invoke[string](context.Background(), c, "Chat.Join", "Ada")
	fmt.Println("client gets:", *answer, err)

	for _, p := range srv.Peers() { // at any time, to everyone
		p.Notify(context.Background(), "Screen.Show", "the server restarts soon")
	}
	fmt.Println("client shows:", <-shown)
	// Output:
	// server asks: What brings you here, Ada?
	// client gets: curiosity <nil>
	// client shows: the server restarts soon
}

func ExampleWithMetadata() {
	srv := weft.NewServer(nil)
	weft.Handle(srv, "Shop.Price", func(ctx context.Context, item *string) (*int, error) {
		price := 100
		if weft.MetadataFrom(ctx).Get("region") == "eu" {
			price = 119
		}
		return &price, weft.SetReplyMetadata(ctx, "served-by", "shop-1")
	})
	c, stop := connect(srv, weft.ClientConfig{})
	defer stop()

	var back weft.Metadata
	ctx := weft.WithMetadata(context.Background(), "region", "eu")
	price, err := weft.Invoke[int](ctx, c, "Shop.Price", "loom", weft.WithReplyMetadata(&back))
	fmt.Println(*price, err, back.Get("served-by"))
	// Output: 119 <nil> shop-1
}

func ExampleError() {
	srv := weft.NewServer(nil)
	weft.Handle(srv, "Bank.Pay", func(_ context.Context, amount *int) (*int, error) {
		return nil, weft.Errorf(weft.FailedPrecondition, "%d is more than there is", *amount).WithReason("BALANCE_TOO_LOW")
	})
	c, stop := connect(srv, weft.ClientConfig{})
	defer stop()

	_, err := weft.Invoke[int](context.Background(), c, "Bank.Pay", 1000)
	if errors.Is(err, weft.FailedPrecondition) {
		e, _ := errors.AsType[*weft.Error](err)
		fmt.Println(e.Code, e.Reason, e.Message)
		fmt.Println(e.Outcome, "at", e.Peer) // whether the call may be made again
	}
	// Output:
	// FailedPrecondition BALANCE_TOO_LOW 1000 is more than there is
	// Executed at demo
}

func ExampleUnaryInterceptor() {
	logged := func(side string) weft.UnaryInterceptor {
		return func(ctx context.Context, info *weft.CallInfo, req any, next weft.UnaryFunc) (any, error) {
			reply, err := next(ctx, info, req)
			fmt.Println(side, info.Method, weft.CodeOf(err))
			return reply, err
		}
	}
	srv := weft.NewServer(&weft.ServerConfig{Interceptors: []weft.UnaryInterceptor{logged("server")}})
	srv.Register(Arith{})
	c, stop := connect(srv, weft.ClientConfig{Interceptors: []weft.UnaryInterceptor{logged("client")}})
	defer stop()

	weft.Invoke[Product](context.Background(), c, "Arith.Mul", &Args{7, 8})
	weft.Invoke[Product](context.Background(), c, "Arith.Div", &Args{7, 0})
	// Output:
	// server Arith.Mul OK
	// client Arith.Mul OK
	// server Arith.Div InvalidArgument
	// client Arith.Div InvalidArgument
}

// doorkeeper is a hook: it implements AfterReadRequestHeaderHook and
// BeforeReadRequestBodyHook.
type doorkeeper struct{ closed bool }

func (*doorkeeper) AfterReadRequestHeader(_ context.Context, info *weft.CallInfo) {
	fmt.Println("asked for", info.Method)
}

func (d *doorkeeper) BeforeReadRequestBody(context.Context, *weft.CallInfo) error {
	if d.closed {
		return weft.Errorf(weft.Unavailable, "come back tomorrow")
	}
	return nil
}

func ExampleServerConfig_hooks() {
	d := &doorkeeper{}
	srv := weft.NewServer(&weft.ServerConfig{Hooks: []any{d}})
	srv.Register(Arith{})
	c, stop := connect(srv, weft.ClientConfig{})
	defer stop()

	_, err := weft.Invoke[Product](context.Background(), c, "Arith.Mul", &Args{7, 8})
	fmt.Println(err)
	d.closed = true
	_, err = weft.Invoke[Product](context.Background(), c, "Arith.Div", &Args{7, 8})
	fmt.Println(err)
	// Output:
	// asked for Arith.Mul
	// <nil>
	// asked for Arith.Div
	// Arith.Div at demo: Unavailable (Refused): come back tomorrow
}

func ExampleStaticCredential() {
	users := map[string]string{"s3cr3t": "ada"}
	srv := weft.NewServer(&weft.ServerConfig{
		Authenticate: func(_ context.Context, cred weft.Credential, _ *weft.CallInfo) (any, error) {
			if user, ok := users[cred.Token]; ok && cred.Scheme == "Bearer" {
				return user, nil
			}
			return nil, weft.Errorf(weft.Unauthenticated, "who are you?")
		},
	})
	weft.Handle(srv, "Who.AmI", func(ctx context.Context, _ *struct{}) (*string, error) {
		user := weft.PrincipalFrom(ctx).(string)
		return &user, nil
	})
	c, stop := connect(srv, weft.ClientConfig{Credential: weft.StaticCredential("Bearer", "s3cr3t")})
	defer stop()

	user, err := weft.Invoke[string](context.Background(), c, "Who.AmI", &struct{}{})
	fmt.Println(*user, err)
	_, err = weft.Invoke[string](context.Background(), c, "Who.AmI", &struct{}{},
		weft.WithCredential(weft.Credential{Scheme: "Bearer", Token: "a guess"}))
	fmt.Println(err)
	// Output:
	// ada <nil>
	// Who.AmI at demo: Unauthenticated (Refused): who are you?
}

func ExampleWithCodec() {
	srv := weft.NewServer(nil) // takes protobuf, msgpack, json, raw and gencode
	srv.Register(Arith{})
	c, stop := connect(srv, weft.ClientConfig{})
	defer stop()

	p, err := weft.Invoke[Product](context.Background(), c, "Arith.Mul", &Args{7, 8}, weft.WithCodec(json.New()))
	fmt.Println(p.C, err)
	// Output: 56 <nil>
}

func ExampleServer_ListenAndServe() {
	dir, err := os.MkdirTemp("", "weft")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	address := "unix://" + filepath.Join(dir, "arith.sock")

	srv := weft.NewServer(nil)
	srv.Register(Arith{})
	ctx, stop := context.WithCancel(context.Background()) // of a program: signal.NotifyContext
	defer stop()
	served := make(chan error, 1)
	go func() { served <- srv.ListenAndServe(ctx, address) }() // this goroutine ends when ctx does

	// A lazy client waits for the server in its first call.
	c, err := weft.Dial(ctx, address, &weft.ClientConfig{Lazy: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	p, err := weft.Invoke[Product](ctx, c, "Arith.Mul", &Args{7, 8})
	fmt.Println(p.C, err)

	stop()
	fmt.Println("drained:", <-served)
	// Output:
	// 56 <nil>
	// drained: <nil>
}
