package protobuf_test

import (
	"bytes"
	"math/bits"
	"runtime"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/weftrpc/weft/codec/codectest"
	"github.com/weftrpc/weft/codec/protobuf"
	"github.com/weftrpc/weft/internal/growthtest"
)

// vtList is a message with the methods of vtprotobuf.
type vtList struct{ *structpb.ListValue }

func (m vtList) UnmarshalVT(b []byte) error { return proto.Unmarshal(b, m.ListValue) }

// dynamic returns an empty message with a repeated group, 1, whose type is that of the message.
func dynamic(t testing.TB) proto.Message {
	t.Helper()
	file, err := protodesc.NewFile(&descriptorpb.FileDescriptorProto{Name: proto.String("a.proto"), Syntax: proto.String("proto2"),
		MessageType: []*descriptorpb.DescriptorProto{{
			Name: proto.String("A"),
			Field: []*descriptorpb.FieldDescriptorProto{{Name: proto.String("g"), Number: proto.Int32(1), TypeName: proto.String("G"),
				Label: descriptorpb.FieldDescriptorProto_LABEL_REPEATED.Enum(), Type: descriptorpb.FieldDescriptorProto_TYPE_GROUP.Enum()}},
			NestedType: []*descriptorpb.DescriptorProto{{Name: proto.String("G")}},
		}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return dynamicpb.NewMessage(file.Messages().Get(0))
}

// inner is a field with bytes.
func inner(number protowire.Number, value []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(nil, number, protowire.BytesType), value)
}

// TestRoom has bodies whose messages take much more memory than bytes: they are refused before the memory is taken. Others are not.
func TestRoom(t *testing.T) {
	many := func(piece string) []byte { return bytes.Repeat([]byte(piece), 4<<20/len(piece)) }
	long := 1 // how many times more there are where each takes little memory
	if bits.UintSize == 32 {
		long = 6
	}
	most := func(piece string) []byte { return bytes.Repeat(many(piece), long) }
	list := func() proto.Message { return new(structpb.ListValue) }
	number := string(inner(1, []byte("\x1112345678")))
	groups := dynamic(t).ProtoReflect().Type()
	group := func() proto.Message { return groups.New().Interface() }
	for name, test := range map[string]struct {
		body    []byte
		into    func() proto.Message
		refused bool
	}{
		"messages":        {most("\x0a\x00"), list, true},
		"few messages":    {bytes.Repeat([]byte("\x0a\x00"), 1<<16), list, false},
		"with numbers":    {many(number), list, false},
		"within":          {inner(6, most("\x0a\x00")), func() proto.Message { return new(structpb.Value) }, true},
		"each with one":   {most("\x0a\x04\x32\x02\x0a\x00"), list, true},
		"entries":         {most("\x0a\x00"), func() proto.Message { return new(structpb.Struct) }, true},
		"no message":      {most("\x0a\x00")[:long<<22-1], list, true}, // it is refused for its length before its end is seen
		"vtprotobuf":      {most("\x0a\x00"), func() proto.Message { return vtList{new(structpb.ListValue)} }, true},
		"groups":          {many("\x0b\x0c"), group, true},
		"few groups":      {bytes.Repeat([]byte("\x0b\x0c"), 1<<14), group, false},
		"unknown ones":    {many("\x12\x00"), list, false},
		"unknown groups":  {many("\x13\x0a\x00\x14"), list, false},
		"a list of texts": {many(string(inner(1, inner(3, []byte("a text of some length"))))), list, false},
	} {
		t.Run(name, func(t *testing.T) {
			v := test.into()
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			err := protobuf.New().Decode(test.body, v)
			runtime.ReadMemStats(&after)
			if test.refused != (err != nil && strings.Contains(err.Error(), "bytes of memory")) {
				t.Errorf("%v", err)
			}
			if used := after.TotalAlloc - before.TotalAlloc; test.refused && used > 1<<20 {
				t.Errorf("%d bytes were allocated before it was refused", used)
			}
			if want := test.into(); !test.refused {
				if err := proto.Unmarshal(test.body, want); err != nil || !proto.Equal(v, want) {
					t.Errorf("it was decoded otherwise than by proto.Unmarshal, which says %v", err)
				}
			}
		})
	}
}

// TestRoomOfExtensions registers an extension, whose values are messages, when its type is known already.
func TestRoomOfExtensions(t *testing.T) {
	body := bytes.Repeat(inner(70_001, nil), 1<<20)
	if bits.UintSize == 32 {
		body = bytes.Repeat(body, 2)
	}
	c := protobuf.New()
	if _, err := protoregistry.GlobalTypes.FindExtensionByName("weft.test.late"); err != nil { // with -count, the test before has registered it
		if err := c.Decode(body, new(descriptorpb.MessageOptions)); err != nil {
			t.Error(err)
		}
		file, err := protodesc.NewFile(&descriptorpb.FileDescriptorProto{Name: proto.String("weft/test/late.proto"), Package: proto.String("weft.test"), Syntax: proto.String("proto2"),
			Dependency: []string{"google/protobuf/descriptor.proto"},
			Extension: []*descriptorpb.FieldDescriptorProto{{Name: proto.String("late"), Number: proto.Int32(70_001), Extendee: proto.String(".google.protobuf.MessageOptions"),
				TypeName: proto.String(".google.protobuf.FileOptions"), Label: descriptorpb.FieldDescriptorProto_LABEL_REPEATED.Enum(), Type: descriptorpb.FieldDescriptorProto_TYPE_MESSAGE.Enum()}},
		}, protoregistry.GlobalFiles)
		if err != nil {
			t.Fatal(err)
		}
		if err := protoregistry.GlobalTypes.RegisterExtension(dynamicpb.NewExtensionType(file.Extensions().Get(0))); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Decode(body, new(descriptorpb.MessageOptions)); err == nil || !strings.Contains(err.Error(), "bytes of memory") {
		t.Error(err)
	}
}

// TestRoomOfDynamic decodes dynamic messages of two types by turns: what is known of the types is not found out anew each time.
func TestRoomOfDynamic(t *testing.T) {
	c, large := protobuf.New(), dynamicpb.NewMessageType(new(descriptorpb.FileDescriptorProto).ProtoReflect().Descriptor())
	small := dynamic(t).ProtoReflect().Type()
	body := inner(1, bytes.Repeat([]byte("x"), 20<<10))
	decode := func() {
		if err := c.Decode(body, large.New().Interface()); err != nil {
			t.Error(err)
		}
		if err := c.Decode(bytes.Repeat([]byte("\x0b\x0c"), 1<<13), small.New().Interface()); err != nil {
			t.Error(err)
		}
	}
	decode()
	if n := testing.AllocsPerRun(10, func() { _ = c.Decode(body, large.New().Interface()) }); n > 50 {
		t.Errorf("%v allocations", n)
	}
}

// TestGrowth has bodies with much of what takes time.
func TestGrowth(t *testing.T) {
	type part struct {
		Text string  `weft:"1"`
		Ints []int64 `weft:"2"`
	}
	type numbered struct {
		Name   string            `weft:"1"`
		Ints   []int32           `weft:"2"`
		Parts  []part            `weft:"3"`
		ByText map[string]part   `weft:"4"`
		ByInt  map[int64]string  `weft:"5"`
		Next   *numbered         `weft:"6"`
		Texts  []string          `weft:"7"`
		Bytes  [][]byte          `weft:"8"`
		Names  map[string]string `weft:"300"`
	}
	type plain struct {
		Name  string
		Parts []part `weft:"-"`
		Texts []string
	}
	targets := []any{new(numbered), new(plain), new(structpb.Value), new(structpb.Struct), new(descriptorpb.FileDescriptorProto)}
	for name, piece := range map[string]string{
		"messages": "\x1a\x00", "texts": "\x3a\x01x", "numbers": "\x10\x01", "entries": "\x22\x03\x0a\x01x", "other entries": "\x2a\x02\x08\x01",
		"merged": "\x32\x02\x1a\x00", "deep": "\x32\xff\xff\x03", "unknown": "\xf8\x07\x01", "groups": "\xfb\x07\xfc\x07", "open groups": "\xfb\x07",
		"packed": "\x12\x02\x01\x02", "long numbers": "\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "by turns": "\x3a\x01x\x10\x01\x1a\x00",
	} {
		t.Run(name, func(t *testing.T) {
			codectest.Growth(t, protobuf.New(), 8<<10, growthtest.Repeat(nil, []byte(piece), nil), targets...)
			for number := range protowire.Number(8) {
				codectest.Growth(t, protobuf.New(), 8<<10, func(n int) []byte {
					return inner(number+1, growthtest.Repeat(nil, []byte(piece), nil)(n))
				}, targets...)
			}
		})
	}
}

// FuzzGrowth looks for bodies whose decoding takes time that grows faster than their length.
func FuzzGrowth(f *testing.F) {
	var bodies [][]byte
	file := protodesc.ToFileDescriptorProto(descriptorpb.File_google_protobuf_descriptor_proto)
	for _, v := range []any{structpb.NewStringValue("x"), file.MessageType[0]} {
		body, err := protobuf.New().Append(nil, v)
		if err != nil {
			f.Fatal(err)
		}
		bodies = append(bodies, body)
	}
	codectest.FuzzGrowth(f, protobuf.New(), bodies, new(structpb.Value), new(descriptorpb.DescriptorProto))
}

// BenchmarkDecodeCounted decodes a list whose messages are counted.
func BenchmarkDecodeCounted(b *testing.B) {
	text := inner(1, inner(3, []byte("a text of some length")))
	body, c, v := bytes.Repeat(text, 4<<20/len(text)), protobuf.New(), new(structpb.ListValue)
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		if err := c.Decode(body, v); err != nil {
			b.Fatal(err)
		}
	}
}
