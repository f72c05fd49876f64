package interop

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	nethttp "net/http"
	"net/http/httptest"
	"strings"
	"testing"

	stock "connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/compress"
	"github.com/weftrpc/weft/compress/gzip"
	"github.com/weftrpc/weft/door/connect"
)

type (
	text   = wrapperspb.StringValue
	number = wrapperspb.Int64Value
)

// notFound is the error of the trials.
func notFound() *weft.Error {
	b := durationpb.New(1500)
	return weft.Errorf(weft.NotFound, "nothing here").WithDetail(string(b.ProtoReflect().Descriptor().FullName()), []byte{0x10, 0xdc, 0x0b}).WithReason("NONE")
}

// serve starts a weft server with the doors.
func serve(t *testing.T) (address string) {
	t.Helper()
	srv := weft.NewServer(&weft.ServerConfig{Doors: connect.Doors(nil), Logger: slog.New(slog.DiscardHandler),
		Compressors: []compress.Compressor{gzip.New()}, Compressor: gzip.New()})
	must(t, errors.Join(
		weft.Handle(srv, "test.Test.Echo", func(ctx context.Context, m *text) (*text, error) {
			if err := weft.SetReplyMetadata(ctx, "got", weft.MetadataFrom(ctx).Get("sent")); err != nil {
				return nil, err
			}
			return m, nil
		}, weft.Idempotent()),
		weft.Handle(srv, "test.Test.Fail", func(context.Context, *text) (*text, error) { return nil, notFound() }),
		weft.HandleServerStream(srv, "test.Test.Count", func(_ context.Context, n *number, out *weft.Sender[number]) error {
			for i := range n.Value {
				if err := out.Send(wrapperspb.Int64(i)); err != nil {
					return err
				}
			}
			return notFound()
		}),
		weft.HandleClientStream(srv, "test.Test.Sum", func(_ context.Context, in *weft.Receiver[number]) (*number, error) {
			sum := int64(0)
			for n, err := range in.All() {
				if err != nil {
					return nil, err
				}
				sum += n.Value
			}
			return wrapperspb.Int64(sum), nil
		}),
		weft.HandleStream(srv, "test.Test.Talk", func(_ context.Context, s *weft.Stream[text, text]) error {
			for m, err := range s.All() {
				if err != nil {
					return err
				}
				if err := s.Send(wrapperspb.String(strings.ToUpper(m.Value))); err != nil {
					return err
				}
			}
			return nil
		}),
	))
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

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// stockClient is a client of net/http, of one version of HTTP.
func stockClient(t *testing.T, http2 bool) *nethttp.Client {
	transport := &nethttp.Transport{Protocols: new(nethttp.Protocols)}
	transport.Protocols.SetHTTP1(!http2)
	transport.Protocols.SetUnencryptedHTTP2(http2)
	t.Cleanup(transport.CloseIdleConnections)
	return &nethttp.Client{Transport: transport}
}

// TestStockClient calls the doors with connect-go: by each of its protocols, in both codecs, over both versions of
// HTTP, and with GET.
func TestStockClient(t *testing.T) {
	address := serve(t)
	for _, http2 := range []bool{false, true} {
		for name, opts := range map[string][]stock.ClientOption{
			"Connect": nil, "Connect with JSON": {stock.WithProtoJSON()}, "Connect with GET": {stock.WithHTTPGet(), stock.WithHTTPGetMaxURLSize(4096, true)},
			"gzip": {stock.WithSendGzip()}, "gRPC-Web": {stock.WithGRPCWeb()}, "gRPC": {stock.WithGRPC()},
		} {
			if name == "gRPC" && !http2 {
				continue
			}
			t.Run(fmt.Sprintf("%s over HTTP2 %v", name, http2), func(t *testing.T) {
				tryStockClient(t, stockClient(t, http2), "http://"+address, http2, opts)
			})
		}
	}
}

func tryStockClient(t *testing.T, hc *nethttp.Client, base string, http2 bool, opts []stock.ClientOption) {
	ctx := t.Context()
	for _, size := range []int{0, 10, 100 << 10} {
		c := stock.NewClient[text, text](hc, base+"/test.Test/Echo", append(opts, stock.WithIdempotency(stock.IdempotencyNoSideEffects))...)
		req := stock.NewRequest(wrapperspb.String(strings.Repeat("x", size)))
		req.Header().Set("Sent", "a value")
		res, err := c.CallUnary(ctx, req)
		must(t, err)
		if len(res.Msg.Value) != size || res.Header().Get("Got")+res.Trailer().Get("Got") != "a value" {
			t.Fatalf("%d bytes came back, metadata %v and %v", len(res.Msg.Value), res.Header(), res.Trailer())
		}
	}
	_, err := stock.NewClient[text, text](hc, base+"/test.Test/Fail", opts...).CallUnary(ctx, stock.NewRequest(wrapperspb.String("")))
	wantNotFound(t, err)
	_, err = stock.NewClient[text, text](hc, base+"/test.Test/Missing", opts...).CallUnary(ctx, stock.NewRequest(wrapperspb.String("")))
	if stock.CodeOf(err) != stock.CodeUnimplemented {
		t.Errorf("a method that is not there: %v", err)
	}

	count, err := stock.NewClient[number, number](hc, base+"/test.Test/Count", opts...).CallServerStream(ctx, stock.NewRequest(wrapperspb.Int64(3)))
	must(t, err)
	for i := int64(0); i < 3; i++ {
		if !count.Receive() || count.Msg().Value != i {
			t.Fatalf("message %d: %v", i, count.Err())
		}
	}
	if count.Receive() {
		t.Error("a fourth message came")
	}
	wantNotFound(t, count.Err())
	must(t, count.Close())

	sum := stock.NewClient[number, number](hc, base+"/test.Test/Sum", opts...).CallClientStream(ctx)
	for i := range 100 {
		must(t, sum.Send(wrapperspb.Int64(int64(i))))
	}
	total, err := sum.CloseAndReceive()
	must(t, err)
	if total.Msg.Value != 4950 {
		t.Errorf("the sum is %d", total.Msg.Value)
	}

	if !http2 {
		return // connect-go has no streams in both directions over HTTP/1.1
	}
	talk := stock.NewClient[text, text](hc, base+"/test.Test/Talk", opts...).CallBidiStream(ctx)
	for i := range 10 {
		must(t, talk.Send(wrapperspb.String(fmt.Sprint("word", i))))
		if m, err := talk.Receive(); err != nil || m.Value != fmt.Sprint("WORD", i) {
			t.Fatalf("%v, %v", m, err)
		}
	}
	must(t, talk.CloseRequest())
	if _, err := talk.Receive(); !errors.Is(err, io.EOF) {
		t.Errorf("the end is %v", err)
	}
	must(t, talk.CloseResponse())
}

func wantNotFound(t *testing.T, err error) {
	t.Helper()
	e := new(stock.Error)
	if !errors.As(err, &e) || e.Code() != stock.CodeNotFound || e.Message() != "nothing here" || len(e.Details()) == 0 {
		t.Fatalf("%v, want not_found with a detail", err)
	}
	for _, d := range e.Details() {
		if v, err := d.Value(); err == nil {
			if v, ok := v.(*durationpb.Duration); ok && v.Nanos == 1500 {
				return
			}
		}
	}
	t.Fatalf("no detail is the duration: %v", e.Details())
}

// TestStockServer calls connect-go's server with the wire, over both versions of HTTP.
func TestStockServer(t *testing.T) {
	mux := nethttp.NewServeMux()
	mux.Handle("/test.Test/Echo", stock.NewUnaryHandler("/test.Test/Echo", func(_ context.Context, r *stock.Request[text]) (*stock.Response[text], error) {
		res := stock.NewResponse(r.Msg)
		res.Header().Set("Got", r.Header().Get("Sent"))
		res.Trailer().Set("Verb", r.HTTPMethod())
		return res, nil
	}, stock.WithIdempotency(stock.IdempotencyNoSideEffects)))
	fail := func() error {
		e := stock.NewError(stock.CodeNotFound, errors.New("nothing here"))
		d, err := stock.NewErrorDetail(durationpb.New(1500))
		if err != nil {
			return err
		}
		e.AddDetail(d)
		return e
	}
	mux.Handle("/test.Test/Fail", stock.NewUnaryHandler("/test.Test/Fail", func(context.Context, *stock.Request[text]) (*stock.Response[text], error) { return nil, fail() }))
	mux.Handle("/test.Test/Count", stock.NewServerStreamHandler("/test.Test/Count", func(_ context.Context, r *stock.Request[number], s *stock.ServerStream[number]) error {
		for i := range r.Msg.Value {
			if err := s.Send(wrapperspb.Int64(i)); err != nil {
				return err
			}
		}
		return fail()
	}))
	mux.Handle("/test.Test/Sum", stock.NewClientStreamHandler("/test.Test/Sum", func(_ context.Context, s *stock.ClientStream[number]) (*stock.Response[number], error) {
		sum := int64(0)
		for s.Receive() {
			sum += s.Msg().Value
		}
		return stock.NewResponse(wrapperspb.Int64(sum)), s.Err()
	}))
	mux.Handle("/test.Test/Talk", stock.NewBidiStreamHandler("/test.Test/Talk", func(_ context.Context, s *stock.BidiStream[text, text]) error {
		for {
			m, err := s.Receive()
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return err
			}
			if err := s.Send(wrapperspb.String(strings.ToUpper(m.Value))); err != nil {
				return err
			}
		}
	}))
	srv := httptest.NewUnstartedServer(mux)
	srv.Config.Protocols = new(nethttp.Protocols)
	srv.Config.Protocols.SetHTTP1(true)
	srv.Config.Protocols.SetUnencryptedHTTP2(true)
	srv.Start()
	t.Cleanup(srv.Close)
	for _, http2 := range []bool{false, true} {
		for _, get := range []bool{false, true} {
			t.Run(fmt.Sprintf("HTTP2 %v GET %v", http2, get), func(t *testing.T) { tryStockServer(t, srv.Listener.Addr(), http2, get) })
		}
	}
}

func tryStockServer(t *testing.T, addr net.Addr, http2, get bool) {
	ctx := t.Context()
	c, err := weft.Dial(ctx, "connect+http://"+addr.String(), &weft.ClientConfig{Logger: slog.New(slog.DiscardHandler),
		Wires:       []weft.Wire{connect.Wire(&connect.WireConfig{HTTP2: http2, Get: func(method string) bool { return get && method == "test.Test.Echo" }})},
		Compressors: []compress.Compressor{gzip.New()}, Compressor: gzip.New()})
	must(t, err)
	defer c.Close()
	for _, size := range []int{0, 10, 100 << 10} {
		var reply weft.Metadata
		m, err := weft.Invoke[text](weft.WithMetadata(ctx, "sent", "a value"), c, "test.Test.Echo", wrapperspb.String(strings.Repeat("x", size)), weft.WithReplyMetadata(&reply))
		must(t, err)
		verb := "POST"
		if get {
			verb = "GET"
		}
		if len(m.Value) != size || reply.Get("got") != "a value" || reply.Get("verb") != verb {
			t.Fatalf("%d bytes came back, metadata %v", len(m.Value), reply)
		}
	}
	_, err = weft.Invoke[text](ctx, c, "test.Test.Fail", wrapperspb.String(""))
	wantWeftNotFound(t, err)
	_, err = weft.Invoke[text](ctx, c, "test.Test.Missing", wrapperspb.String(""))
	if e, ok := errors.AsType[*weft.Error](err); !ok || e.Code != weft.Unimplemented || e.Outcome != weft.Refused {
		t.Errorf("a method that is not there: %v", err)
	}
	count, err := weft.Subscribe[number](ctx, c, "test.Test.Count", wrapperspb.Int64(3))
	must(t, err)
	got := int64(0)
	for n, err := range count.All() {
		if err != nil {
			wantWeftNotFound(t, err)
			break
		}
		if n.Value != got {
			t.Errorf("message %d is %d", got, n.Value)
		}
		got++
	}
	if got != 3 {
		t.Errorf("%d messages came", got)
	}
	sum, err := weft.OpenStream[number, number](ctx, c, "test.Test.Sum")
	must(t, err)
	for i := range 100 {
		must(t, sum.Send(wrapperspb.Int64(int64(i))))
	}
	total, err := sum.CloseAndRecv()
	must(t, err)
	if total.Value != 4950 {
		t.Errorf("the sum is %d", total.Value)
	}
	if !http2 {
		return
	}
	talk, err := weft.OpenStream[text, text](ctx, c, "test.Test.Talk")
	must(t, err)
	for i := range 10 {
		must(t, talk.Send(wrapperspb.String(fmt.Sprint("word", i))))
		if m, err := talk.Recv(); err != nil || m.Value != fmt.Sprint("WORD", i) {
			t.Fatalf("%v, %v", m, err)
		}
	}
	must(t, talk.CloseSend())
	if _, err := talk.Recv(); !errors.Is(err, io.EOF) {
		t.Errorf("the end is %v", err)
	}
}

func wantWeftNotFound(t *testing.T, err error) {
	t.Helper()
	e, ok := errors.AsType[*weft.Error](err)
	if !ok || e.Code != weft.NotFound || e.Message != "nothing here" || e.Outcome != weft.Executed || len(e.Details) != 1 || e.Details[0].Type != "google.protobuf.Duration" {
		t.Fatalf("%v, want NotFound with a detail", err)
	}
}
