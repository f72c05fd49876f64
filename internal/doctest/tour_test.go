package doctest

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/cluster"
	"github.com/weftrpc/weft/codec/json"
	"github.com/weftrpc/weft/compress"
	"github.com/weftrpc/weft/compress/zstd"
	"github.com/weftrpc/weft/registry/memory"
)

// What the code of the tour, docs/guide/tour.md, takes for granted.
type (
	Args     struct{ A, B int }
	Product  struct{ C int }
	Arith    struct{}
	Entry    struct{ Text string }
	Number   struct{ N int }
	File     struct{ Name string }
	Question struct{ Text string }
	Answer   struct{ Yes bool }
	Done     struct{ Trace string }
)

// Mul multiplies, and sends back the trace that came with the call.
func (Arith) Mul(ctx context.Context, args *Args) (*Product, error) {
	if trace := weft.MetadataFrom(ctx).Get("trace"); trace != "" {
		if err := weft.SetReplyMetadata(ctx, "trace", trace); err != nil {
			return nil, err
		}
	}
	return &Product{args.A * args.B}, nil
}

func countTo(_ context.Context, last *Number, out *weft.Sender[Number]) error {
	for n := range last.N {
		if err := out.Send(&Number{n + 1}); err != nil {
			return err
		}
	}
	return nil
}

func deleteFile(ctx context.Context, f *File) (*Done, error) {
	answer, err := weft.Invoke[Answer](ctx, weft.PeerFrom(ctx), "User.Confirm", &Question{"delete it?"})
	if err != nil {
		return nil, err
	}
	if !answer.Yes {
		return nil, weft.Errorf(weft.Aborted, "%s stays", f.Name)
	}
	return &Done{}, nil
}

// guests counts those that come and go.
type guests struct{ came, left atomic.Int32 }

func (g *guests) ConnOpened(*weft.Peer)        { g.came.Add(1) }
func (g *guests) ConnClosed(*weft.Peer, error) { g.left.Add(1) }

// TestTour runs the code of docs/guide/tour.md.
func TestTour(t *testing.T) {
	web := httptest.NewTLSServer(nil) // for its certificate
	certificates := web.TLS
	authority := web.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	web.Close()
	certificates.NextProtos = nil // those of the web
	var calls atomic.Int32
	counted := func(ctx context.Context, info *weft.CallInfo, req any, next weft.UnaryFunc) (any, error) {
		calls.Add(1)
		return next(ctx, info, req)
	}
	whoCalls := func(_ context.Context, cred weft.Credential, _ *weft.CallInfo) (any, error) {
		if cred.Token != "secret" {
			return nil, fmt.Errorf("who are you?")
		}
		return "ada", nil
	}
	visitors := new(guests)
	ctx := t.Context()
	check := func(err error) { must(t, err) }

	srv := weft.NewServer(&weft.ServerConfig{
		TLS:          certificates,                      // transport/tls reloads them from files
		Authenticate: whoCalls,                          // before the body of a call is decoded
		Interceptors: []weft.UnaryInterceptor{counted},  // around every unary call
		Hooks:        []any{visitors},                   // told when clients come and go, and more
		Compressors:  []compress.Compressor{zstd.New()}, // what clients may use
		Limits:       weft.Limits{MaxMessage: 1 << 20},  // the others keep their defaults
	})
	check(srv.Register(Arith{}))                             // all methods of a value
	check(weft.HandleServerStream(srv, "Count.To", countTo)) // a function that gets a weft.Sender
	journal := make(chan string, 1)
	must(t, weft.Handle(srv, "Journal.Add", func(_ context.Context, e *Entry) (*Done, error) {
		journal <- e.Text
		return &Done{}, nil
	}))
	must(t, weft.Handle(srv, "Files.Delete", deleteFile))
	address := serve(t, srv)

	services := weft.NewServices()
	must(t, weft.Handle(services, "User.Confirm", func(context.Context, *Question) (*Answer, error) { return &Answer{true}, nil }))
	c, err := weft.Dial(ctx, address, &weft.ClientConfig{
		TLS:        &tls.Config{RootCAs: authority},
		Credential: weft.StaticCredential("Bearer", "secret"),
		Services:   services,
	})
	must(t, err)
	defer c.Close()
	tour(t, c)
	if got := <-journal; got != "seven by eight" {
		t.Errorf("the journal got %q", got)
	}
	if _, err := weft.Invoke[Done](ctx, c, "Files.Delete", &File{"a.txt"}); err != nil {
		t.Error(err)
	}
	must(t, srv.Shutdown(ctx))
	if calls.Load() != 6 || visitors.came.Load() != 1 || visitors.left.Load() != 1 {
		t.Errorf("%d calls were counted, %d guests came and %d left", calls.Load(), visitors.came.Load(), visitors.left.Load())
	}
}

// tour is the client's part.
func tour(t *testing.T, c *weft.Client) {
	ctx := t.Context()
	check := func(err error) { must(t, err) }
	var product Product

	p, err := weft.Invoke[Product](ctx, c, "Arith.Mul", &Args{7, 8}) // typed
	check(err)
	check(c.Call(ctx, "Arith.Mul", &Args{p.C, 2}, &product))              // net/rpc's way
	call := <-c.Go(ctx, "Arith.Mul", &Args{3, 4}, new(Product), nil).Done // asynchronous
	check(call.Error)
	check(c.Notify(ctx, "Journal.Add", &Entry{"seven by eight"})) // one-way

	numbers, err := weft.Subscribe[Number](ctx, c, "Count.To", &Number{3}) // a stream
	check(err)
	for n, err := range numbers.All() {
		fmt.Println(n, err) // an error comes last, without a message
	}

	var back weft.Metadata
	ctx = weft.WithMetadata(ctx, "trace", "4711")
	p, err = weft.Invoke[Product](ctx, c, "Arith.Mul", &Args{7, 8}, weft.WithReplyMetadata(&back),
		weft.WithTimeout(time.Second), weft.WithCodec(json.New()), weft.WithCompressor(zstd.New()))

	check(err)
	if p.C != 56 || product.C != 112 || *call.Reply.(*Product) != (Product{12}) || back.Get("trace") != "4711" {
		t.Errorf("the products are %v, %v and %v, and %v came back", p, product, call.Reply, back)
	}
}

// TestTourOfStreams runs the code of docs/guide/tour.md on one-way calls and streams.
func TestTourOfStreams(t *testing.T) {
	ctx := t.Context()
	check := func(err error) { must(t, err) }
	journal := make(chan string, 1)
	add := func(e *Entry) error {
		journal <- e.Text
		return nil
	}
	srv := weft.NewServer(nil)

	check(weft.Handle(srv, "Journal.Add", func(_ context.Context, e *Entry) (*Done, error) { return nil, add(e) }))
	check(weft.HandleClientStream(srv, "Sum.Of", func(_ context.Context, in *weft.Receiver[Number]) (*Number, error) {
		var sum Number
		for n, err := range in.All() {
			if err != nil {
				return nil, err
			}
			sum.N += n.N
		}
		return &sum, nil
	}))
	check(weft.HandleStream(srv, "Echo.Both", func(_ context.Context, st *weft.Stream[Number, Number]) error {
		for {
			n, err := st.Recv() // io.EOF when the client has called CloseSend; returned by a handler it is a good end
			if err != nil {
				return err
			}
			if err := st.Send(n); err != nil {
				return err
			}
		}
	}))

	check(weft.HandleServerStream(srv, "Clock.Watch", func(ctx context.Context, _ *Number, out *weft.Sender[Number]) error {
		for n := 0; ; n++ {
			if err := out.Send(&Number{n}); err != nil {
				return err
			}
			select {
			case <-srv.Draining():
				return nil
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(time.Second):
			}
		}
	}))

	c, err := weft.Dial(ctx, serve(t, srv), nil)
	check(err)
	defer c.Close()

	both, err := weft.OpenStream[Number, Number](ctx, c, "Echo.Both") // what the client sends, what it gets
	check(err)
	check(both.Send(&Number{1}))
	check(both.CloseSend())
	n, err := both.Recv()

	check(err)
	if _, last := both.Recv(); n.N != 1 || last != io.EOF {
		t.Errorf("%v came back, and then %v", n, last)
	}
	sum, err := weft.OpenStream[Number, Number](ctx, c, "Sum.Of")
	check(err)
	check(sum.Send(&Number{2}))
	check(sum.Send(&Number{3}))
	if n, err = sum.CloseAndRecv(); err != nil || n.N != 5 {
		t.Errorf("the sum is %v, %v", n, err)
	}
	check(c.Notify(ctx, "Journal.Add", &Entry{"alone"}))
	if got := <-journal; got != "alone" {
		t.Errorf("the journal got %q", got)
	}
}

// TestManyServers runs the code of the README's section on many servers.
func TestManyServers(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	check := func(err error) { must(t, err) }

	reg, err := memory.New(nil) // or etcd, zookeeper, consul, redis, nacos, dns, mdns, file, static
	check(err)
	server := weft.NewServer(&weft.ServerConfig{Registry: reg}) // registers its services; withdraws them at Shutdown
	check(server.Register(Arith{}))
	go server.ListenAndServe(ctx, "tcp://127.0.0.1:0")
	many, err := cluster.New(&cluster.Config{Registry: reg}) // has the methods of a Client
	check(err)
	p, err := weft.Invoke[Product](ctx, many, "Arith.Mul", &Args{7, 8}) // made again elsewhere if that is safe
	check(err)
	all, err := cluster.Inform[Product](ctx, many, "Arith.Mul", &Args{p.C, 2}) // what every server says
	fmt.Println(many.Explain(ctx, "Arith.Mul", nil))                           // where a call would go now, and why

	check(err)
	if p.C != 56 || len(all) != 1 || all[0].Reply.C != 112 {
		t.Errorf("the products are %v and %v", p, all)
	}
	check(many.Close())
	stop()
	check(server.Shutdown(t.Context()))
	check(reg.Close())
}

// serve serves until the test ends, and returns the address.
func serve(t testing.TB, srv *weft.Server) string {
	t.Helper()
	l, err := srv.Listen(t.Context(), "tcp://127.0.0.1:0")
	must(t, err)
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(l) }() // it ends when the cleanup closes the server
	t.Cleanup(func() {
		srv.Close()
		<-ended
	})
	return "tcp://" + l.Addr().String()
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
