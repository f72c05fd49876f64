package json_test

import (
	"fmt"
	"math/bits"
	"runtime"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/weftrpc/weft/codec/json"
)

// many is text n times, with commas between.
func many(text string, n int) string { return strings.TrimSuffix(strings.Repeat(text+",", n), ",") }

// keyed is an object of n entries.
func keyed(text string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,"%x":%s`, i, text)
	}
	return "{" + b.String()[1:] + "}"
}

// TestRoomOfMessages has bodies whose elements take much more memory than bytes in generated messages, and others that are as long.
func TestRoomOfMessages(t *testing.T) {
	for _, c := range []struct {
		name    string
		into    proto.Message
		body    string
		refused bool
	}{
		{"messages", new(descriptorpb.FileDescriptorProto), `{"messageType":[` + many(`{}`, 1<<20) + `]}`, true},
		{"messages by the other name", new(descriptorpb.FileDescriptorProto), `{"message_type":[` + many(`{}`, 1<<20) + `]}`, true},
		{"messages in messages", new(descriptorpb.FileDescriptorProto), `{"messageType":[` + many(`{"nestedType":[{},{},{},{},{},{},{},{}]}`, 100_000) + `]}`, true},
		{"single messages", new(descriptorpb.FileDescriptorProto), `{"messageType":[` + many(`{"options":{}}`, 400_000) + `]}`, bits.UintSize == 64},
		{"lists of any kind", new(structpb.Value), `[` + many(`[]`, 1<<20) + `]`, true},
		{"objects of any kind", new(structpb.ListValue), `[` + many(`{}`, 1<<20) + `]`, true},
		{"values of any kind", new(structpb.Value), `[` + many(`1`, 1<<21) + `]`, true},
		{"nothing of any kind", new(structpb.Value), `[` + many(`null`, 1<<21) + `]`, true},
		{"entries of any kind", new(structpb.Struct), keyed(`0`, 100_000), false},
		{"a type that the body names", new(anypb.Any), `{"@type":"type.googleapis.com/google.protobuf.ListValue","value":[` + many(`{}`, 1<<20) + `]}`, true},
		{"extensions", new(descriptorpb.FileOptions), `{"[some.extension]":[` + many(`{}`, 1<<20) + `]}`, true},
		{"a field that is not known", new(descriptorpb.FileDescriptorProto), `{"nothing":[` + many(`{}`, 1<<19) + `]}`, false},
		{"numbers", new(descriptorpb.SourceCodeInfo_Location), `{"path":[` + many(`1`, 1<<19) + `]}`, false},
		{"texts", new(descriptorpb.FileDescriptorProto), `{"dependency":[` + many(`""`, 1<<19) + `]}`, false},
		{"a long text", new(descriptorpb.FileDescriptorProto), `{"name":"` + strings.Repeat(`{[,`, 1<<20) + `"}`, false},
		{"messages with contents", new(descriptorpb.FileDescriptorProto), `{"messageType":[` + many(`{"name":"a message with a name of some length, as they are"}`, 60_000) + `]}`, false},
		{"few messages", new(descriptorpb.FileDescriptorProto), `{"messageType":[` + many(`{}`, 10_000) + `]}`, false},
		{"values of some length", new(structpb.Value), `[` + many(`"some text"`, 300_000) + `]`, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			body := []byte(c.body)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			err := json.New().Decode(body, c.into)
			runtime.ReadMemStats(&after)
			took := after.TotalAlloc - before.TotalAlloc
			if refused := err != nil; refused != c.refused || refused && !strings.Contains(err.Error(), "elements take more") {
				t.Errorf("%d bytes, which took %d: %v", len(c.body), took, err)
			}
			if c.refused && took > 4<<20 {
				t.Errorf("to refuse %d bytes took %d", len(c.body), took)
			}
		})
	}
}

// All dynamic messages have one Go type: what is known of one is not held against another.
func TestRoomOfDynamicMessages(t *testing.T) {
	c := json.New()
	if err := c.Decode([]byte(`[{}]`), dynamicpb.NewMessage((*structpb.Value)(nil).ProtoReflect().Descriptor())); err != nil {
		t.Fatal(err)
	}
	numbers := []byte(`{"path":[` + strings.TrimSuffix(strings.Repeat(`1,`, 1<<20), ",") + `]}`)
	if err := c.Decode(numbers, dynamicpb.NewMessage((*descriptorpb.SourceCodeInfo_Location)(nil).ProtoReflect().Descriptor())); err != nil {
		t.Error(err)
	}
}
