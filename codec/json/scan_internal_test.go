package json

import (
	"reflect"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/weftrpc/weft/codec/codectest"
)

// FuzzScan has the scan read what encoding/json decodes: with room for
// everything it refuses none of it.
func FuzzScan(f *testing.F) {
	c := New().(*jsonCodec)
	var messages []*messageShape
	for _, m := range []proto.Message{new(descriptorpb.FileDescriptorSet), new(structpb.Value), new(anypb.Any)} {
		messages = append(messages, shapeOf(m.ProtoReflect().New(), make(map[protoreflect.FullName]*messageShape)))
	}
	for _, s := range []string{"", "null", "-0.5e+1", `"\u00e9\""`, `{"Field1":"x","Parts":[{"Ids":[1]}, null]}`, `{"a":{"b":[1,2,{"c":"[["}]}}`, `[}`, `{]:,"a"`, `"a":`, `[[],{},[{}],"\\"]`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, v := range []any{new(any), new(codectest.Message), new([]any), new(map[string][]int), new([]codectest.Part)} {
			var tally counter
			if t := c.rooms.Tally(1<<30, reflect.TypeOf(v).Elem()); t != nil { // with 32 bits there is none
				tally = t
			}
			if err := scan(body, tally); err != nil && len(body) <= maxNumber {
				t.Fatalf("%q into a %T: %v", body, v, err)
			}
			if err := scan(body, nil); err != nil && len(body) <= maxNumber {
				t.Fatalf("%q: %v", body, err)
			}
		}
		for i, shape := range messages {
			if err := scan(body, &messageTally{left: 1 << 60, next: place{shape: shape}}); err != nil && len(body) <= maxNumber {
				t.Fatalf("%q into message %d: %v", body, i, err)
			}
		}
	})
}
