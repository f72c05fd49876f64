package protobuf_test

import (
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/weftrpc/weft/codec"
	"github.com/weftrpc/weft/codec/protobuf"
)

// What is encoded can be decoded: maps count as the decoder counts them.
func TestDepthOfMaps(t *testing.T) {
	for name, c := range map[string]codec.Codec{"New": protobuf.New(), "NewCompiled": protobuf.NewCompiled()} {
		refused := false
		for n := 20; n < 60 && !refused; n++ {
			v := structpb.NewNullValue()
			for range n {
				v = structpb.NewStructValue(&structpb.Struct{Fields: map[string]*structpb.Value{"k": v}})
			}
			body, err := c.Append(nil, v)
			if refused = err != nil; refused {
				continue
			}
			if err := c.Decode(body, new(structpb.Value)); err != nil {
				t.Errorf("%s: %d levels are encoded, and not decoded: %v", name, n, err)
			}
		}
		if !refused {
			t.Errorf("%s: 59 levels are encoded", name)
		}
	}
}

// A message that cannot contain itself counts where it is part of one that can.
func TestDepthOfParts(t *testing.T) {
	c, most := protobuf.New(), 0
	m := &descriptorpb.DescriptorProto{Options: &descriptorpb.MessageOptions{UninterpretedOption: []*descriptorpb.UninterpretedOption{
		{Name: []*descriptorpb.UninterpretedOption_NamePart{{NamePart: proto.String("x"), IsExtension: proto.Bool(true)}}},
	}}}
	for depth := range 110 {
		if body, err := c.Append(nil, m); err == nil {
			most = depth
			if err := c.Decode(body, new(descriptorpb.DescriptorProto)); err != nil {
				t.Errorf("below %d messages it is encoded, and not decoded: %v", depth, err)
			}
		}
		m = &descriptorpb.DescriptorProto{NestedType: []*descriptorpb.DescriptorProto{m}}
	}
	if most != 96 { // 97 messages have 3 more in them
		t.Errorf("the deepest that is encoded is below %d messages", most)
	}
}

// Extensions count too, and a message that contains itself by one ends with an error: google's own encoder would end the process.
func TestDepthOfExtensions(t *testing.T) {
	file, err := protodesc.NewFile(&descriptorpb.FileDescriptorProto{
		Name: proto.String("depth.proto"), Package: proto.String("depth"), Syntax: proto.String("proto2"),
		MessageType: []*descriptorpb.DescriptorProto{{
			Name: proto.String("M"), ExtensionRange: []*descriptorpb.DescriptorProto_ExtensionRange{{Start: proto.Int32(100), End: proto.Int32(200)}},
		}},
		Extension: []*descriptorpb.FieldDescriptorProto{{
			Name: proto.String("next"), Number: proto.Int32(100), Extendee: proto.String(".depth.M"), TypeName: proto.String(".depth.M"),
			Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum(), Type: descriptorpb.FieldDescriptorProto_TYPE_MESSAGE.Enum(),
		}},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	next, c, most := dynamicpb.NewExtensionType(file.Extensions().Get(0)), protobuf.New(), 0
	ring := dynamicpb.NewMessage(file.Messages().Get(0))
	m := dynamicpb.NewMessage(file.Messages().Get(0))
	for depth := range 110 {
		if _, err := c.Append(nil, m); err == nil {
			most = depth
		}
		around := dynamicpb.NewMessage(file.Messages().Get(0))
		proto.SetExtension(around, next, m)
		m = around
	}
	if most != 99 {
		t.Errorf("the deepest that is encoded is below %d messages", most)
	}
	proto.SetExtension(ring, next, ring)
	if _, err := c.Append(nil, ring); err == nil {
		t.Error("a message that contains itself is encoded")
	}
}

// DecodeReuse refuses what is no message as Decode does.
func TestReuseOfNoMessage(t *testing.T) {
	c := protobuf.New()
	for _, v := range []any{nil, 5, new(int), struct{}{}} {
		want, got := c.Decode(nil, v), c.(codec.Reuser).DecodeReuse(nil, v)
		if want == nil || got == nil || want.Error() != got.Error() {
			t.Errorf("%T: Decode says %v, DecodeReuse %v", v, want, got)
		}
	}
}
