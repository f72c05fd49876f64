package protobuf_test

import (
	"encoding/binary"
	"fmt"
	"math/big"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/weftrpc/weft/codec"
	"github.com/weftrpc/weft/codec/codectest"
	"github.com/weftrpc/weft/codec/protobuf"
)

type (
	// plain is a struct without numbers.
	plain struct {
		base
		ID     int64 `json:"id"`
		Note   string
		Lines  []line
		By     map[string]*line
		At     time.Time
		Took   time.Duration
		Sizes  []int32
		Data   []byte
		Next   *plain
		Count  *uint32
		Item   item // has numbers
		hidden int
		Any    any
		Grid   [2]float32
		Code   [3]byte
		Codes  [][3]byte
		Addr   netip.Addr // by MarshalBinary
		Whole  *big.Int   // by MarshalText
		Prices [2]*price
		Price  price
		Skip   func() `json:"-"`
	}
	line struct {
		Name  string
		Price float64 `json:",omitempty"`
	}
	base struct {
		Tenant string
		Note   int // hidden by that of plain
	}
)

// price travels as bytes, by its own methods.
type price struct{ Cents uint64 }

func (p price) MarshalWeft(dst []byte) ([]byte, error) {
	if p.Cents == 0 {
		return dst, nil
	}
	return binary.AppendUvarint(dst, p.Cents), nil
}

func (p *price) UnmarshalWeft(b []byte) error {
	n := 0
	if p.Cents, n = binary.Uvarint(b); n != len(b) {
		return fmt.Errorf("%x is no price", b)
	}
	return nil
}

func plainValue() *plain {
	count := uint32(7)
	return &plain{
		base: base{Tenant: "t"}, ID: -5, Note: text, Lines: []line{{text, 1.5}, {}}, By: map[string]*line{"a": {"b", 1}}, At: time.Unix(1_700_000_000, 5).UTC(),
		Took: -time.Hour, Sizes: []int32{1, -1, 1 << 30}, Data: []byte{0, 255}, Next: &plain{ID: 1, Prices: [2]*price{{}, {}}}, Count: &count, Item: item{Name: "x"},
		Any: map[string]any{"list": []any{nil, true, -1.5, "text", map[string]any{}}}, Grid: [2]float32{0, -1}, Code: [3]byte{1, 2, 3}, Codes: [][3]byte{{}, {4}},
		Addr: netip.MustParseAddr("fe80::1%eth0"), Whole: new(big.Int).Lsh(big.NewInt(-5), 100), Prices: [2]*price{{5}, {}}, Price: price{500},
	}
}

func TestPlainConformance(t *testing.T) {
	codectest.Run(t, protobuf.New(), codectest.Config{
		Values:    []any{plainValue(), &plain{Prices: [2]*price{{}, {}}}, &struct{}{}, &line{Name: "x"}},
		Refused:   []any{(*plain)(nil), struct{ A error }{}, struct{ A [][2]int }{}, struct{ M map[string][]int }{}, struct{ *line }{}, struct{ V *wrapperspb.Int64Value }{}, time.Time{}, struct{ a int }{}},
		OpenEnded: true,
		SameBits:  true,
	})
}

// TestPlainNumbers fixes the numbers: what was encoded with them must remain readable.
func TestPlainNumbers(t *testing.T) {
	body, err := protobuf.New().Append(nil, &struct {
		ID   int64 `json:"id"`
		Name string
	}{7, "x"})
	if err != nil {
		t.Fatal(err)
	}
	got := make(map[protowire.Number]string)
	for len(body) > 0 {
		number, kind, n := protowire.ConsumeTag(body)
		m := protowire.ConsumeFieldValue(number, kind, body[n:])
		if n < 0 || m < 0 {
			t.Fatalf("%x is no message", body)
		}
		got[number], body = string(body[n:n+m]), body[n+m:]
	}
	// 16 + FNV-1a("id") mod 261128 and 16 + FNV-1a("Name") mod 261128, by another program.
	if want := map[protowire.Number]string{224256: "\x07", 17206: "\x01x"}; !reflect.DeepEqual(got, want) {
		t.Errorf("the message has %q, want %q", got, want)
	}
}

// A field that is added, moved or removed changes no other one.
func TestPlainEvolves(t *testing.T) {
	type after struct {
		New   string
		Note  string
		Added []string
		Ident int64 `json:"id"`
	}
	c := protobuf.New()
	body, err := c.Append(nil, plainValue())
	if err != nil {
		t.Fatal(err)
	}
	var got after
	if err := c.Decode(body, &got); err != nil || got.Ident != -5 || got.Note != text || got.New != "" {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestPlainReuse(t *testing.T) {
	c := protobuf.New().(codec.Reuser)
	body, err := c.(codec.Codec).Append(nil, &plain{ID: 3, Prices: [2]*price{{}, {}}})
	if err != nil {
		t.Fatal(err)
	}
	got := plainValue()
	got.hidden = 5
	if err := c.DecodeReuse(body, got); err != nil || got.ID != 3 || got.Tenant != "" || got.Note != "" || len(got.Lines) > 0 || got.Item.Name != "" || got.Any != nil || got.Grid[1] != 0 || got.Addr.IsValid() || got.Price.Cents != 0 || got.Prices[0].Cents != 0 {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestCollision has two names with one number, which must be an error and not a message that
// decodes into the wrong field.
func TestCollision(t *testing.T) {
	first := make(map[uint32]string)
	var a, b string
	for i := 0; b == ""; i++ {
		name := fmt.Sprint("F", i)
		h := uint32(2166136261)
		for _, c := range []byte(name) {
			h = (h ^ uint32(c)) * 16777619
		}
		if a = first[h%261128]; a != "" {
			b = name
		}
		first[h%261128] = name
	}
	both := reflect.StructOf([]reflect.StructField{{Name: a, Type: reflect.TypeFor[int]()}, {Name: b, Type: reflect.TypeFor[string]()}})
	err := protobuf.New().(codec.TypeChecker).CheckType(both)
	if !protobuf.IsCollision(err) || !strings.Contains(err.Error(), a) || !strings.Contains(err.Error(), b) {
		t.Errorf("a struct with the fields %s and %s: %v", a, b, err)
	}
	if _, err := protobuf.New().Append(nil, reflect.New(both).Interface()); !protobuf.IsCollision(err) {
		t.Errorf("Append: %v", err)
	}
}
