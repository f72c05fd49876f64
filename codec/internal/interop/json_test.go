package interop

import (
	"bytes"
	"context"
	stdjson "encoding/json"
	"io"
	"log/slog"
	"net"
	nethttp "net/http"
	"reflect"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/codec/internal/interop/stock"
	"github.com/weftrpc/weft/codec/json"
	"github.com/weftrpc/weft/door/http"
)

// TestOneJSON has one message travel as JSON over weft's own wire and by a door: both read and write the form of protojson.
func TestOneJSON(t *testing.T) {
	srv := weft.NewServer(&weft.ServerConfig{Logger: slog.New(slog.DiscardHandler), Doors: []weft.Door{http.Door(nil)}})
	err := weft.Handle(srv, "Receipts.Echo", func(_ context.Context, r *stock.Receipt) (*stock.Receipt, error) { return r, nil })
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(l) }()
	defer func() {
		srv.Close()
		<-served
	}()

	want := &stock.Receipt{OrderId: 1<<53 + 1, Seal: []byte{0xfb, 0xff}, State: stock.State_PAID, PaidAt: &timestamppb.Timestamp{Seconds: 1e9},
		Payer: &stock.Receipt_AccountNumber{AccountNumber: 1<<64 - 1}}
	const text = `{"orderId":"9007199254740993","seal":"+/8=","state":"PAID","paidAt":"2001-09-09T01:46:40Z","accountNumber":"18446744073709551615"}`
	same := func(what string, got []byte) {
		t.Helper()
		var a, b any
		if err := stdjson.Unmarshal(got, &a); err != nil {
			t.Errorf("%s: %v", what, err)
		} else if _ = stdjson.Unmarshal([]byte(text), &b); !reflect.DeepEqual(a, b) {
			t.Errorf("%s wrote %s, want %s", what, got, text)
		}
	}
	for name, cfg := range map[string]*weft.ClientConfig{
		"tcp":  {Codec: json.New()},
		"http": {Wires: []weft.Wire{http.Wire(nil)}},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := weft.Dial(t.Context(), name+"://"+l.Addr().String(), cfg)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			got, err := weft.Invoke[stock.Receipt](t.Context(), c, "Receipts.Echo", want)
			if err != nil || !proto.Equal(got, want) {
				t.Errorf("the reply is %v, %v, want %v", got, err, want)
			}
			request, reply := stdjson.RawMessage(text), stdjson.RawMessage(nil)
			if err := c.Call(t.Context(), "Receipts.Echo", &request, &reply); err != nil {
				t.Fatal(err)
			}
			same("the server over "+name, reply)
		})
	}
	res, err := nethttp.Post("http://"+l.Addr().String()+"/Receipts/Echo", "application/json", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	defer nethttp.DefaultClient.CloseIdleConnections()
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != nethttp.StatusOK {
		t.Fatalf("the door answers %s, %v: %s", res.Status, err, body)
	}
	same("the door", body)
	own, err := json.New().Append(nil, want)
	if err != nil {
		t.Fatal(err)
	}
	same("the codec", own)
}

// TestMessagesByJSON: what the codec takes and refuses of generated messages.
func TestMessagesByJSON(t *testing.T) {
	c := json.New()
	old := &stock.Receipt{OrderId: 7, State: stock.State_PAID}
	if err := c.Decode([]byte(`{"full_name":"x","order_id":3,"more":1}`), old); err != nil || old.OrderId != 3 || old.GetFullName() != "x" || old.State != 0 {
		t.Errorf("names of the .proto file, an unknown field: %v, %v", old, err)
	}
	for body, want := range map[string]string{
		`{"state":"x"}{`:                     "",
		`null`:                               "",
		`{"orderId":"99999999999999999999"}`: "",
		`{"x":` + nest(64) + `}`:             "nesting deeper than 64",
		`{"orderId":` + long() + `}`:         "number of 1500 characters",
		`{"fullName":"a","accountNumber":1}`: "oneof",
	} {
		if err := c.Decode([]byte(body), new(stock.Receipt)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Decode(%.40s): %v, want %q", body, err, want)
		}
	}
	if err := c.Decode([]byte(`{}`), (*stock.Receipt)(nil)); err == nil {
		t.Error("a nil message was decoded into")
	}
	ring := new(structpb.ListValue)
	ring.Values = []*structpb.Value{structpb.NewListValue(ring)}
	if _, err := c.Append(nil, ring); err == nil || !strings.Contains(err.Error(), "contains itself") {
		t.Errorf("a message that contains itself: %v", err)
	}
	type checker interface{ CheckType(reflect.Type) error }
	if err := c.(checker).CheckType(reflect.TypeFor[stock.Receipt]()); err == nil || !strings.Contains(err.Error(), "pass a pointer") {
		t.Errorf("a message by value: %v", err)
	}
	if err := c.(checker).CheckType(reflect.TypeFor[*stock.Three]()); err != nil { // which has a map with keys of bool
		t.Error(err)
	}
}

func nest(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }

func long() string { return string(bytes.Repeat([]byte("1"), 1500)) }
