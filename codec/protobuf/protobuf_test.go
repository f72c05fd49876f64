package protobuf_test

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/weftrpc/weft/codec"
	"github.com/weftrpc/weft/codec/codectest"
	"github.com/weftrpc/weft/codec/protobuf"
	"github.com/weftrpc/weft/internal/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

const text = "许多往事在眼前一幕一幕，变的那麼模糊"

func sample() fields {
	return fields{Name: text, Number: 100000, Tags: []string{text, text, text, text, text, text, text, text}, Data: []byte("data")}
}

func equal(want, got any) bool {
	if m, ok := want.(proto.Message); ok {
		return proto.Equal(m, got.(proto.Message))
	}
	a, errA := protobuf.New().Append(nil, want)
	b, errB := protobuf.New().Append(nil, got)
	return errA == nil && errB == nil && bytes.Equal(a, b) // a message does not tell empty from none
}

func TestConformance(t *testing.T) {
	record, err := structpb.NewStruct(map[string]any{"a": 1.5, "b": []any{"x", nil, true, map[string]any{"c": text}}})
	if err != nil {
		t.Fatal(err)
	}
	codectest.Run(t, protobuf.New(), codectest.Config{
		Values: []any{
			wrapperspb.String(text), wrapperspb.Bytes([]byte{0, 1, 255}), &wrapperspb.Int64Value{}, timestamppb.New(timestamppb.Now().AsTime()),
			record, protodesc.ToFileDescriptorProto(durationpb.File_google_protobuf_duration_proto),
			&vtMessage{sample()}, &vtMessage{fields{Name: "short"}}, &vtPooled{vtMessage{sample()}}, &gogo{sample()}, &gogo{}, &gogoSized{gogo{sample()}},
		},
		Refused:   []any{7, "text", new(int), make(chan int), func() {}, vtMessage{}, reflect.ValueOf(wrapperspb.Int64(7)).Elem().Interface()},
		Equal:     equal,
		OpenEnded: true,
		SameBits:  true,
	})
}

func TestIs(t *testing.T) {
	for v, want := range map[any]bool{
		wrapperspb.Int64(1): true, new(vtMessage): true, new(gogo): true, new(gogoSized): true, new(static): true, new(halfVT): true,
		nil: false, 7: false, new(int): false, vtMessage{}.Number: false, new(onlyMarshals): false, new(fields): false,
	} {
		if got := protobuf.Is(v); got != want {
			t.Errorf("Is(%T) = %v", v, got)
		}
	}
}

// TestDecodeReplaces has messages whose unmarshal methods add to what is there.
func TestDecodeReplaces(t *testing.T) {
	c := protobuf.New()
	pooled := &vtPooled{vtMessage{fields{Tags: []string{"old"}, Data: make([]byte, 3, 99)}}}
	for _, v := range []any{&vtMessage{sample()}, &gogo{sample()}, pooled, &wrapperspb.StringValue{Value: "old"}} {
		body := protowire.AppendString([]byte{1<<3 | 2}, "new")
		if err := c.Decode(body, v); err != nil {
			t.Fatal(err)
		}
		if got, err := c.Append(nil, v); err != nil || string(got) != string(body) {
			t.Errorf("%T holds %q after it was decoded from %q: %v", v, got, body, err)
		}
	}
	if cap(pooled.Data) != 99 {
		t.Error("ResetVT was not used, the memory of the message is lost")
	}
}

func TestErrorsSayWhatToDo(t *testing.T) {
	c := protobuf.New()
	encode := func(v any) error { _, err := c.Append(nil, v); return err }
	for want, err := range map[string]error{
		"a int is no Protocol Buffers message; choose another codec":                       encode(7),
		"a protobuf_test.gogo is no Protocol Buffers message; pass a pointer":              encode(gogo{}),
		"decoding into a *wrapperspb.StringValue: the pointer is nil":                      c.Decode(nil, (*wrapperspb.StringValue)(nil)),
		"decoding into a *protobuf_test.vtMessage: the pointer is nil":                     c.Decode(nil, (*vtMessage)(nil)),
		"decoding into a *protobuf_test.gogoOld: runtime error: index out of range":        c.Decode([]byte{10}, new(gogoOld)),
		"decoding into a *protobuf_test.gogoOld: runtime error: slice bounds out of range": c.Decode([]byte{10, 99, 'a'}, new(gogoOld)),
		"encoding a *protobuf_test.changing: runtime error":                                encode(&changing{vtMessage{sample()}}),
		"a *protobuf_test.growing has 13 bytes where 14 were announced; it changed":        encode(&growing{vtMessage{fields{Name: "hello world"}}}),
		"required field": encode(&descriptorpb.UninterpretedOption_NamePart{}),
		"invalid UTF-8":  encode(wrapperspb.String("\xff")),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error is %v, want %q", err, want)
		}
	}
}

func TestAppendSizedOfAChangedMessage(t *testing.T) {
	s := protobuf.New().(codec.Sizer)
	for _, v := range []any{wrapperspb.String("hello"), &vtMessage{fields{Name: "hello"}}, &gogo{fields{Name: "hello"}}} {
		n, ok := s.Size(v)
		if !ok || n != 7 {
			t.Fatalf("Size of a %T = %d, %v", v, n, ok)
		}
		if _, err := s.AppendSized(nil, v, n+1); err == nil {
			t.Errorf("AppendSized of a %T that is smaller than announced: no error", v)
		}
	}
}

// TestSizeOfABrokenMessage has generated code that does not survive a nil.
func TestSizeOfABrokenMessage(t *testing.T) {
	if n, ok := protobuf.New().(codec.Sizer).Size((*changing)(nil)); ok && n > 0 {
		t.Errorf("Size = %d", n)
	}
	if n, ok := protobuf.New().(codec.Sizer).Size((*fragile)(nil)); ok {
		t.Errorf("Size of what panics = %d", n)
	}
	if _, err := protobuf.New().Append(nil, (*fragile)(nil)); err == nil || !strings.Contains(err.Error(), "the pointer is nil") {
		t.Errorf("Append of what panics: %v", err)
	}
}

func TestDepth(t *testing.T) {
	nested := func(depth int) []byte {
		v := structpb.NewNullValue()
		for range depth {
			v = structpb.NewListValue(&structpb.ListValue{Values: []*structpb.Value{v}})
		}
		body, err := proto.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return body
	}
	var v structpb.Value
	if err := protobuf.New().Decode(nested(40), &v); err != nil { // each is two messages
		t.Errorf("80 deep: %v", err)
	}
	if err := protobuf.New().Decode(nested(60), &v); err == nil {
		t.Error("120 deep: no error")
	}
}

func TestNoAllocations(t *testing.T) {
	c := protobuf.New()
	s := c.(codec.Sizer)
	for _, v := range []any{wrapperspb.Int64(1 << 40), durationpb.New(1 << 40), &static{1, 2}} {
		dst := make([]byte, 0, 1024)
		if allocs := testing.AllocsPerRun(100, func() {
			n, _ := s.Size(v)
			body, _ := s.AppendSized(dst, v, n)
			body, _ = c.Append(body[:0], v)
			_ = c.Decode(body, v)
		}); allocs != 0 {
			t.Errorf("%T: %v allocations per encoding and decoding, want 0", v, allocs)
		}
	}
	// A message with text allocates that, and the codec nothing more.
	v, got, dst := wrapperspb.String(text), new(wrapperspb.StringValue), make([]byte, 0, 1024)
	if allocs := testing.AllocsPerRun(100, func() {
		body, _ := c.Append(dst, v)
		_ = c.Decode(body, got)
	}); allocs != 1 {
		t.Errorf("%T: %v allocations per encoding and decoding, want 1", v, allocs)
	}
}

func FuzzDecode(f *testing.F) {
	c := protobuf.New()
	for _, v := range []any{wrapperspb.String(text), &vtMessage{sample()}, structpb.NewStringValue("x"), timestamppb.Now()} {
		body, err := c.Append(nil, v)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		_ = c.Decode(body, new(gogoOld))
		for _, v := range []any{new(wrapperspb.StringValue), new(structpb.Value), new(descriptorpb.FileDescriptorProto), new(vtMessage), new(gogo)} {
			if c.Decode(body, v) != nil {
				continue
			}
			again, err := c.Append(nil, v)
			if err != nil {
				t.Fatalf("a %T decoded from %x cannot be encoded: %v", v, body, err)
			}
			got := reflect.New(reflect.TypeOf(v).Elem()).Interface()
			if err := c.Decode(again, got); err != nil {
				t.Fatalf("a %T decoded from %x, encoded as %x: %v", v, body, again, err)
			}
		}
	})
}

func benchmarks() map[string]any {
	return map[string]any{
		"proto": &descriptorpb.DescriptorProto{Name: proto.String(text), ReservedName: sample().Tags},
		"vt":    &vtMessage{sample()},
		"bytes": wrapperspb.Bytes(make([]byte, 578)),
		"fixed": &static{1, 2},
	}
}

func BenchmarkAppend(b *testing.B) {
	for name, v := range benchmarks() {
		b.Run(name, func(b *testing.B) {
			c, dst := protobuf.New(), make([]byte, 0, 4096)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := c.Append(dst, v); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkAppendSized(b *testing.B) {
	for name, v := range benchmarks() {
		b.Run(name, func(b *testing.B) {
			c, dst := protobuf.New().(codec.Sizer), make([]byte, 0, 4096)
			b.ReportAllocs()
			for b.Loop() {
				n, _ := c.Size(v)
				if _, err := c.AppendSized(dst, v, n); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkDecode(b *testing.B) {
	for name, v := range benchmarks() {
		b.Run(name, func(b *testing.B) {
			c := protobuf.New()
			body, err := c.Append(nil, v)
			if err != nil {
				b.Fatal(err)
			}
			got := reflect.New(reflect.TypeOf(v).Elem()).Interface()
			b.ReportAllocs()
			for b.Loop() {
				if err := c.Decode(body, got); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func TestCyclicMessages(t *testing.T) {
	ring := &structpb.Value{}
	ring.Kind = &structpb.Value_ListValue{ListValue: &structpb.ListValue{Values: []*structpb.Value{structpb.NewBoolValue(true), ring}}}
	table := &structpb.Struct{Fields: map[string]*structpb.Value{"number": structpb.NewNumberValue(1)}}
	table.Fields["self"] = structpb.NewStructValue(table)
	message := &descriptorpb.DescriptorProto{}
	message.NestedType = []*descriptorpb.DescriptorProto{message}
	c := protobuf.New()
	for _, v := range []any{ring, table, message} {
		if _, ok := c.(codec.Sizer).Size(v); ok {
			t.Errorf("a %T that contains itself has a size", v)
		}
		if _, err := c.Append(nil, v); err == nil || !strings.Contains(err.Error(), "contains itself") {
			t.Errorf("Append of a cyclic %T: %v", v, err)
		}
	}
	deep := structpb.NewBoolValue(true)
	for range 32 { // three messages each: a list, the value in it, and its list
		deep = structpb.NewListValue(&structpb.ListValue{Values: []*structpb.Value{deep}})
	}
	if body, err := c.Append(nil, deep); err != nil || c.Decode(body, new(structpb.Value)) != nil {
		t.Errorf("deep but finite: %v", err)
	}
}

// node is a message by its methods alone.
type node struct {
	vtMessage
	Next *node
}

func (n *node) SizeVT() int {
	if n == nil {
		return 0
	}
	return n.Next.SizeVT() + 2
}

func TestCyclicGeneratedMessages(t *testing.T) {
	ring := &node{}
	ring.Next = ring
	c := protobuf.New()
	if _, ok := c.(codec.Sizer).Size(ring); ok {
		t.Error("a message that contains itself has a size")
	}
	if _, err := c.Append(nil, ring); err == nil || !strings.Contains(err.Error(), "contains itself") {
		t.Errorf("Append: %v", err)
	}
}
