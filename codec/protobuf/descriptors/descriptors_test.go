package descriptors_test

import (
	"errors"
	"math/big"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/weftrpc/weft/codec/protobuf"
	"github.com/weftrpc/weft/codec/protobuf/descriptors"
)

type (
	order struct {
		Key `json:"key"`
		owner
		ID    int64 `json:"id"`
		Lines []*line
		By    map[string]line
		At    time.Time
		Took  *time.Duration
		Count *uint32
		Sizes []float32 `json:"sizes-of-it"`
		Page  page[line]
		Place struct{ X, Y int32 }
		None  struct{}
		Next  *order
		Blob  []byte
		Any   any
		Anys  []any
		Grid  [2]float64
		Code  [3]byte
		Price price      // bytes
		Addr  netip.Addr // bytes
		Whole *big.Int   // a string
	}
	// Key is embedded under a name.
	Key   struct{ A, B string }
	owner struct{ Tenant string }
	line  struct {
		Name   string  `weft:"1"`
		Price  float64 `weft:"2"`
		Offset int32   `weft:"3,zigzag"`
		Raw    uint64  `weft:"4,fixed"`
	}
	page[T any] struct{ Items []T }
)

// price travels as one byte.
type price struct{ Cents byte }

func (p price) MarshalWeft(dst []byte) ([]byte, error) { return append(dst, p.Cents), nil }

func (p *price) UnmarshalWeft(b []byte) error {
	if len(b) != 1 {
		return errors.New("a price is one byte")
	}
	p.Cents = b[0]
	return nil
}

func value() *order {
	took, count := -3*time.Second, uint32(0)
	return &order{
		Key: Key{"a", "b"}, owner: owner{"t"}, ID: 7, Lines: []*line{{"l", 2.5, -3, 9}}, By: map[string]line{"k": {Name: "v"}},
		At: time.Unix(1_700_000_000, 5).UTC(), Took: &took, Count: &count, Sizes: []float32{1, 2}, Page: page[line]{[]line{{Name: "p"}}},
		Place: struct{ X, Y int32 }{1, -2}, Next: &order{ID: 8, Addr: netip.IPv4Unspecified()}, Blob: []byte("bytes"),
		Any: map[string]any{"k": []any{1.5, "x", nil}}, Anys: []any{nil, true}, Grid: [2]float64{0, 1}, Code: [3]byte{1, 2, 3}, Price: price{5}, Addr: netip.MustParseAddr("10.0.0.1"),
		Whole: big.NewInt(-12),
	}
}

// A message that is described is the one that the codec encodes: a program that knows the
// descriptor alone reads it, and writes it back.
func TestDescriptorIsTheWire(t *testing.T) {
	s := descriptors.NewSet()
	at, err := s.Add(reflect.TypeFor[*order](), "")
	if err != nil {
		t.Fatal(err)
	}
	files, err := s.Files()
	if err != nil {
		t.Fatalf("%v\n%s", err, text(s))
	}
	d, err := files.FindDescriptorByName(protoreflect.FullName(at.Name))
	if err != nil {
		t.Fatal(err)
	}
	body, err := protobuf.New().Append(nil, value())
	if err != nil {
		t.Fatal(err)
	}
	m := dynamicpb.NewMessage(d.(protoreflect.MessageDescriptor))
	if err := proto.Unmarshal(body, m); err != nil {
		t.Fatal(err)
	}
	if n := len(m.GetUnknown()); n > 0 {
		t.Errorf("%d bytes of the message are not described", n)
	}
	j, err := protojson.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"id":"7"`, `"Tenant":"t"`, `"sizes-of-it":[1`, `"key":{"A":"a"`, `"2023-11-14T22:13:20.000000005Z"`, `"Y":-2`, `"Price":2.5`, `"Offset":-3`, `"Count":0`, `"Any":{"k":[1.5,"x",null]}`, `"Anys":[null,true]`,
		`"Grid":[0,1]`, `"Code":"AQID"`, `"Price":"BQ=="`, `"Addr":"CgAAAQ=="`, `"Whole":"-12"`} {
		if !strings.Contains(strings.ReplaceAll(string(j), " ", ""), want) {
			t.Errorf("the JSON of the message has no %s: %s", want, j)
		}
	}
	again := dynamicpb.NewMessage(d.(protoreflect.MessageDescriptor))
	if err := protojson.Unmarshal(j, again); err != nil {
		t.Fatal(err)
	}
	if body, err = proto.Marshal(again); err != nil {
		t.Fatal(err)
	}
	var got order
	if err := protobuf.New().Decode(body, &got); err != nil || !reflect.DeepEqual(&got, value()) {
		t.Errorf("%v: %+v, want %+v", err, &got, value())
	}
}

func text(s *descriptors.Set) string {
	var b strings.Builder
	for _, d := range s.Made() {
		b.WriteString(prototext.Format(d))
	}
	return b.String()
}

func TestNames(t *testing.T) {
	s := descriptors.NewSet()
	for _, c := range []struct {
		value            any
		place, name, own string
	}{
		{order{}, "", "github_com.weftrpc.weft.codec.protobuf.descriptors_test.order", "go/github.com/weftrpc/weft/codec/protobuf/descriptors_test.proto"},
		{page[line]{}, "", "github_com.weftrpc.weft.codec.protobuf.descriptors_test.page_line", "go/github.com/weftrpc/weft/codec/protobuf/descriptors_test.proto"},
		{struct{ A int }{}, "MulRequest", "main.MulRequest", "go/main.proto"},
		{struct{ B int }{}, "MulRequest", "main.MulRequest_2", "go/main.proto"},
		{struct{}{}, "", "google.protobuf.Empty", "google/protobuf/empty.proto"},
		{&wrapperspb.Int64Value{}, "", "google.protobuf.Int64Value", "google/protobuf/wrappers.proto"},
		{descriptorpb.FieldOptions{}, "", "google.protobuf.FieldOptions", "google/protobuf/descriptor.proto"},
	} {
		for range 2 {
			at, err := s.Add(reflect.TypeOf(c.value), c.place)
			if err != nil || at != (descriptors.Message{Name: c.name, File: c.own}) {
				t.Errorf("a %T: %v, %v", c.value, at, err)
			}
		}
	}
	if _, err := s.Files(); err != nil {
		t.Error(err)
	}
	fields := make(map[string]string)
	for _, d := range s.Made() {
		for _, m := range d.MessageType {
			if m.GetName() == "order" {
				for _, f := range m.Field {
					fields[f.GetJsonName()] = f.GetName()
				}
			}
		}
	}
	for json, name := range map[string]string{"id": "id", "Lines": "lines", "sizes-of-it": "Sizes", "Tenant": "tenant"} {
		if fields[json] != name {
			t.Errorf("the field %s is named %q, want %q", json, fields[json], name)
		}
	}
}

// around has structs without names that have other types of the package.
type around struct {
	Lines []struct {
		Line  line
		Count int32
	}
	Within struct{ Again *around }
}

// TestStructsWithoutNames describes them beside the struct around them, since files cannot import each other.
func TestStructsWithoutNames(t *testing.T) {
	s := descriptors.NewSet()
	m, err := s.Add(reflect.TypeFor[around](), "")
	if err != nil {
		t.Fatal(err)
	}
	files, err := s.Files()
	if err != nil {
		t.Fatalf("%v\n%s", err, text(s))
	}
	for _, name := range []string{m.Name, m.Name + "_Lines", m.Name + "_Within"} {
		if d, err := files.FindDescriptorByName(protoreflect.FullName(name)); err != nil || d.ParentFile().Path() != m.File {
			t.Errorf("%s: %v, %v", name, d, err)
		}
	}
}

func TestNoMessage(t *testing.T) {
	for _, typ := range []reflect.Type{nil, reflect.TypeFor[int](), reflect.TypeFor[[]byte](), reflect.TypeFor[struct{ A error }](), reflect.TypeFor[time.Time]()} {
		if at, err := descriptors.NewSet().Add(typ, ""); err == nil {
			t.Errorf("a %v is described as %v", typ, at)
		}
	}
}
