package interop

import (
	"bytes"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/known/apipb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/weftrpc/weft/codec"
	"github.com/weftrpc/weft/codec/internal/interop/stock"
	"github.com/weftrpc/weft/codec/protobuf"
)

var mutations = flag.Int("mutations", 3_000, "how many changed bodies of each message to decode")

// compiled lists messages that the compiled codec takes itself.
func compiled() []proto.Message {
	return []proto.Message{new(stock.Two), new(stock.Part), new(stock.Three), new(stock.Leaf), new(stock.Edition), new(timestamppb.Timestamp), new(apipb.Method)}
}

// foreign lists messages that it leaves to google.golang.org/protobuf.
func foreign() []proto.Message {
	return []proto.Message{new(stock.WithGroup), new(stock.WithExtensions), new(stock.WithOneof), new(stock.HoldsOneof), new(stock.Delimited), new(structpb.Value), new(descriptorpb.DescriptorProto)}
}

// fill gives a message random fields.
func fill(r *rand.Rand, m protoreflect.Message, depth int) {
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		if f.Cardinality() != protoreflect.Required && r.IntN(3) == 0 || f.Message() != nil && depth == 0 {
			continue
		}
		switch {
		case f.IsMap():
			for range r.IntN(4) {
				key := scalar(r, f.MapKey()).MapKey()
				if f.MapValue().Message() == nil {
					m.Mutable(f).Map().Set(key, scalar(r, f.MapValue()))
				} else {
					fill(r, m.Mutable(f).Map().Mutable(key).Message(), depth-1)
				}
			}
		case f.IsList():
			for range r.IntN(5) {
				if f.Message() == nil {
					m.Mutable(f).List().Append(scalar(r, f))
				} else {
					fill(r, m.Mutable(f).List().AppendMutable().Message(), depth-1)
				}
			}
		case f.Message() != nil:
			fill(r, m.Mutable(f).Message(), depth-1)
		default:
			m.Set(f, scalar(r, f))
		}
	}
}

// scalar returns a random value of a field.
func scalar(r *rand.Rand, f protoreflect.FieldDescriptor) protoreflect.Value {
	bits := r.Uint64() >> r.IntN(65)
	switch f.Kind() {
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(bits&1 == 1)
	case protoreflect.EnumKind:
		return protoreflect.ValueOfEnum(protoreflect.EnumNumber(int32(bits)))
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
		return protoreflect.ValueOfInt32(int32(bits))
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind:
		return protoreflect.ValueOfInt64(int64(bits))
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		return protoreflect.ValueOfUint32(uint32(bits))
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return protoreflect.ValueOfUint64(bits)
	case protoreflect.FloatKind:
		return protoreflect.ValueOfFloat32(float32(r.NormFloat64()) * float32(r.IntN(2)))
	case protoreflect.DoubleKind:
		return protoreflect.ValueOfFloat64(-r.NormFloat64() * float64(r.IntN(2)))
	case protoreflect.StringKind:
		return protoreflect.ValueOfString(strings.Repeat("äx", r.IntN(70)*r.IntN(2)))
	}
	return protoreflect.ValueOfBytes(make([]byte, r.IntN(200)*r.IntN(2)))
}

// mutate changes a body a little: bytes, its end, or the order of its fields.
func mutate(r *rand.Rand, body []byte) []byte {
	b := append([]byte(nil), body...)
	for range 1 + r.IntN(3) {
		switch at := r.IntN(len(b) + 1); {
		case at == len(b) || r.IntN(8) == 0:
			b = b[:at]
		case r.IntN(4) == 0:
			b[at] ^= 1 << r.IntN(8)
		case r.IntN(4) == 0: // once more, so that fields come twice
			b = append(b, b[at:]...)
		default:
			b[at] = byte(r.Uint32())
		}
		if len(b) == 0 {
			break
		}
	}
	return b[:len(b):len(b)]
}

// same reports whether two messages are equal, presence and unknown fields included.
// A NaN is equal to itself here.
func same(t *testing.T, a, b proto.Message) bool {
	t.Helper()
	if proto.Equal(a, b) {
		return true
	}
	o := proto.MarshalOptions{Deterministic: true, AllowPartial: true}
	x, errA := o.Marshal(a)
	y, errB := o.Marshal(b)
	return errA == nil && errB == nil && string(x) == string(y)
}

// check decodes body with both, and what was decoded before with the compiled codec into
// reused as well, and compares the values and what they are encoded as.
func check(t *testing.T, c codec.Codec, body []byte, empty, reused proto.Message) (accepted bool) {
	t.Helper()
	want, got := proto.Clone(empty), proto.Clone(empty)
	wantErr := proto.UnmarshalOptions{RecursionLimit: 100}.Unmarshal(body, want)
	err := c.Decode(body, got)
	reuseErr := c.(codec.Reuser).DecodeReuse(body, reused)
	if (err == nil) != (wantErr == nil) || (reuseErr == nil) != (wantErr == nil) {
		t.Fatalf("%T from %x: %v, with reuse %v; google: %v", empty, body, err, reuseErr, wantErr)
	}
	if err != nil {
		return false
	}
	if !same(t, want, got) {
		t.Fatalf("%T from %x:\n got %v\nwant %v", empty, body, got, want)
	}
	if !same(t, want, reused) {
		t.Fatalf("%T from %x, over an older value:\n got %v\nwant %v", empty, body, reused, want)
	}
	encoded, err := c.Append([]byte("x"), got)
	if err != nil {
		t.Fatalf("%T from %x cannot be encoded: %v", empty, body, err)
	}
	again := proto.Clone(empty)
	if err := proto.Unmarshal(encoded[1:], again); err != nil || !same(t, want, again) {
		t.Fatalf("%T from %x is encoded as %x: %v", empty, body, encoded, err)
	}
	return true
}

// TestStockMessages decodes bodies, whole and changed, with the compiled codec and with
// google.golang.org/protobuf, and compares values.
func TestStockMessages(t *testing.T) {
	c := protobuf.NewCompiled()
	for _, empty := range append(compiled(), foreign()...) {
		t.Run(string(empty.ProtoReflect().Descriptor().Name()), func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, 2))
			reused, accepted := proto.Clone(empty), 0
			for k := range max(1, *mutations/50) {
				value := proto.Clone(empty)
				fill(r, value.ProtoReflect(), k%4)
				body, err := proto.Marshal(value)
				if err != nil {
					t.Fatal(err)
				}
				if !check(t, c, body, empty, reused) {
					t.Fatalf("%x is refused", body)
				}
				for range 50 {
					if check(t, c, mutate(r, body), empty, reused) {
						accepted++
					}
				}
			}
			if accepted < *mutations/50 {
				t.Errorf("only %d changed bodies were good", accepted)
			}
		})
	}
}

func TestStockIsCompiled(t *testing.T) {
	sizer := protobuf.NewCompiled().(codec.Sizer)
	for _, m := range compiled() {
		if _, ok := sizer.Size(m); ok != purego {
			t.Errorf("%T is not compiled", m)
		}
	}
	for _, m := range foreign() {
		if _, ok := sizer.Size(m); !ok {
			t.Errorf("%T is compiled", m)
		}
	}
}

// TestStockDepth nests messages, directly and in maps, around the limit.
func TestStockDepth(t *testing.T) {
	c := protobuf.NewCompiled()
	wrap := func(number protowire.Number, body []byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(nil, number, protowire.BytesType), body)
	}
	for _, number := range []protowire.Number{1000, 26} {
		for depth := 90; depth < 110; depth++ {
			var body []byte
			if number == 26 { // a map entry, which has a message in it
				body = wrap(2, nil)
				body = wrap(26, body)
			}
			for range depth {
				body = wrap(1000, body)
			}
			check(t, c, body, new(stock.Three), new(stock.Three))
		}
	}
	leaf := func() *stock.Leaf { return &stock.Leaf{More: []*stock.Leaf{{Text: "x"}}} }
	for what, inner := range map[string]func() *stock.Three{
		"a map of texts":        func() *stock.Three { return &stock.Three{Notes: map[string]string{"a": "b", "c": "d"}} },
		"a map of messages":     func() *stock.Three { return &stock.Three{ByNumber: map[int64]*stock.Leaf{1: leaf()}} },
		"a map of nil messages": func() *stock.Three { return &stock.Three{ByNumber: map[int64]*stock.Leaf{1: nil}} },
		"an empty map":          func() *stock.Three { return &stock.Three{ByNumber: map[int64]*stock.Leaf{}} },
		"a list of nil":         func() *stock.Three { return &stock.Three{Leaves: []*stock.Leaf{nil}} },
		"a list":                func() *stock.Three { return &stock.Three{Leaves: []*stock.Leaf{leaf()}} },
	} {
		for _, c := range []codec.Codec{protobuf.New(), c} {
			m, most := inner(), 0
			for depth := range 110 {
				if body, err := c.Append(nil, m); err == nil {
					most = depth
					if err := c.Decode(body, new(stock.Three)); err != nil {
						t.Errorf("%s below %d messages is encoded, and not decoded: %v", what, depth, err)
					}
				}
				m = &stock.Three{Deeper: m}
			}
			if most < 96 || most > 99 {
				t.Errorf("%s is encoded below %d messages", what, most)
			}
		}
	}
	ring := new(stock.Three)
	ring.Deeper = ring
	if _, err := c.Append(nil, ring); err == nil || !strings.Contains(err.Error(), "nest") {
		t.Errorf("a message that contains itself: %v", err)
	}
}

// TestStockEncodes has values that only a program can make.
func TestStockEncodes(t *testing.T) {
	c := protobuf.NewCompiled()
	for _, m := range []proto.Message{
		&stock.Three{Leaves: []*stock.Leaf{nil, {Text: "x"}}, ByNumber: map[int64]*stock.Leaf{1: nil}},
		&stock.Three{MaybeRaw: []byte{}, Raw: []byte{}, Maybe: proto.String(""), Blobs: [][]byte{nil, {}}},
		(*stock.Three)(nil), &stock.Two{}, &stock.Two{Name: proto.String("x"), Last: proto.Int32(0), Parts: []*stock.Part{{}}},
		&stock.Three{Name: "\xff"}, &stock.Three{Notes: map[string]string{"\xff": ""}}, &stock.Two{Name: proto.String("\xff"), Last: proto.Int32(1)},
		&stock.Edition{Needed: proto.Int32(1), Loose: proto.String("\xff")}, &stock.Edition{},
	} {
		want, wantErr := proto.Marshal(m)
		got, err := c.Append(nil, m)
		if (err == nil) != (wantErr == nil) || err == nil && string(got) != string(want) {
			t.Errorf("%T %v is encoded as %x, %v; google: %x, %v", m, m, got, err, want, wantErr)
		}
	}
}

// TestStockPacked has packed lists without elements, and such that end within one.
func TestStockPacked(t *testing.T) {
	c, reused := protobuf.NewCompiled(), new(stock.Three)
	for _, packed := range []string{"", "\x80", "\xff\xff", "\x01", "\x01\x80", "\x80\x01", "\x01\x02\x03\x04", "\x01\x02\x03\x04\x05"} {
		for _, number := range []protowire.Number{17, 18, 21, 22} {
			body := protowire.AppendString(protowire.AppendTag(nil, number, protowire.BytesType), packed)
			check(t, c, body, new(stock.Three), reused)
		}
	}
}

// TestStockLongBodies has bodies beyond 64 KiB.
func TestStockLongBodies(t *testing.T) {
	c := protobuf.NewCompiled()
	m := &stock.Three{Name: strings.Repeat("long ", 20_000)}
	for i := range 5000 {
		m.Leaves = append(m.Leaves, &stock.Leaf{Text: fmt.Sprint("leaf ", i), N: uint64(i), More: []*stock.Leaf{{Text: strings.Repeat("y", i%40)}}})
		m.Texts = append(m.Texts, strings.Repeat("z", i%3000))
	}
	body, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	reused := new(stock.Three)
	for range 2 {
		if !check(t, c, body, new(stock.Three), reused) {
			t.Error("refused")
		}
		check(t, c, nil, new(stock.Three), reused)
	}
}

// TestStockRoom has bodies whose messages take much more memory than bytes: they are refused, by both codecs.
func TestStockRoom(t *testing.T) {
	leaf := func(n int) []byte { return bytes.Repeat([]byte("\x1a\x00"), n) } // Leaf.more
	for name, test := range map[string]struct {
		body    []byte
		refused bool
	}{
		"many":   {leaf(2 << 20), true},
		"few":    {leaf(1 << 17), false},
		"within": {protowire.AppendBytes([]byte{0x1a}, leaf(2<<20)), true},
	} {
		for how, c := range map[string]codec.Codec{"New": protobuf.New(), "NewCompiled": protobuf.NewCompiled()} {
			err := c.Decode(test.body, new(stock.Leaf))
			if test.refused != (err != nil && strings.Contains(err.Error(), "bytes of memory")) {
				t.Errorf("%s, %s: %v", name, how, err)
			}
		}
	}
}

func FuzzStock(f *testing.F) {
	c := protobuf.NewCompiled()
	for _, empty := range compiled() {
		r := rand.New(rand.NewPCG(1, 2))
		value := proto.Clone(empty)
		fill(r, value.ProtoReflect(), 3)
		if body, err := proto.Marshal(value); err == nil {
			f.Add(body)
		}
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, empty := range compiled() {
			check(t, c, body, empty, proto.Clone(empty))
		}
	})
}
