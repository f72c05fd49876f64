package protobuf_test

import (
	"testing"

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
