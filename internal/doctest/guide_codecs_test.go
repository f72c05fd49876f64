package doctest

import (
	"context"
	"encoding/binary"
	"errors"
	"testing"

	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/codec/json"
	"github.com/weftrpc/weft/codec/protobuf"
)

type Money struct{ cents int64 }

// MarshalWeft appends the bytes.
func (m Money) MarshalWeft(dst []byte) ([]byte, error) { return binary.AppendVarint(dst, m.cents), nil }

// UnmarshalWeft sets a Money, which is zero, to the one that travels as b, and copies what it keeps of b.
func (m *Money) UnmarshalWeft(b []byte) error {
	cents, n := binary.Varint(b)
	if n != len(b) {
		return errors.New("these bytes are no money")
	}
	m.cents = cents
	return nil
}

type (
	Item  struct{ Cents int64 }
	Total struct{ Cents int64 }
)

type Order struct { // plain
	ID    int64
	Items []Item
}

// TestCodecsForms carries a Money by both codecs of Go structs, and asks which is that of the two structs at the beginning of
// docs/guide/codecs.md.
func TestCodecsForms(t *testing.T) {
	type bill struct {
		Total Money `weft:"1"`
	}
	for _, c := range weft.DefaultCodecs()[:2] {
		body, err := c.Append(nil, &bill{Money{-7}})
		must(t, err)
		var got bill
		if err := c.Decode(body, &got); err != nil || got.Total.cents != -7 {
			t.Errorf("%s: %v, %v", c.Name(), got, err)
		}
	}
	plain := protobuf.Is(&Order{})
	type Item struct {
		Cents int64 `weft:"1"`
	}
	type Order struct { // numbered: as a .proto file would have it
		ID    int64  `weft:"1"`
		Items []Item `weft:"2"`
	}
	if plain || !protobuf.Is(&Order{}) {
		t.Errorf("a plain struct travels as protobuf: %t; a numbered one: %t", plain, protobuf.Is(&Order{}))
	}
}

// TestCodecsCompiled runs the code of docs/guide/codecs.md: the server keeps its other codecs, and either side may have the compiled
// codec without the other.
func TestCodecsCompiled(t *testing.T) {
	ctx := t.Context()
	without := weft.NewServer(nil)
	address := serve(t, without)

	codecs := weft.DefaultCodecs()
	codecs[0] = protobuf.NewCompiled() // in place of protobuf.New()
	srv := weft.NewServer(&weft.ServerConfig{Codecs: codecs})
	c, err := weft.Dial(ctx, address, &weft.ClientConfig{Codec: protobuf.NewCompiled()})
	must(t, err)
	defer c.Close()

	usual, err := weft.Dial(ctx, serve(t, srv), nil)
	must(t, err)
	defer usual.Close()
	for _, s := range []*weft.Server{without, srv} {
		must(t, weft.Handle(s, "Echo.Text", func(_ context.Context, text *wrapperspb.StringValue) (*wrapperspb.StringValue, error) {
			return text, nil
		}))
		must(t, weft.Handle(s, "Echo.Item", func(_ context.Context, item *Item) (*Item, error) { return item, nil }))
	}
	for _, client := range []*weft.Client{c, usual} {
		text, err := weft.Invoke[wrapperspb.StringValue](ctx, client, "Echo.Text", wrapperspb.String("x"))
		if err != nil || text.GetValue() != "x" {
			t.Errorf("%v, %v", text, err)
		}
		for _, opts := range [][]weft.CallOption{nil, {weft.WithCodec(json.New())}} {
			if item, err := weft.Invoke[Item](ctx, client, "Echo.Item", &Item{7}, opts...); err != nil || item.Cents != 7 {
				t.Errorf("%v, %v", item, err)
			}
		}
	}
}

// TestCodecsReuse runs the code of docs/guide/codecs.md.
func TestCodecsReuse(t *testing.T) {
	srv := weft.NewServer(nil)
	err := weft.HandleReuse(srv, "Orders.Total", func(ctx context.Context, req *Order, res *Total) error {
		for i := range req.Items {
			res.Cents += req.Items[i].Cents
		}
		return nil
	})
	must(t, err)
	ctx := t.Context()
	c, err := weft.Dial(ctx, serve(t, srv), nil)
	must(t, err)
	defer c.Close()
	sum := int64(0)
	add := func(orders []*Order) error {
		var replies weft.Reuse[Total] // for one goroutine
		for _, o := range orders {
			total, err := replies.Invoke(ctx, c, "Orders.Total", o)
			if err != nil {
				return err
			}
			sum += total.Cents // total is valid until the next Invoke
		}
		return nil
	}
	must(t, add([]*Order{{1, []Item{{2}, {3}}}, {2, nil}, {3, []Item{{4}}}}))
	if sum != 9 {
		t.Errorf("the sum is %d, want 9", sum)
	}
}
