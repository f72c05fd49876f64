package protovalidate_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/protobuf/proto"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/codec/json"
	"github.com/weftrpc/weft/door/grpc"
	weftdoor "github.com/weftrpc/weft/door/http"
	"github.com/weftrpc/weft/plugin/internal/plugintest"
	"github.com/weftrpc/weft/plugin/protovalidate"
	"github.com/weftrpc/weft/plugin/protovalidate/shop"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func plugin(t testing.TB, cfg *protovalidate.Config) []weft.Plugin {
	t.Helper()
	p, err := protovalidate.New(cfg)
	must(t, err)
	return []weft.Plugin{p}
}

// serve starts a server with the methods of a shop.
func serve(t testing.TB, cfg *protovalidate.Config) *plugintest.World {
	t.Helper()
	w := plugintest.Serve(t, &weft.ServerConfig{Plugins: plugin(t, cfg), Doors: []weft.Door{grpc.Door(nil), weftdoor.Door(nil)}})
	must(t, weft.Handle(w.Server, "Shop.Buy", func(context.Context, *shop.Order) (*shop.Receipt, error) { return &shop.Receipt{Number: "1"}, nil }))
	must(t, weft.Handle(w.Server, "Shop.Show", func(_ context.Context, r *shop.Receipt) (*shop.Receipt, error) { return r, nil }))
	must(t, weft.Handle(w.Server, "Shop.Broken", func(context.Context, *shop.Broken) (*shop.Receipt, error) { return &shop.Receipt{}, nil }))
	must(t, weft.Handle(w.Server, "Shop.Failing", func(context.Context, *shop.Failing) (*shop.Receipt, error) { return &shop.Receipt{}, nil }))
	must(t, weft.HandleClientStream(w.Server, "Shop.BuyMany", func(_ context.Context, in *weft.Receiver[shop.Order]) (*shop.Receipt, error) {
		n := 0
		for _, err := range in.All() {
			if err != nil {
				return nil, err
			}
			n++
		}
		return &shop.Receipt{Number: fmt.Sprint(n)}, nil
	}))
	return w
}

func good() *shop.Order {
	return &shop.Order{Email: "ada@example.org", Items: []*shop.Item{{Sku: "AB1234", Count: 1}}}
}

// wrong breaks six rules.
func wrong() *shop.Order {
	return &shop.Order{Email: "ada", Items: []*shop.Item{{Sku: "AB1234"}}, Discount: 5, Notes: map[string]string{"a key that is too long": ""}}
}

// violations are what the details of an error tell, in order.
func violations(err error) (all []string) {
	for _, bad := range weft.Details[errdetails.BadRequest](err) {
		for _, v := range bad.FieldViolations {
			all = append(all, v.Field+" "+v.Reason)
		}
	}
	slices.Sort(all)
	return all
}

// A request that breaks rules is refused over weft's own wire, gRPC and HTTP, with every violation; one
// that breaks none, one without rules, and one of another type pass.
func TestWires(t *testing.T) {
	w := serve(t, nil)
	over, err := weft.Dial(t.Context(), "grpc://"+w.Addr, &weft.ClientConfig{Wires: []weft.Wire{grpc.Wire(nil)}, Logger: slog.New(slog.DiscardHandler)})
	must(t, err)
	defer over.Close()
	want := []string{" ORDER_DISCOUNT", "email STRING_EMAIL", "items[0].count UINT32_GTE_LTE", `notes["a key that is too long"] STRING_MAX_LEN`}
	for name, c := range map[string]*weft.Client{"weft": w.Dial(t, nil), "grpc": over} {
		err := c.Call(t.Context(), "Shop.Buy", wrong(), &shop.Receipt{})
		e, ok := errors.AsType[*weft.Error](err)
		if !ok || e.Code != weft.InvalidArgument || e.Reason != protovalidate.Reason || !strings.Contains(e.Message, "the request is not valid: ") || !strings.HasSuffix(e.Message, "; and 3 more") {
			t.Errorf("over %s: %v", name, err)
		}
		if got := violations(err); !slices.Equal(got, want) {
			t.Errorf("over %s: %q, want %q", name, got, want)
		}
		if err := c.Call(t.Context(), "Shop.Buy", good(), &shop.Receipt{}); err != nil {
			t.Errorf("over %s: %v", name, err)
		}
		if err := c.Call(t.Context(), "Shop.Show", &shop.Receipt{}, &shop.Receipt{}); err != nil {
			t.Errorf("over %s: %v", name, err)
		}
	}
	must(t, w.Dial(t, nil).Call(t.Context(), "Arith.Mul", &plugintest.Args{A: 6}, nil))

	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+w.Addr+"/Shop/Buy", strings.NewReader(`{"email":"ada"}`))
	must(t, err)
	req.Header.Set("Content-Type", "application/json")
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: time.Minute}
	resp, err := client.Do(req)
	must(t, err)
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusBadRequest {
		t.Errorf("over HTTP: %s", resp.Status)
	}
}

// embedded is a request that has the fields of an order, and one of its own.
type embedded struct {
	*shop.Order
	Coupon string
}

// loose may have any message, or none.
type loose struct {
	proto.Message `json:"-"`
	Coupon        string
}

// A struct that embeds a message is no message: its rules hold for what it embeds, and there may be none.
func TestEmbedded(t *testing.T) {
	w := serve(t, nil)
	must(t, weft.Handle(w.Server, "Shop.BuyWith", func(_ context.Context, e *embedded) (*shop.Receipt, error) {
		return &shop.Receipt{Number: e.Coupon}, nil
	}))
	must(t, weft.Handle(w.Server, "Shop.Loose", func(_ context.Context, e *loose) (*shop.Receipt, error) { return &shop.Receipt{Number: e.Coupon}, nil }))
	c := w.Dial(t, nil)
	asks := w.Dial(t, &weft.ClientConfig{Plugins: plugin(t, nil)})
	for name, c := range map[string]*weft.Client{"a server": c, "a client": asks} {
		err := c.Call(t.Context(), "Shop.BuyWith", &embedded{wrong(), "x"}, &shop.Receipt{}, weft.WithCodec(json.New()))
		if !errors.Is(err, weft.InvalidArgument) || len(violations(err)) != 4 {
			t.Errorf("%s: what breaks rules: %v", name, err)
		}
		for what, call := range map[string]struct {
			method string
			req    any
		}{
			"what breaks none":   {"Shop.BuyWith", &embedded{good(), "x"}},
			"no message":         {"Shop.BuyWith", &embedded{nil, "x"}},
			"an empty interface": {"Shop.Loose", &loose{nil, "x"}},
		} {
			var r shop.Receipt
			if err := c.Call(t.Context(), call.method, call.req, &r, weft.WithCodec(json.New())); err != nil || r.Number != "x" {
				t.Errorf("%s: %s: %v, %v", name, what, err, &r)
			}
		}
	}
}

// Every message of a stream is checked.
func TestStream(t *testing.T) {
	c := serve(t, nil).Dial(t, nil)
	for n, last := range map[string]*shop.Order{"2": good(), "": wrong()} {
		stream, err := weft.OpenStream[shop.Order, shop.Receipt](t.Context(), c, "Shop.BuyMany")
		must(t, err)
		must(t, stream.Send(good()))
		_ = stream.Send(last)
		r, err := stream.CloseAndRecv()
		if n == "" && !errors.Is(err, weft.InvalidArgument) || n != "" && (err != nil || r.Number != n) {
			t.Errorf("%v, %v", r, err)
		}
	}
}

// A client does not send what breaks the rules.
func TestClient(t *testing.T) {
	w := plugintest.Serve(t, nil)
	c := w.Dial(t, &weft.ClientConfig{Plugins: plugin(t, &protovalidate.Config{FailFast: true, Methods: []string{"Shop.*"}})})
	err := c.Call(t.Context(), "Shop.Buy", wrong(), &shop.Receipt{})
	plugintest.IsError(t, err, weft.InvalidArgument, weft.NotSent)
	if got := violations(err); len(got) != 1 {
		t.Errorf("with FailFast there are %q", got)
	}
	plugintest.IsError(t, c.Call(t.Context(), "Other.Buy", wrong(), &shop.Receipt{}), weft.Unimplemented, weft.Refused)
}

// Rules that are wrong are an error of New for the messages that it is told of, and of each call for
// others: with the cause in the log, once, and not for callers.
func TestWrongRules(t *testing.T) {
	for _, m := range []proto.Message{nil, &shop.Broken{}} {
		if _, err := protovalidate.New(&protovalidate.Config{Messages: []proto.Message{m}}); !errors.Is(err, weft.InvalidArgument) {
			t.Errorf("%v: %v", m, err)
		}
	}
	var out bytes.Buffer // the handlers of slog lock
	w := serve(t, &protovalidate.Config{Logger: slog.New(slog.NewTextHandler(&out, nil)), Messages: []proto.Message{&shop.Order{}, &shop.Failing{}}})
	c := w.Dial(t, nil)
	for range 2 {
		for method, req := range map[string]proto.Message{"Shop.Broken": &shop.Broken{Text: "x"}, "Shop.Failing": &shop.Failing{}} {
			e := plugintest.IsError(t, c.Call(t.Context(), method, req, &shop.Receipt{}), weft.Internal, weft.Executed)
			if e.Reason != protovalidate.ReasonRules || strings.Contains(e.Message, "nothing") {
				t.Error(e)
			}
		}
	}
	must(t, c.Call(t.Context(), "Shop.Failing", &shop.Failing{Values: []int32{1}}, &shop.Receipt{}))
	if n := strings.Count(out.String(), "\n"); n != 2 {
		t.Errorf("%d records, want one for each message:\n%s", n, out.String())
	}
}

// What an error tells of a request that breaks many rules is bounded.
func TestManyViolations(t *testing.T) {
	c := serve(t, nil).Dial(t, nil)
	order := good()
	for range 1000 {
		order.Items = append(order.Items, &shop.Item{Sku: strings.Repeat("x", 1000)})
	}
	err := c.Call(t.Context(), "Shop.Buy", order, &shop.Receipt{})
	e := plugintest.IsError(t, err, weft.InvalidArgument, weft.Executed)
	if got := violations(err); len(got) == 0 || len(got) > 20 || !strings.HasSuffix(e.Message, "; and 2000 more") {
		t.Errorf("%d violations, %s", len(got), e.Message)
	}
}

func TestWrongConfig(t *testing.T) {
	if _, err := protovalidate.New(&protovalidate.Config{Methods: []string{"x"}}); !errors.Is(err, weft.InvalidArgument) {
		t.Error(err)
	}
}
