package protobuf_test

import (
	"fmt"
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

func plainValue() *plain {
	count := uint32(7)
	return &plain{
		base: base{Tenant: "t"}, ID: -5, Note: text, Lines: []line{{text, 1.5}, {}}, By: map[string]*line{"a": {"b", 1}}, At: time.Unix(1_700_000_000, 5).UTC(),
		Took: -time.Hour, Sizes: []int32{1, -1, 1 << 30}, Data: []byte{0, 255}, Next: &plain{ID: 1}, Count: &count, Item: item{Name: "x"},
	}
}

func TestPlainConformance(t *testing.T) {
	codectest.Run(t, protobuf.New(), codectest.Config{
		Values:    []any{plainValue(), &plain{}, &struct{}{}, &line{Name: "x"}},
		Refused:   []any{(*plain)(nil), struct{ A any }{}, struct{ A [2]int }{}, struct{ M map[string][]int }{}, struct{ *line }{}, struct{ V *wrapperspb.Int64Value }{}, time.Time{}, struct{ a int }{}},
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
	body, err := c.(codec.Codec).Append(nil, &plain{ID: 3})
	if err != nil {
		t.Fatal(err)
	}
	got := plainValue()
	got.hidden = 5
	if err := c.DecodeReuse(body, got); err != nil || got.ID != 3 || got.Tenant != "" || got.Note != "" || len(got.Lines) > 0 || got.Item.Name != "" {
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
