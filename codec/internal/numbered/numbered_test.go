package numbered

import (
	"bytes"
	"math"
	"math/rand/v2"
	"net/netip"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

type (
	color int8
	item  struct {
		Name string `weft:"1"`
		N    int64  `weft:"2"`
		Sub  *item  `weft:"15"`
	}
	order struct {
		Bool    bool             `weft:"1"`
		I8      color            `weft:"2"`
		I32     int32            `weft:"3"`
		I64     int64            `weft:"4"`
		U16     uint16           `weft:"5"`
		U32     uint32           `weft:"6"`
		U64     uint64           `weft:"7"`
		Z32     int32            `weft:"8,zigzag"`
		Z64     int64            `weft:"9,zigzag"`
		F32     uint32           `weft:"10,fixed"`
		S64     int64            `weft:"11,fixed"`
		Float   float32          `weft:"12"`
		Double  float64          `weft:"13"`
		Text    string           `weft:"14"`
		Bytes   []byte           `weft:"15"`
		Item    item             `weft:"16"`
		Maybe   *item            `weft:"17"`
		Opt     *int32           `weft:"18"`
		OptText *string          `weft:"19"`
		Ints    []int32          `weft:"20"`
		Zigs    []int64          `weft:"21,zigzag"`
		Doubles []float64        `weft:"22"`
		Bools   []bool           `weft:"23"`
		Texts   []string         `weft:"24"`
		Items   []item           `weft:"25"`
		Ptrs    []*item          `weft:"26"`
		ByText  map[string]int64 `weft:"27"`
		ByInt   map[int32]*item  `weft:"28"`
		At      time.Time        `weft:"29"`
		Took    time.Duration    `weft:"30"`
		Far     string           `weft:"300"`
		Blobs   [][]byte         `weft:"536870911"`
		Skip    func()           `weft:"-"`
	}
)

// descriptor returns the descriptor of order, written as a .proto file would.
func descriptor(t testing.TB) protoreflect.MessageDescriptor {
	t.Helper()
	type d = descriptorpb.FieldDescriptorProto
	const one, many = descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL, descriptorpb.FieldDescriptorProto_LABEL_REPEATED
	field := func(name string, n int32, label descriptorpb.FieldDescriptorProto_Label, typ descriptorpb.FieldDescriptorProto_Type, message string) *d {
		f := &d{Name: &name, Number: &n, Label: label.Enum(), Type: typ.Enum()}
		if message != "" {
			f.TypeName = &message
		}
		return f
	}
	entry := func(name string, key, value *d) *descriptorpb.DescriptorProto {
		return &descriptorpb.DescriptorProto{Name: &name, Field: []*d{key, value}, Options: &descriptorpb.MessageOptions{MapEntry: proto.Bool(true)}}
	}
	const (
		boolean, i32, i64, u32, u64 = descriptorpb.FieldDescriptorProto_TYPE_BOOL, descriptorpb.FieldDescriptorProto_TYPE_INT32,
			descriptorpb.FieldDescriptorProto_TYPE_INT64, descriptorpb.FieldDescriptorProto_TYPE_UINT32, descriptorpb.FieldDescriptorProto_TYPE_UINT64
		text, message = descriptorpb.FieldDescriptorProto_TYPE_STRING, descriptorpb.FieldDescriptorProto_TYPE_MESSAGE
		raw, double   = descriptorpb.FieldDescriptorProto_TYPE_BYTES, descriptorpb.FieldDescriptorProto_TYPE_DOUBLE
	)
	oneof := func(f *d, index int32) *d {
		f.Proto3Optional, f.OneofIndex = proto.Bool(true), &index
		return f
	}
	file := &descriptorpb.FileDescriptorProto{
		Name: proto.String("order.proto"), Package: proto.String("test"), Syntax: proto.String("proto3"),
		Dependency: []string{timestamppb.File_google_protobuf_timestamp_proto.Path(), durationpb.File_google_protobuf_duration_proto.Path()},
		MessageType: []*descriptorpb.DescriptorProto{
			{Name: proto.String("Item"), Field: []*d{field("name", 1, one, text, ""), field("n", 2, one, i64, ""), field("sub", 15, one, message, ".test.Item")}},
			{
				Name: proto.String("Order"),
				Field: []*d{
					field("bool", 1, one, boolean, ""), field("i8", 2, one, i32, ""), field("i32", 3, one, i32, ""), field("i64", 4, one, i64, ""),
					field("u16", 5, one, u32, ""), field("u32", 6, one, u32, ""), field("u64", 7, one, u64, ""),
					field("z32", 8, one, descriptorpb.FieldDescriptorProto_TYPE_SINT32, ""), field("z64", 9, one, descriptorpb.FieldDescriptorProto_TYPE_SINT64, ""),
					field("f32", 10, one, descriptorpb.FieldDescriptorProto_TYPE_FIXED32, ""), field("s64", 11, one, descriptorpb.FieldDescriptorProto_TYPE_SFIXED64, ""),
					field("float", 12, one, descriptorpb.FieldDescriptorProto_TYPE_FLOAT, ""), field("double", 13, one, double, ""),
					field("text", 14, one, text, ""), field("bytes", 15, one, raw, ""), field("item", 16, one, message, ".test.Item"), field("maybe", 17, one, message, ".test.Item"),
					oneof(field("opt", 18, one, i32, ""), 0), oneof(field("opt_text", 19, one, text, ""), 1),
					field("ints", 20, many, i32, ""), field("zigs", 21, many, descriptorpb.FieldDescriptorProto_TYPE_SINT64, ""), field("doubles", 22, many, double, ""),
					field("bools", 23, many, boolean, ""), field("texts", 24, many, text, ""), field("items", 25, many, message, ".test.Item"), field("ptrs", 26, many, message, ".test.Item"),
					field("by_text", 27, many, message, ".test.Order.ByTextEntry"), field("by_int", 28, many, message, ".test.Order.ByIntEntry"),
					field("at", 29, one, message, ".google.protobuf.Timestamp"), field("took", 30, one, message, ".google.protobuf.Duration"),
					field("far", 300, one, text, ""), field("blobs", 536870911, many, raw, ""),
				},
				OneofDecl:  []*descriptorpb.OneofDescriptorProto{{Name: proto.String("_opt")}, {Name: proto.String("_opt_text")}},
				NestedType: []*descriptorpb.DescriptorProto{entry("ByTextEntry", field("key", 1, one, text, ""), field("value", 2, one, i64, "")), entry("ByIntEntry", field("key", 1, one, i32, ""), field("value", 2, one, message, ".test.Item"))},
			},
		},
	}
	built, err := protodesc.NewFile(file, protoregistry.GlobalFiles)
	if err != nil {
		t.Fatal(err)
	}
	return built.Messages().ByName("Order")
}

// random returns an order such as comes out of decoding: without empty lists,
// which Protocol Buffers cannot tell from none.
func random(r *rand.Rand) *order {
	some := func() bool { return r.IntN(3) > 0 }
	number := func() int64 { return int64(r.Uint64()) >> r.IntN(64) }
	word := func() string { return strings.Repeat("é", r.IntN(100)) }
	var newItem func(depth int) *item
	newItem = func(depth int) *item {
		i := &item{Name: word(), N: number()}
		if depth > 0 && some() {
			i.Sub = newItem(depth - 1)
		}
		return i
	}
	o := &order{
		Bool: some(), I8: color(number()), I32: int32(number()), I64: number(), U16: uint16(number()), U32: uint32(number()), U64: uint64(number()),
		Z32: int32(number()), Z64: number(), F32: uint32(number()), S64: number(), Float: float32(number()), Double: float64(number()) / 3, Text: word(),
		Item: *newItem(2), Took: time.Duration(number()), Far: word(),
	}
	if some() {
		o.Bytes, o.Maybe, o.Opt, o.OptText = []byte("bytes"), newItem(3), new(int32), new(string)
		*o.Opt = int32(number())
		o.At = time.Unix(int64(r.Uint32())*10, int64(r.IntN(1e9))).UTC()
		o.ByText, o.ByInt = map[string]int64{}, map[int32]*item{}
		for range 1 + r.IntN(4) {
			o.ByText[word()], o.ByInt[int32(number())] = number(), newItem(1)
			o.Ints, o.Zigs, o.Doubles, o.Bools = append(o.Ints, int32(number())), append(o.Zigs, number()), append(o.Doubles, float64(number())), append(o.Bools, some())
			o.Texts, o.Items, o.Ptrs, o.Blobs = append(o.Texts, word()), append(o.Items, *newItem(2)), append(o.Ptrs, newItem(2)), append(o.Blobs, []byte("blob"))
		}
	}
	return o
}

// theirs decodes body as google.golang.org/protobuf does, and encodes it again.
func theirs(t testing.TB, d protoreflect.MessageDescriptor, body []byte) ([]byte, error) {
	m := dynamicpb.NewMessage(d)
	if err := proto.Unmarshal(body, m); err != nil {
		return nil, err
	}
	again, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return again, nil
}

// Values go there and back through google.golang.org/protobuf, and over older values.
func TestBothWays(t *testing.T) {
	r, d := rand.New(rand.NewPCG(1, 2)), descriptor(t)
	used := new(order)
	for range 300 {
		want := random(r)
		body, err := Append([]byte("head"), want)
		if err != nil || !bytes.HasPrefix(body, []byte("head")) {
			t.Fatal(err)
		}
		again, err := theirs(t, d, body[4:])
		if err != nil || len(again) > len(body)-4 {
			t.Fatalf("they read %x: %v, and write %x", body[4:], err, again)
		}
		for _, b := range [][]byte{body[4:], again} {
			if err := Decode(b, used); err != nil || !reflect.DeepEqual(used, want) {
				t.Fatalf("%v, from %x\n got %+v\nwant %+v", err, b, used, want)
			}
		}
	}
}

// FuzzDecode holds what is read from any bytes to what google.golang.org/protobuf reads.
func FuzzDecode(f *testing.F) {
	r, d := rand.New(rand.NewPCG(3, 4)), descriptor(f)
	for range 50 {
		body, err := Append(nil, random(r))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(body)
	}
	f.Add([]byte("\xa9\xc3\xa9\xc3\x1000000000")) // a number beyond all fields
	f.Fuzz(func(t *testing.T, body []byte) {
		got := new(order)
		if Decode(body[:len(body):len(body)], got) != nil {
			return
		}
		want, err := theirs(t, d, body)
		if err != nil {
			if strings.Contains(err.Error(), "UTF-8") {
				return
			}
			t.Fatalf("they refuse %x: %v", body, err)
		}
		again := new(order)
		if err := Decode(want, again); err != nil {
			t.Fatalf("of %x they write %x, which is refused: %v", body, want, err)
		}
		if !reflect.DeepEqual(got.ByText, again.ByText) || !reflect.DeepEqual(got.ByInt, again.ByInt) {
			t.Fatalf("%x is read as %v and %v, and by way of them as %v and %v", body, got.ByText, got.ByInt, again.ByText, again.ByInt)
		}
		for _, o := range []*order{got, again} { // their order is another in each run
			o.ByText, o.ByInt = nil, nil
			if o.Float != o.Float { // they make a quiet NaN of a signaling one
				o.Float = 0
			}
		}
		ours, err := Append(nil, got) // to compare numbers that are none, too
		if err != nil {
			t.Fatalf("%+v, read from %x, cannot be encoded: %v", got, body, err)
		}
		if twice, err := Append(nil, again); err != nil || !bytes.Equal(twice, ours) {
			t.Fatalf("%x is read as\n%+v, and by way of them as\n%+v", body, got, again)
		}
	})
}

func TestNumbersThatDoNotFit(t *testing.T) {
	for _, v := range []uint64{128, math.MaxUint64 - 128, 1 << 40} {
		body := protowire.AppendVarint([]byte{2 << 3}, v)
		if err := Decode(body, new(order)); err == nil || !strings.Contains(err.Error(), "I8: at byte 1") || !strings.Contains(err.Error(), "does not fit a numbered.color") {
			t.Errorf("%d into a color: %v", int64(v), err)
		}
	}
	for body, v := range map[string]any{
		"\x18\x80\x80\x80\x80\x08":             new(order), // 1<<31 into an int32
		"\x28\x80\x80\x04":                     new(order), // 1<<16 into a uint16
		"\x30\x80\x80\x80\x80\x10":             new(order), // 1<<32 into a uint32
		"\x40\x80\x80\x80\x80\x10":             new(order), // 1<<31 into an int32, zigzag
		"\xf2\x01\x06\x08\x85\xb2\xc2\xae\x7f": new(order), // a duration of 1000 years
	} {
		if err := Decode([]byte(body), v); err == nil {
			t.Errorf("%x: %+v", body, v)
		}
	}
}

// TestFixedInts has numbers whose size depends on the machine: with "fixed" they have eight bytes on each, and one that does not fit is an error.
func TestFixedInts(t *testing.T) {
	type word int
	type ints struct {
		A int    `weft:"1,fixed"`
		B uint   `weft:"2,fixed"`
		C []word `weft:"3,fixed"`
		D *uint  `weft:"4,fixed"`
	}
	d := uint(math.MaxUint32)
	v := &ints{-2, 3, []word{4, -5}, &d}
	const want = "\x09\xfe\xff\xff\xff\xff\xff\xff\xff" + "\x11\x03\x00\x00\x00\x00\x00\x00\x00" +
		"\x1a\x10\x04\x00\x00\x00\x00\x00\x00\x00\xfb\xff\xff\xff\xff\xff\xff\xff" + "\x21\xff\xff\xff\xff\x00\x00\x00\x00"
	body, err := Append(nil, v)
	if err != nil || string(body) != want {
		t.Errorf("%x, %v, want %x", body, err, want)
	}
	got := new(ints)
	if err := Decode([]byte(want), got); err != nil || !reflect.DeepEqual(got, v) {
		t.Errorf("%+v, %v, want %+v", got, err, v)
	}
	for _, body := range []string{"\x09\x00\x00\x00\x80\x00\x00\x00\x00", "\x11\x00\x00\x00\x00\x01\x00\x00\x00", "\x1a\x08\xff\xff\xff\x7f\xff\xff\xff\xff"} {
		err := Decode([]byte(body), new(ints))
		if small := strconv.IntSize == 32; (err != nil) != small || small && !strings.Contains(err.Error(), "does not fit a") {
			t.Errorf("%x: %v", body, err)
		}
	}
	if err := Decode([]byte("\x09\x01\x02\x03\x04"), new(ints)); err == nil {
		t.Error("an int of four bytes is taken")
	}
}

func TestRefused(t *testing.T) {
	type plain struct{ A int }
	for want, v := range map[string]any{
		"B has no field number": &struct {
			A int `weft:"1"`
			B int
		}{},
		"A has no field number": &struct {
			A int `weft:"0"`
		}{},
		"N has no field number": &struct {
			N int `weft:"-1"`
		}{},
		"one number, 7": &struct {
			A int `weft:"7"`
			B int `weft:"7"`
		}{},
		"plain.A has no field number": &struct {
			A plain `weft:"1"`
		}{},
		"a chan int has no form": &struct {
			A chan int `weft:"1"`
		}{},
		"a error has no form in Protocol Buffers: an any has one": &struct {
			A error `weft:"1"`
		}{},
		"a numbered.money travels as bytes, by its method MarshalWeft": &money{},
		"a numbered.half needs both of MarshalWeft(dst []byte) ([]byte, error) and": &struct {
			A half `weft:"1"`
		}{},
		"a struct {} in an any has no form": &struct {
			A any `weft:"1"`
		}{struct{}{}},
		"A: MarshalWeft: an amount of -1": &struct {
			A []money `weft:"1"`
		}{[]money{{-1}}},
		`the option "fixed" of the tag does not fit a numbered.money`: &struct {
			A money `weft:"1,fixed"`
		}{},
		"a netip.Addr cannot be the key": &struct {
			A map[netip.Addr]int `weft:"1"`
		}{},
		"a []int has no form": &struct {
			A [][]int `weft:"1"`
		}{},
		"a float64 cannot be the key": &struct {
			A map[float64]int `weft:"1"`
		}{},
		`the option "fixed" of the tag`: &struct {
			A int8 `weft:"1,fixed"`
		}{},
		"element 1 is nil": &struct {
			A []*item `weft:"1"`
		}{[]*item{{}, nil}},
		"the value of the key 3 is nil": &struct {
			A map[int]*item `weft:"1"`
		}{map[int]*item{3: nil}},
		"the year 0 has no form": &struct {
			A time.Time `weft:"1"`
		}{time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC)},
		"would be lost, since it has no": &struct {
			A struct{ a int } `weft:"1"`
		}{},
		"a nil *numbered.item": (*item)(nil),
	} {
		if _, err := Append(nil, v); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	loop := new(item)
	loop.Sub = loop
	const want = "Sub: Sub: Sub: Sub: (92 more): Sub: Sub: Sub: Sub: messages nest deeper than 100: the value may contain itself"
	if _, err := Append(nil, loop); err == nil || err.Error() != want {
		t.Errorf("a value that contains itself: %v", err)
	}
	if Is(reflect.TypeFor[plain]()) || Is(nil) || Is(reflect.TypeFor[int]()) || !Is(reflect.TypeFor[*item]()) || !Is(reflect.TypeFor[item]()) {
		t.Error("Is takes the wrong types")
	}
}
