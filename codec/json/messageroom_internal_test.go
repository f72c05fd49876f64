package json

import (
	"runtime"
	"sort"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/weftrpc/weft/codec/internal/room"
)

// TestMemoryOfMessages: what is just let in takes about as much as is allowed.
func TestMemoryOfMessages(t *testing.T) {
	many := func(text string, n int) string { return strings.TrimSuffix(strings.Repeat(text+",", n), ",") }
	c := New().(*jsonCodec)
	for name, body := range map[string]func(n int) (string, proto.Message){
		"messages": func(n int) (string, proto.Message) {
			return `{"messageType":[` + many(`{}`, n) + `]}`, new(descriptorpb.FileDescriptorProto)
		},
		"values":  func(n int) (string, proto.Message) { return `[` + many(`1`, n) + `]`, new(structpb.Value) },
		"lists":   func(n int) (string, proto.Message) { return `[` + many(`[]`, n) + `]`, new(structpb.Value) },
		"objects": func(n int) (string, proto.Message) { return `[` + many(`{"":{}}`, n) + `]`, new(structpb.Value) },
	} {
		t.Run(name, func(t *testing.T) {
			n := sort.Search(1<<20, func(n int) bool { // elements that are too many
				text, into := body(n)
				tally := c.messageTally([]byte(text), into)
				return tally != nil && scan([]byte(text), tally) != nil
			}) - 1
			text, into := body(n)
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			if err := c.Decode([]byte(text), into); err != nil {
				t.Fatal(err)
			}
			runtime.GC()
			runtime.ReadMemStats(&after)
			runtime.KeepAlive(into)
			took, most := int64(after.HeapAlloc)-int64(before.HeapAlloc), room.For(len(text))
			t.Logf("%d elements in %d bytes take %d, %d are allowed", n, len(text), took, most)
			if took > most*5/4 {
				t.Errorf("%d elements in %d bytes take %d, %d are allowed", n, len(text), took, most)
			}
		})
	}
}
