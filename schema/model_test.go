package schema_test

import (
	"encoding/json"
	"fmt"
	"math/big"
	"net/netip"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/known/timestamppb"
	"google.golang.org/protobuf/types/known/typepb"

	jsoncodec "github.com/weftrpc/weft/codec/json"
	"github.com/weftrpc/weft/codec/msgpack"
	"github.com/weftrpc/weft/codec/protobuf"
	"github.com/weftrpc/weft/codec/protobuf/descriptors"
	"github.com/weftrpc/weft/schema"
)

type (
	// Plain has all that Protocol Buffers have, without numbers.
	Plain struct {
		Base    `json:"base"`
		Inner   // whose fields belong to Plain
		I8      int8
		I16     int16
		I32     int32 `json:"i32,omitempty"`
		I64     int64
		I       int
		U8      uint8
		U16     uint16
		U32     uint32
		U64     uint64
		U       uint
		Float   float32 `json:"floatNumber"`
		Double  float64
		Bool    bool
		Text    string `json:"HTTPText"`
		Bytes   []byte
		At      time.Time
		Took    time.Duration
		Opt     *int32
		OptText *string
		OptTime *time.Time
		Sub     *Numbered
		Subs    []Numbered
		Ptrs    []*Numbered
		Ints    []int32
		Level   Level
		Levels  []Level
		ByText  map[string]int64
		ByInt   map[int32]*Numbered
		Again   *Plain
		Odd     int `json:"a-b"`
		UserID  int `json:"user_id"`
		UserId  int
		Hidden  int       `json:"-"`
		Skipped []float64 `weft:"-"`
		Self    struct{ X int }
		Empty   struct{}
		Any     any
		Anys    []any
		Fields  map[string]any
		Grid    [2]int32
		Code    [3]byte
		Codes   [][3]byte
		Price   Money
		Prices  []*Money
		OptCost *Money
		Addr    netip.Addr
		URL     url.URL
		Whole   *big.Int
		Wholes  [2]*big.Int
		private int
	}
	// Money travels as bytes.
	Money struct{ Cents int }
	// Inner is embedded.
	Inner struct {
		Deep string
		I8   int // hidden by that of Plain
	}
	// Numbered has numbers.
	Numbered struct {
		A int32            `weft:"1,zigzag"`
		B []uint64         `weft:"7,fixed"`
		C *Numbered        `weft:"3" json:"see"`
		D string           `weft:"9" json:"-"`
		E string           `weft:"-"`
		F map[string]int64 `weft:"10,fixed"`
	}
)

// MarshalWeft implements codec.Marshaler.
func (Money) MarshalWeft(dst []byte) ([]byte, error) { return dst, nil }

// UnmarshalWeft implements codec.Unmarshaler.
func (*Money) UnmarshalWeft([]byte) error { return nil }

// modelOf is the model of one method.
func modelOf(t *testing.T, request, reply reflect.Type) *schema.Model {
	t.Helper()
	b := schema.NewBuilder()
	b.Add("S", schema.Method{Name: "M", Kind: schema.Unary, Request: b.Reflect(request, "Request"), Reply: b.Reflect(reply, "Reply")})
	m, err := b.Model()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// protoType is the type of Protocol Buffers of one value.
func protoType(t *schema.Type) (of descriptorpb.FieldDescriptorProto_Type) {
	type key struct {
		kind  schema.Kind
		proto string
	}
	kinds := map[key]descriptorpb.FieldDescriptorProto_Type{
		{"int8", ""}: 5, {"int16", ""}: 5, {"int32", ""}: 5, {"int64", ""}: 3, {"uint8", ""}: 13, {"uint16", ""}: 13, {"uint32", ""}: 13, {"uint64", ""}: 4,
		{"float32", ""}: 2, {"float64", ""}: 1, {"bool", ""}: 8, {"string", ""}: 9, {"bytes", ""}: 12, {"time", ""}: 11, {"duration", ""}: 11, {"message", ""}: 11,
		{"int32", "zigzag"}: 17, {"uint64", "fixed"}: 6, {"int64", "fixed"}: 16,
	}
	switch t.Proto {
	case schema.ProtoBytes:
		return descriptorpb.FieldDescriptorProto_TYPE_BYTES
	case schema.ProtoString:
		return descriptorpb.FieldDescriptorProto_TYPE_STRING
	case schema.Value:
		return descriptorpb.FieldDescriptorProto_TYPE_MESSAGE
	}
	return kinds[key{t.Kind, t.Proto}]
}

// TestFieldsAreTheCodecs compares the fields of the model with those that codec/protobuf describes.
func TestFieldsAreTheCodecs(t *testing.T) {
	_ = Plain{}.private
	m := modelOf(t, reflect.TypeFor[Plain](), reflect.TypeFor[Numbered]())
	set := descriptors.NewSet()
	if _, err := set.Add(reflect.TypeFor[Plain](), ""); err != nil {
		t.Fatal(err)
	}
	compared := 0
	for _, file := range set.Made() {
		for _, d := range file.MessageType {
			one := m.Message("schema_test." + d.GetName())
			if d.GetName() == "Plain_Self" {
				one = m.Message("schema_test.Plain_Self")
			}
			if one == nil {
				t.Errorf("there is no %s", d.GetName())
				continue
			}
			var fields []*schema.Field
			for _, f := range one.Fields {
				if f.Number > 0 {
					fields = append(fields, f)
				}
			}
			if len(fields) != len(d.Field) || one.NoProto != "" {
				t.Fatalf("%s: %d fields, want %d; %s", d.GetName(), len(fields), len(d.Field), one.NoProto)
			}
			for i, want := range d.Field {
				f := fields[i]
				value := f.Type
				list := want.GetLabel() == descriptorpb.FieldDescriptorProto_LABEL_REPEATED
				array := value.Kind == schema.KindArray && value.Proto == ""
				if list != (value.Kind == schema.KindList || value.Kind == schema.KindMap || array) {
					t.Errorf("%s.%s is %v", d.GetName(), f.Label(), value.Kind)
				}
				if value.Kind == schema.KindList || array {
					value = value.Elem
				}
				if value.Kind != schema.KindMap && protoType(value) != want.GetType() {
					t.Errorf("%s.%s is %v, want %v", d.GetName(), f.Label(), value, want.GetType())
				}
				if f.Proto != want.GetName() || f.Number != want.GetNumber() || f.Name != want.GetJsonName() && f.Name != "" {
					t.Errorf("%s: %s, %s, %d, want %s, %s, %d", d.GetName(), f.Name, f.Proto, f.Number, want.GetJsonName(), want.GetName(), want.GetNumber())
				}
				compared++
			}
		}
	}
	if compared < 40 {
		t.Errorf("only %d fields", compared)
	}
}

// TestNamesAreTheCodecs compares the names of fields with what the codecs write.
func TestNamesAreTheCodecs(t *testing.T) {
	type within struct{ X int }
	type tagged struct {
		within  `json:"named" msgpack:"-"` // which encoding/json sends, unlike other fields that are not exported
		A       int                        `json:"a" msgpack:"first"`
		B       int                        `json:",omitempty"`
		C       int                        `msgpack:"-"`
		D       int                        `json:"-"`
		Base    `json:"base"`
		Inner   `msgpack:"inner"`
		private int
	}
	_ = tagged{}.private
	m := modelOf(t, reflect.TypeFor[tagged](), reflect.TypeFor[int]())
	value := &tagged{B: 1}
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	packed, err := msgpack.New().Append(nil, value)
	if err != nil {
		t.Fatal(err)
	}
	var fromJSON, fromPack map[string]any
	if err := json.Unmarshal(text, &fromJSON); err != nil {
		t.Fatal(err)
	}
	if err := msgpack.New().Decode(packed, &fromPack); err != nil {
		t.Fatal(err)
	}
	names := func(all map[string]any, of func(*schema.Field) string) {
		t.Helper()
		n := 0
		for _, f := range m.Message("schema_test.tagged").Fields {
			if name := of(f); name != "" {
				n++
				if _, ok := all[name]; !ok {
					t.Errorf("there is no %s in %v", name, all)
				}
			}
		}
		if n != len(all) {
			t.Errorf("%d names, want those of %v", n, all)
		}
	}
	names(fromJSON, func(f *schema.Field) string { return f.Name })
	names(fromPack, func(f *schema.Field) string { return f.MessagePack })
}

// TestNoProto agrees with codec/protobuf which types are no messages.
func TestNoProto(t *testing.T) {
	type (
		inner struct{ A error }
		plain struct{ A int }
		lost  struct{ a int }
		half  struct{ a int }
	)
	_ = half{}.a
	_ = lost{}.a
	for want, typ := range map[string]reflect.Type{
		"":                    reflect.TypeFor[struct{ A []*plain }](),
		"a error has no":      reflect.TypeFor[struct{ A error }](),
		"an array has no":     reflect.TypeFor[struct{ A [][2]int }](),
		"an array cannot be":  reflect.TypeFor[struct{ A map[[2]byte]int }](),
		"a slice has no":      reflect.TypeFor[struct{ A [][]int }](),
		"a float64 cannot be": reflect.TypeFor[struct{ A map[float64]int }](),
		"inner: the field A":  reflect.TypeFor[struct{ Sub []inner }](),
		"has no number": reflect.TypeFor[struct {
			A int `weft:"1"`
			B int
		}](),
		"the field A has no number": reflect.TypeFor[struct {
			A int `weft:"-1"`
		}](),
		"have one number": reflect.TypeFor[struct {
			A int `weft:"1"`
			B int `weft:"1"`
		}](),
		"has no numbers": reflect.TypeFor[struct {
			A plain `weft:"1"`
		}](),
		`the option "fixed"`: reflect.TypeFor[struct {
			A int8 `weft:"1,fixed"`
		}](),
		"an embedded pointer":  reflect.TypeFor[struct{ *Base }](),
		"half has no exported": reflect.TypeFor[struct{ A half }](),
		"lost has no exported": reflect.TypeFor[struct{ A lost }](),
		"code of its own":      reflect.TypeFor[struct{ A *timestamppb.Timestamp }](),
		"typepb.Field":         nil,
	} {
		if typ == nil {
			continue
		}
		m := modelOf(t, typ, reflect.TypeFor[int]())
		got := m.Message("main.Request").NoProto
		err := protobuf.New().(interface{ CheckType(reflect.Type) error }).CheckType(reflect.PointerTo(typ))
		if (got == "") != (want == "") || !strings.Contains(got, want) || (err == nil) != (want == "") {
			t.Errorf("%v: %q, want %q; the codec says %v", typ, got, want, err)
		}
	}
}

// Left and Right both have an X.
type (
	Left  struct{ X int }
	Right struct{ X int }
)

// TestRefused agrees with codec/json and codec/msgpack which structs they refuse.
func TestRefused(t *testing.T) {
	type (
		secret struct {
			Token string `weft:"-"`
		}
		tied struct {
			Left
			Right
		}
	)
	for name, typ := range map[string]reflect.Type{
		"plain":       reflect.TypeFor[struct{ A, B int }](),
		"kept":        reflect.TypeFor[secret](),
		"kept within": reflect.TypeFor[struct{ A map[string][]*secret }](),
		"kept and embedded": reflect.TypeFor[struct {
			secret
			B int
		}](),
		"kept and left out": reflect.TypeFor[struct {
			A secret `json:"-"`
		}](),
		"told": reflect.TypeFor[struct {
			A int `weft:"-" json:"-"`
		}](),
		"an embedded one kept": reflect.TypeFor[struct {
			Left `weft:"-"`
			B    int
		}](),
		"two embedded":        reflect.TypeFor[tied](),
		"two embedded within": reflect.TypeFor[struct{ A []tied }](),
		"hidden": reflect.TypeFor[struct {
			X int
			Left
			Right
		}](),
		"two tags": reflect.TypeFor[struct {
			A int `msgpack:"a"`
			B int `msgpack:"a"`
		}](),
		"a name and a tag": reflect.TypeFor[struct {
			A int
			B int `msgpack:"A"`
		}](),
		"tied and left out": reflect.TypeFor[struct {
			A tied `msgpack:"-"`
			B int
		}](),
	} {
		b := schema.NewBuilder()
		root := b.Reflect(typ, "Request")
		b.Add("S", schema.Method{Name: "M", Kind: schema.Unary, Request: root, Reply: root})
		m, err := b.Model()
		if err != nil {
			t.Fatal(err)
		}
		one := m.Message(root.Name)
		for _, c := range []struct {
			codec any
			why   string
		}{{jsoncodec.New(), one.NoJSON}, {msgpack.New(), one.NoMessagePack}} {
			err := c.codec.(interface{ CheckType(reflect.Type) error }).CheckType(reflect.PointerTo(typ))
			if (err == nil) != (c.why == "") {
				t.Errorf("%s: %T says %v, the model %q", name, c.codec, err, c.why)
			}
		}
	}
}

// TestOwnMessage: what travels as bytes is no message by itself.
func TestOwnMessage(t *testing.T) {
	m := modelOf(t, reflect.TypeFor[Money](), reflect.TypeFor[struct{ A Money }]())
	if why := m.Message("schema_test.Money").NoProto; !strings.Contains(why, "MarshalWeft") {
		t.Errorf("Money: %q", why)
	}
	if why := m.Message("main.Reply").NoProto; why != "" {
		t.Errorf("a struct with it: %q", why)
	}
	if err := protobuf.New().(interface{ CheckType(reflect.Type) error }).CheckType(reflect.TypeFor[Money]()); err == nil || !strings.Contains(err.Error(), "MarshalWeft") {
		t.Errorf("the codec: %v", err)
	}
}

// ID is an array with methods, as those of UUIDs are.
type ID [16]byte

// MarshalBinary implements encoding.BinaryMarshaler.
func (ID) MarshalBinary() ([]byte, error) { return nil, nil }

// UnmarshalBinary implements encoding.BinaryUnmarshaler.
func (*ID) UnmarshalBinary([]byte) error { return nil }

// TestMethodsOfOtherTypes has a field of a type with methods that is no struct.
func TestMethodsOfOtherTypes(t *testing.T) {
	m := modelOf(t, reflect.TypeFor[struct{ ID ID }](), reflect.TypeFor[int]())
	if f := m.Messages[0].Fields[0]; f.Type.Kind != schema.KindArray || f.Type.Proto != schema.ProtoBytes {
		t.Errorf("the field is %+v", f.Type)
	}
}

// TestUnsupported names what no codec carries.
func TestUnsupported(t *testing.T) {
	b := schema.NewBuilder()
	b.Reflect(reflect.TypeFor[struct{ C map[string]chan int }](), "Request")
	if _, err := b.Model(); err == nil || !strings.Contains(err.Error(), "Request_C is a chan, which no codec carries") {
		t.Error(err)
	}
}

func TestSelect(t *testing.T) {
	b := schema.NewBuilder()
	for _, name := range []string{"A", "B", "weft.Admin"} {
		for _, method := range []string{"X", "Y"} {
			b.Add(name, schema.Method{Name: method, Kind: schema.Unary, Aliases: []string{"Old." + name + method}, Request: b.Reflect(reflect.TypeFor[Inner](), ""), Reply: b.Descriptor((&typepb.Field{}).ProtoReflect().Descriptor())})
		}
	}
	b.Add("A", schema.Method{Name: "X"}) // is there already
	m, err := b.Model()
	if err != nil {
		t.Fatal(err)
	}
	for names, want := range map[string]string{"": "[A.X A.Y B.X B.Y]", "A": "[A.X A.Y]", "B.Y A.X": "[A.X B.Y]", "Old.BX": "[B.X]", "weft.Admin": "[weft.Admin.X weft.Admin.Y]"} {
		part, err := m.Select(strings.Fields(names)...)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, s := range part.Services {
			for _, one := range s.Methods {
				got = append(got, s.Name+"."+one.Name)
			}
		}
		if fmt.Sprint(got) != want || len(part.Messages) < 3 || part.Message("schema_test.Inner") == nil || part.Enum("google.protobuf.Field.Kind") == nil {
			t.Errorf("%q: %v, want %s, with %d messages", names, got, want, len(part.Messages))
		}
	}
	if _, err := m.Select("C"); err == nil || !strings.Contains(err.Error(), `no service or method "C", only A, B, weft.Admin`) {
		t.Error(err)
	}
}

func TestDecodeRefuses(t *testing.T) {
	method := func(request string) string {
		return `{"weft_schema":1,"services":[{"name":"S","methods":[{"name":"M","kind":"unary","request":` + request + `,"reply":{"kind":"any"}}]}]}`
	}
	for text, want := range map[string]string{
		`[]`:                                    "no saved schema",
		`{}`:                                    "weft_schema is 0",
		`{"weft_schema":9}`:                     "weft_schema is 9",
		method("null"):                          "S.M: a type is missing",
		method(`{"kind":"x"}`):                  `no kind of type "x"`,
		method(`{"kind":"message","name":"m"}`): "there is no message m",
		method(`{"kind":"enum","name":"m"}`):    "there is no enumeration m",
		method(`{"kind":"list"}`):               "a type is missing",
		method(`{"kind":"int8","elem":{"kind":"bool"}}`):                                                  "has elements",
		method(strings.Repeat(`{"kind":"list","elem":`, 99) + `{"kind":"any"}` + strings.Repeat("}", 99)): "nests deeper",
		`{"weft_schema":1,"services":[null]}`:                                                             "a service has no name",
		`{"weft_schema":1,"services":[{"name":"S","methods":[{"name":"M","kind":"x"}]}]}`:                 `no kind "x"`,
		`{"weft_schema":1,"messages":[{"name":"a b"}]}`:                                                   "other characters",
		`{"weft_schema":1,"messages":[{"name":"a"},{"name":"a"}]}`:                                        "two messages are called a",
		`{"weft_schema":1,"enums":[{"name":"a"},{"name":"a"}]}`:                                           "two enumerations are called a",
		`{"weft_schema":1,"messages":[{"name":"a","fields":[null]}]}`:                                     "is null",
		`{"weft_schema":1,"messages":[{"name":"a","fields":[{"number":-1}]}]}`:                            "has the number -1",
	} {
		if _, err := schema.Decode([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}
