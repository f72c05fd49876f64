package protobuf_test

import (
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"
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
