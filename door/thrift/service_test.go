package thrift_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	apache "github.com/apache/thrift/lib/go/thrift"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/thrift"
	"github.com/weftrpc/weft/door/thrift/testdata/stock"
)

// The structs of stock.thrift as a program of weft has them.
type (
	Add   struct{ A, B int32 }
	Inner struct {
		Name string `thrift:"name,1"`
		N    int32  `thrift:"n,2,required"`
	}
	Everything struct {
		B      bool               `thrift:"b,1"`
		Y      int8               `thrift:"y,2"`
		S      int16              `thrift:"s,3"`
		I      int32              `thrift:"i,4"`
		L      int64              `thrift:"l,5"`
		D      float64            `thrift:"d,6"`
		T      string             `thrift:"t,7"`
		Raw    []byte             `thrift:"raw,8"`
		Nums   []int32            `thrift:"nums,9"`
		Tags   []string           `thrift:"tags,10,set"`
		Inners map[string]*Inner  `thrift:"inners,11"`
		Inner  *Inner             `thrift:"inner,12"`
		Opt    *int64             `thrift:"opt,13"`
		Color  int32              `thrift:"color,14"`
		Flags  []bool             `thrift:"flags,15"`
		Deep   map[int32][]string `thrift:"deep,16"`
		Ob     *bool              `thrift:"ob,18"`
		Oi     []Inner            `thrift:"oi,19,optional"`
	}
	EchoArgs struct {
		E *Everything `thrift:"e,1"`
	}
	Get     struct{ ID int32 }
	Missing struct {
		What string `thrift:"what,1"`
		ID   int32  `thrift:"id,2"`
	}
)

func (m *Missing) Error() string { return "there is no " + m.What }

// start starts a server with the door and these methods.
func start(t *testing.T, cfg *weft.ServerConfig, register func(srv *weft.Server) error) string {
	t.Helper()
	c := weft.ServerConfig{}
	if cfg != nil {
		c = *cfg
	}
	if c.Doors == nil {
		c.Doors = []weft.Door{thrift.Door(nil)}
	}
	c.Logger = slog.New(slog.DiscardHandler)
	srv := weft.NewServer(&c)
	must(t, register(srv))
	l, err := srv.Listen(t.Context(), "tcp://127.0.0.1:0")
	must(t, err)
	served := make(chan error, 1)
	go func() { served <- srv.Serve(l) }() // it ends with the server
	t.Cleanup(func() {
		srv.Close()
		<-served
	})
	return l.Addr().String()
}

// plainHandlers are the methods of Demo with plain structs.
func plainHandlers(told chan string) func(srv *weft.Server) error {
	return func(srv *weft.Server) error {
		return errors.Join(
			weft.Handle(srv, "Demo.Add", func(_ context.Context, a *Add) (*int32, error) {
				sum := a.A + a.B
				return &sum, nil
			}),
			weft.Handle(srv, "Demo.Echo", func(_ context.Context, a *EchoArgs) (*Everything, error) { return a.E, nil }),
			weft.Handle(srv, "Demo.Get", func(_ context.Context, g *Get) (*string, error) {
				if g.ID == 7 {
					return nil, &Missing{"order", 7}
				}
				if g.ID == 8 {
					return nil, weft.Errorf(weft.PermissionDenied, "not for you")
				}
				text := "order"
				return &text, nil
			}),
			weft.Handle(srv, "Demo.Tell", func(_ context.Context, what *string) (*struct{}, error) {
				told <- *what
				return &struct{}{}, nil
			}, thrift.Oneway()),
			weft.Handle(srv, "Demo.Ping", func(context.Context, *struct{}) (*struct{}, error) { return &struct{}{}, nil }),
		)
	}
}

// generatedHandlers are the same with structs that the Thrift compiler has made.
func generatedHandlers(told chan string) func(srv *weft.Server) error {
	return func(srv *weft.Server) error {
		return errors.Join(
			weft.Handle(srv, "Demo.Add", func(_ context.Context, a *stock.DemoAddArgs) (*stock.DemoAddResult, error) {
				sum := a.A + a.B
				return &stock.DemoAddResult{Success: &sum}, nil
			}),
			weft.Handle(srv, "Demo.Echo", func(_ context.Context, e *stock.Everything) (*stock.Everything, error) { return e, nil }),
			weft.Handle(srv, "Demo.Get", func(_ context.Context, g *stock.DemoGetArgs) (*string, error) {
				switch g.ID {
				case 7:
					return nil, &stock.NotFound{What: "order", ID: 7}
				case 8:
					return nil, weft.Errorf(weft.PermissionDenied, "not for you")
				}
				text := "order"
				return &text, nil
			}),
			weft.Handle(srv, "Demo.Tell", func(_ context.Context, a *stock.DemoTellArgs) (*struct{}, error) {
				told <- a.What
				return &struct{}{}, nil
			}, thrift.Oneway()),
			weft.Handle(srv, "Demo.Ping", func(context.Context, *stock.DemoPingArgs) (*stock.DemoPingResult, error) {
				return &stock.DemoPingResult{}, nil
			}),
		)
	}
}

func everything() *stock.Everything {
	opt, ob := int64(-1)<<63, false
	return &stock.Everything{
		B: true, Y: -128, S: -32768, I: 1<<31 - 1, L: -1 << 63, D: -0.25, T: "text \u00e9", Raw: []byte{0, 255}, Nums: []int32{-1, 0, 1 << 30},
		Tags: []string{"a", "b"}, Inners: map[string]*stock.Inner{"x": {Name: "x", N: -7}}, Inner: &stock.Inner{Name: "in", N: 1}, Opt: &opt,
		Color: stock.Color_GREEN, Flags: []bool{true, false, true}, Deep: map[int32][]string{-5: {"p", "q"}, 6: {}}, Ob: &ob,
		Oi: slices.Repeat([]*stock.Inner{{Name: "o", N: 2}}, 20),
	}
}

// TestStockService calls handlers of both kinds by generated clients, in all dialects.
func TestStockService(t *testing.T) {
	told := make(chan string, 1)
	for name, register := range map[string]func(srv *weft.Server) error{"plain": plainHandlers(told), "generated": generatedHandlers(told)} {
		var value any = (*Missing)(nil)
		if name == "generated" {
			value = (*stock.NotFound)(nil)
		}
		throws := thrift.Exceptions{"Demo.Get": {{ID: 1, Name: "nf", Value: value}}}
		addr := start(t, &weft.ServerConfig{Plugins: []weft.Plugin{throws.Plugin()}}, register)
		for _, d := range dialects() {
			for _, multiplexed := range []bool{false, true} {
				t.Run(name+" "+d.name, func(t *testing.T) {
					conn, err := net.Dial("tcp", addr)
					must(t, err)
					defer conn.Close()
					must(t, conn.SetDeadline(time.Now().Add(patience)))
					proto := d.make(apache.NewTSocketFromConnConf(conn, config(true, 0)))
					out := proto
					if multiplexed {
						out = apache.NewTMultiplexedProtocol(proto, "Demo")
					}
					exercise(t, stock.NewDemoClient(apache.NewTStandardClient(proto, out)), told)
				})
			}
		}
	}
}

// exercise makes each call.
func exercise(t *testing.T, c *stock.DemoClient, told chan string) {
	ctx := t.Context()
	for range 3 {
		if sum, err := c.Add(ctx, 7, -8); sum != -1 || err != nil {
			t.Fatalf("add: %v, %v", sum, err)
		}
		want := everything()
		got, err := c.Echo(ctx, want)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("echo: %v\n got %+v\nwant %+v", err, got, want)
		}
		if text, err := c.Get(ctx, 1); text != "order" || err != nil {
			t.Fatalf("get: %q, %v", text, err)
		}
		_, err = c.Get(ctx, 7)
		if nf, ok := errors.AsType[*stock.NotFound](err); !ok || nf.What != "order" || nf.ID != 7 {
			t.Fatalf("get of what is not there: %v", err)
		}
		_, err = c.Get(ctx, 8)
		if e, ok := errors.AsType[apache.TApplicationException](err); !ok || e.TypeId() != apache.INTERNAL_ERROR || e.Error() != "PermissionDenied: not for you" {
			t.Fatalf("get of what is forbidden: %v", err)
		}
		must(t, c.Tell(ctx, "news"))
		if what := <-told; what != "news" {
			t.Fatalf("told %q", what)
		}
		must(t, c.Ping(ctx))
	}
	result := &stock.DemoPingResult{}
	_, err := c.Client_().Call(ctx, "missing", &stock.DemoPingArgs{}, result)
	if e, ok := errors.AsType[apache.TApplicationException](err); !ok || e.TypeId() != apache.UNKNOWN_METHOD {
		t.Fatalf("a method that does not exist: %v", err)
	}
	must(t, c.Ping(ctx))
}

// demo is a stock server of Demo.
type demo struct{ told chan string }

func (demo) Add(_ context.Context, a, b int32) (int32, error) { return a + b, nil }
func (demo) Echo(_ context.Context, e *stock.Everything) (*stock.Everything, error) {
	return e, nil
}
func (demo) Get(_ context.Context, id int32) (string, error) {
	switch id {
	case 7:
		return "", &stock.NotFound{What: "order", ID: 7}
	case 8:
		return "", errors.New("not for you")
	}
	return "order", nil
}
func (d demo) Tell(_ context.Context, what string) error {
	d.told <- what
	return nil
}
func (demo) Ping(context.Context) error { return nil }

// serveStock serves Demo by the stock library.
func serveStock(t *testing.T, d dialect, told chan string, multiplexed bool) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	var processor apache.TProcessor = stock.NewDemoProcessor(demo{told})
	if multiplexed {
		m := apache.NewTMultiplexedProcessor()
		m.RegisterProcessor("Demo", processor)
		processor = m
	}
	ended := make(chan struct{})
	go func() { // it ends with the listener
		defer close(ended)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() { // it ends with the connection
				defer conn.Close()
				proto := d.make(apache.NewTSocketFromConnConf(conn, config(true, 0)))
				for {
					ok, err := processor.Process(context.Background(), proto, proto)
					if e, is := errors.AsType[apache.TApplicationException](err); err != nil && !ok && (!is || e.TypeId() != apache.UNKNOWN_METHOD) {
						return
					}
				}
			}()
		}
	}()
	t.Cleanup(func() {
		l.Close()
		<-ended
	})
	return l.Addr().String()
}

// TestWireService calls stock servers, by plain structs and by generated ones, in all dialects.
func TestWireService(t *testing.T) {
	for _, d := range dialects() {
		t.Run(d.name, func(t *testing.T) {
			told := make(chan string, 1)
			for _, multiplexed := range []bool{false, true} {
				cfg := d.wire
				cfg.Multiplexed = multiplexed
				c, err := weft.Dial(t.Context(), "thrift://"+serveStock(t, d, told, multiplexed), &weft.ClientConfig{Wires: []weft.Wire{thrift.Wire(&cfg)}, Logger: slog.New(slog.DiscardHandler)})
				must(t, err)
				callStock(t, c, told)
				c.Close()
			}
		})
	}
}

func callStock(t *testing.T, c *weft.Client, told chan string) {
	ctx := t.Context()
	if sum, err := weft.Invoke[int32](ctx, c, "Demo.add", &Add{7, -8}); err != nil || *sum != -1 {
		t.Fatalf("add: %v", err)
	}
	if r, err := weft.Invoke[stock.DemoAddResult](ctx, c, "Demo.add", &stock.DemoAddArgs{A: 7, B: -8}); err != nil || r.GetSuccess() != -1 {
		t.Fatalf("add: %v", err)
	}
	want := everything()
	if got, err := weft.Invoke[stock.Everything](ctx, c, "Demo.echo", want); err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("echo: %v\n got %+v\nwant %+v", err, got, want)
	}
	plain := &Everything{B: true, Y: -1, Inner: &Inner{"x", 5}, Tags: []string{"t"}, Deep: map[int32][]string{1: {"a"}}}
	got, err := weft.Invoke[Everything](ctx, c, "Demo.echo", &EchoArgs{plain})
	must(t, err)
	if !got.B || got.Y != -1 || *got.Inner != *plain.Inner || !slices.Equal(got.Tags, plain.Tags) || !maps.EqualFunc(got.Deep, plain.Deep, slices.Equal) || got.Opt != nil {
		t.Fatalf("echo: %+v", got)
	}
	_, err = weft.Invoke[string](ctx, c, "Demo.get", &Get{7})
	var m Missing
	if !thrift.Caught(err, 1, &m) || m.What != "order" || m.ID != 7 || thrift.Caught(err, 2, &m) {
		t.Fatalf("get of what is not there: %v", err)
	}
	var nf stock.NotFound
	if !thrift.Caught(err, 1, &nf) || nf.ID != 7 {
		t.Fatalf("get of what is not there: %v", err)
	}
	r, err := weft.Invoke[stock.DemoGetResult](ctx, c, "Demo.get", &stock.DemoGetArgs{ID: 7})
	if err != nil || r.Nf == nil || r.Nf.ID != 7 {
		t.Fatalf("get of what is not there: %v, %v", r, err)
	}
	_, err = weft.Invoke[string](ctx, c, "Demo.get", &Get{8})
	if weft.CodeOf(err) != weft.Unknown || !strings.Contains(err.Error(), "not for you") {
		t.Fatalf("get of what is forbidden: %v", err)
	}
	news := "news"
	must(t, c.Notify(ctx, "Demo.tell", &news))
	if what := <-told; what != news {
		t.Fatalf("told %q", what)
	}
	must(t, c.Call(ctx, "Demo.ping", &struct{}{}, &struct{}{}))
	if err := c.Call(ctx, "Demo.ping", &struct{}{}, new(string)); weft.CodeOf(err) != weft.Internal {
		t.Errorf("a result that a method does not have: %v", err)
	}
	if err := c.Call(ctx, "Demo.missing", &struct{}{}, nil); weft.CodeOf(err) != weft.Unimplemented {
		t.Errorf("a method that does not exist: %v", err)
	}
}

// TestOrder has replies of several open calls go out in the order of the calls, also those of
// calls that end earlier, and a oneway call between them has none.
func TestOrder(t *testing.T) {
	release := make(chan struct{})
	addr := start(t, nil, func(srv *weft.Server) error {
		return errors.Join(
			weft.Handle(srv, "Demo.Slow", func(_ context.Context, a *Add) (*int32, error) {
				<-release
				return &a.A, nil
			}),
			weft.Handle(srv, "Demo.Fast", func(_ context.Context, a *Add) (*int32, error) { return &a.A, nil }),
			weft.Handle(srv, "Demo.Last", func(_ context.Context, a *Add) (*int32, error) {
				close(release)
				return &a.A, nil
			}))
	})
	conn, err := net.Dial("tcp", addr)
	must(t, err)
	defer conn.Close()
	must(t, conn.SetDeadline(time.Now().Add(patience)))
	var all []byte
	message := func(name string, kind byte, n int32) {
		b := append([]byte{0x80, 1, 0, kind, 0, 0, 0, byte(len(name))}, name...)
		b = binary.BigEndian.AppendUint32(b, uint32(n))
		b = append(b, 8, 0, 1)
		b = append(binary.BigEndian.AppendUint32(b, uint32(n)), 0)
		all = append(binary.BigEndian.AppendUint32(all, uint32(len(b))), b...)
	}
	message("Slow", 1, 100)
	for n := range int32(60) {
		message("Fast", 1, n)
	}
	message("Fast", 4, 7)
	message("Missing", 1, 60)
	message("Last", 1, 61)
	_, err = conn.Write(all)
	must(t, err)
	want := append([]int32{100}, func() (n []int32) {
		for i := range int32(62) {
			n = append(n, i)
		}
		return n
	}()...)
	for _, seq := range want {
		var size [4]byte
		_, err := io.ReadFull(conn, size[:])
		must(t, err)
		b := make([]byte, binary.BigEndian.Uint32(size[:]))
		_, err = io.ReadFull(conn, b)
		must(t, err)
		name := int(binary.BigEndian.Uint32(b[4:]))
		if got := int32(binary.BigEndian.Uint32(b[8+name:])); got != seq {
			t.Fatalf("a reply with the number %d, want %d", got, seq)
		}
	}
}

// TestHeaders: what THeader carries besides.
func TestHeaders(t *testing.T) {
	addr := start(t, &weft.ServerConfig{Authenticate: func(_ context.Context, cred weft.Credential, _ *weft.CallInfo) (any, error) {
		if cred.Token != "secret" {
			return nil, weft.Errorf(weft.Unauthenticated, "the credential is wrong")
		}
		return "guest", nil
	}}, func(srv *weft.Server) error {
		return weft.Handle(srv, "Demo.Get", func(ctx context.Context, g *Get) (*string, error) {
			if g.ID == 1 {
				<-ctx.Done()
				return nil, ctx.Err()
			}
			text := weft.MetadataFrom(ctx).Get("color")
			return &text, errors.Join(weft.SetReplyMetadata(ctx, "shape", "round"))
		})
	})
	for _, transforms := range [][]apache.THeaderTransformID{nil, {apache.TransformZlib}} {
		cfg := config(true, apache.THeaderProtocolCompact)
		cfg.THeaderTransforms = transforms
		conn, err := net.Dial("tcp", addr)
		must(t, err)
		defer conn.Close()
		must(t, conn.SetDeadline(time.Now().Add(patience)))
		proto := apache.NewTHeaderProtocolConf(apache.NewTSocketFromConnConf(conn, cfg), cfg)
		c := stock.NewDemoClient(apache.NewTStandardClient(proto, proto))
		with := func(pairs ...string) context.Context {
			ctx := t.Context()
			var keys []string
			for i := 0; i < len(pairs); i += 2 {
				ctx = apache.SetHeader(ctx, pairs[i], pairs[i+1])
				keys = append(keys, pairs[i])
			}
			return apache.SetWriteHeaderList(ctx, keys)
		}
		text, err := c.Get(with("authorization", "Bearer secret", "color", "red"), 2)
		if text != "red" || err != nil || c.LastResponseMeta_().Headers["shape"] != "round" {
			t.Errorf("%q, %v, %v", text, err, c.LastResponseMeta_().Headers)
		}
		_, err = c.Get(with("color", "red"), 2)
		if h := c.LastResponseMeta_().Headers; err == nil || h["weft-code"] != "Unauthenticated" || h["weft-outcome"] != "Refused" {
			t.Errorf("without a credential: %v, %v", err, h)
		}
		_, err = c.Get(with("authorization", "Bearer secret", "weft-timeout", "20"), 1)
		if h := c.LastResponseMeta_().Headers; err == nil || h["weft-code"] != "DeadlineExceeded" {
			t.Errorf("with a timeout: %v, %v", err, h)
		}
	}
}

// TestTooLarge refuses a frame that is too large and serves the next one on the same connection.
func TestTooLarge(t *testing.T) {
	addr := start(t, &weft.ServerConfig{Limits: weft.Limits{MaxMessage: 16 << 10}}, func(srv *weft.Server) error {
		return weft.Handle(srv, "Demo.Echo", func(_ context.Context, s *[]byte) (*[]byte, error) { return s, nil })
	})
	c, err := weft.Dial(t.Context(), "thrift://"+addr, &weft.ClientConfig{Wires: []weft.Wire{thrift.Wire(nil)}, Logger: slog.New(slog.DiscardHandler)})
	must(t, err)
	defer c.Close()
	for _, n := range []int{1, 15 << 10, 17 << 10, 1 << 20, 2} {
		b := bytes.Repeat([]byte{1}, n)
		back, err := weft.Invoke[[]byte](t.Context(), c, "Demo.Echo", &b)
		if n < 16<<10 && (err != nil || !bytes.Equal(*back, b)) || n > 16<<10 && weft.CodeOf(err) != weft.ResourceExhausted {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
	if n := c.Stats().Connects; n != 1 {
		t.Errorf("%d connections were made", n)
	}
}

// TestQueue: a client that goes on sending calls while the first one holds up all replies is cut
// off, and is told of those that were refused before.
func TestQueue(t *testing.T) {
	addr := start(t, &weft.ServerConfig{Limits: weft.Limits{MaxCalls: 4}}, func(srv *weft.Server) error {
		return weft.Handle(srv, "Demo.Wait", func(ctx context.Context, _ *Get) (*string, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		})
	})
	conn, err := net.Dial("tcp", addr)
	must(t, err)
	defer conn.Close()
	must(t, conn.SetDeadline(time.Now().Add(patience)))
	message := []byte("\x82\x21\x01\x04Wait\x00")
	_, err = conn.Write(bytes.Repeat(message, 1000))
	must(t, err)
	if _, err := io.Copy(io.Discard, conn); err != nil && isTimeout(err) {
		t.Errorf("the connection is still open: %v", err)
	}
}

// TestGivenUp: a call whose caller has left occupies its connection until its reply comes, and the
// next call gets another one.
func TestGivenUp(t *testing.T) {
	release := make(chan struct{})
	processor := stock.NewDemoProcessor(stuck{demo{nil}, release})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	go func() { // it ends with the listener
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() { // it ends with the connection
				defer conn.Close()
				proto := dialects()[0].make(apache.NewTSocketFromConnConf(conn, config(true, 0)))
				for ok := true; ok; {
					ok, _ = processor.Process(context.Background(), proto, proto)
				}
			}()
		}
	}()
	defer l.Close()
	c, err := weft.Dial(t.Context(), "thrift://"+l.Addr().String(), &weft.ClientConfig{Wires: []weft.Wire{thrift.Wire(nil)}, Logger: slog.New(slog.DiscardHandler)})
	must(t, err)
	defer c.Close()
	err = c.Call(t.Context(), "Demo.get", &Get{1}, new(string), weft.WithTimeout(30*time.Millisecond))
	if weft.CodeOf(err) != weft.DeadlineExceeded {
		t.Errorf("a call without a reply: %v", err)
	}
	for range 10 {
		must(t, c.Call(t.Context(), "Demo.ping", &struct{}{}, nil))
	}
	close(release)
}

// stuck is a service whose Get waits.
type stuck struct {
	demo
	release chan struct{}
}

func (s stuck) Get(context.Context, int32) (string, error) {
	<-s.release
	return "", nil
}

// TestCredentials: a credential is carried by THeader, and otherwise the log tells that it is not.
func TestCredentials(t *testing.T) {
	addr := start(t, nil, func(srv *weft.Server) error {
		return weft.Handle(srv, "Demo.Get", func(ctx context.Context, _ *Get) (*string, error) {
			text := weft.MetadataFrom(ctx).Get("authorization")
			return &text, nil
		})
	})
	secret := weft.Credential{Scheme: "Bearer", Token: "secret"}
	for name, cfg := range map[string]weft.ClientConfig{
		"of the connection": {ConnCredential: func(context.Context) (weft.Credential, error) { return secret, nil }},
		"of a call":         {Credential: func(context.Context, string) (weft.Credential, error) { return secret, nil }},
	} {
		for _, framing := range []thrift.Framing{thrift.Framed, thrift.THeader} {
			var log strings.Builder
			cfg.Wires, cfg.Logger = []weft.Wire{thrift.Wire(&thrift.WireConfig{Framing: framing})}, slog.New(slog.NewTextHandler(&log, nil))
			c, err := weft.Dial(t.Context(), "thrift://"+addr, &cfg)
			must(t, err)
			want, told := "", 1
			if framing == thrift.THeader {
				want, told = "Bearer secret", 0
			}
			for range 2 {
				if got, err := weft.Invoke[string](t.Context(), c, "Demo.Get", &Get{}); err != nil || *got != want {
					t.Errorf("%s: the server got %v, %v, want %q", name, got, err, want)
				}
			}
			c.Close() // no goroutine writes to the log after it
			if text := log.String(); strings.Count(text, "carries credentials by THeader alone") != told || strings.Contains(text, "secret") {
				t.Errorf("%s: the log has %q", name, text)
			}
		}
	}
}

// TestEmptyFrame: a frame with THeader without a message, as the library for C++ sends it before it closes a connection,
// does no harm to the connection.
func TestEmptyFrame(t *testing.T) {
	addr := start(t, nil, plainHandlers(nil))
	conn, err := net.Dial("tcp", addr)
	must(t, err)
	defer conn.Close()
	must(t, conn.SetDeadline(time.Now().Add(patience)))
	_, err = conn.Write([]byte("\x00\x00\x00\x0e\x0f\xff\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x82\x21\x01\x04ping\x00"))
	must(t, err)
	reply := make([]byte, 9)
	_, err = io.ReadFull(conn, reply)
	must(t, err)
	if string(reply) != "\x82\x41\x01\x04ping\x00" {
		t.Errorf("%q", reply)
	}
}

// TestJSON: what the door and the wire do with messages of the JSON protocol that stock clients do not send.
func TestJSON(t *testing.T) {
	addr := start(t, nil, plainHandlers(nil))
	conn, err := net.Dial("tcp", addr)
	must(t, err)
	defer conn.Close()
	must(t, conn.SetDeadline(time.Now().Add(patience)))
	for _, c := range []struct{ call, want string }{
		{`[1,"add",1,-5,{"1":{"i32":7},"2":{"i32":-8}}]`, `[1,"add",2,-5,{"0":{"i32":-1}}]`},
		{`[1,"Demo:add", 1, 1, {"2" : {"i64" : 3}}]`, `[1,"add",2,1,{"0":{"i32":3}}]`},
		{`[1,"add",1,6,{"1":{"i32":"x"}}]`, `[1,"add",3,6,{"1":{"str":"InvalidArgument (Refused): decode the request with codec thrift: thrift: \"x\" is no integer of 32 bits"},"2":{"i32":7}}]`},
		{`[1,"get",1,7,{"1":{"i32":8}}]`, `[1,"get",3,7,{"1":{"str":"PermissionDenied: not for you"},"2":{"i32":6}}]`},
		{`[1,"ping",1,8,{}]`, `[1,"ping",2,8,{}]`},
	} {
		for i := range len(c.call) { // in pieces
			if i%7 == 0 {
				_, err = io.WriteString(conn, c.call[i:min(i+7, len(c.call))])
				must(t, err)
			}
		}
		reply := make([]byte, len(c.want))
		if _, err := io.ReadFull(conn, reply); err != nil || string(reply) != c.want {
			t.Fatalf("%s\n got %s, %v\nwant %s", c.call, reply, err, c.want)
		}
	}
	_, err = weft.Dial(t.Context(), "thrift://"+addr, &weft.ClientConfig{Wires: []weft.Wire{thrift.Wire(&thrift.WireConfig{Protocol: thrift.JSON, Framing: thrift.THeader})},
		Logger: slog.New(slog.DiscardHandler)})
	if err == nil || !strings.Contains(err.Error(), "THeader does not carry the JSON protocol") {
		t.Errorf("a wire with JSON and THeader: %v", err)
	}
}

// TestStrangersJSON: a message of the JSON protocol is not translated before its caller is authenticated.
func TestStrangersJSON(t *testing.T) {
	addr := start(t, &weft.ServerConfig{Authenticate: func(context.Context, weft.Credential, *weft.CallInfo) (any, error) {
		return nil, errors.New("a stranger")
	}}, plainHandlers(nil))
	conn, err := net.Dial("tcp", addr)
	must(t, err)
	defer conn.Close()
	must(t, conn.SetDeadline(time.Now().Add(patience)))
	_, err = io.WriteString(conn, `[1,"add",1,6,{"1":{"i32":"x"}}]`)
	must(t, err)
	reply := make([]byte, 60)
	if _, err := io.ReadFull(conn, reply); err != nil || !strings.Contains(string(reply), "Unauthenticated (Refused)") {
		t.Errorf("%s, %v", reply, err)
	}
}

// Torn is an exception with text and bytes.
type Torn struct {
	Text string `thrift:"text,1"`
	Raw  []byte `thrift:"raw,2"`
}

// TestJSONException: an exception has its texts as they are and its bytes in base64, also those that are valid text.
func TestJSONException(t *testing.T) {
	addr := start(t, nil, func(srv *weft.Server) error {
		return weft.Handle(srv, "Demo.tear", func(context.Context, *struct{}) (*string, error) {
			return nil, thrift.Throw(1, &Torn{"text", []byte("raw!")})
		})
	})
	conn, err := net.Dial("tcp", addr)
	must(t, err)
	defer conn.Close()
	must(t, conn.SetDeadline(time.Now().Add(patience)))
	_, err = io.WriteString(conn, `[1,"tear",1,0,{}]`)
	must(t, err)
	const want = `[1,"tear",2,0,{"1":{"rec":{"1":{"str":"text"},"2":{"str":"cmF3IQ=="}}}}]`
	reply := make([]byte, len(want))
	if _, err := io.ReadFull(conn, reply); err != nil || string(reply) != want {
		t.Errorf("%s, %v\nwant %s", reply, err, want)
	}
	c, err := weft.Dial(t.Context(), "thrift://"+addr, &weft.ClientConfig{Wires: []weft.Wire{thrift.Wire(&thrift.WireConfig{Protocol: thrift.JSON})}, Logger: slog.New(slog.DiscardHandler)})
	must(t, err)
	defer c.Close()
	_, err = weft.Invoke[string](t.Context(), c, "Demo.tear", &struct{}{})
	var torn Torn
	if !thrift.Caught(err, 1, &torn) || torn.Text != "text" || string(torn.Raw) != "raw!" {
		t.Errorf("%+v, %v", torn, err)
	}
}
