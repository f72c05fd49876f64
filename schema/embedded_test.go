package schema_test

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/weftrpc/weft/codec"
	"github.com/weftrpc/weft/codec/json"
	"github.com/weftrpc/weft/codec/msgpack"
	"github.com/weftrpc/weft/codec/protobuf"
	"github.com/weftrpc/weft/schema"
)

type (
	// TracedText has the methods of a generated message, which know nothing of its own fields.
	TracedText struct {
		*wrapperspb.StringValue
		Trace string `json:"trace" msgpack:"t"`
		Retry int
	}
	// TracedTime embeds a message that is not a pointer.
	TracedTime struct {
		durationpb.Duration
		Trace string
	}
	// TracedAny embeds the interface of all messages.
	TracedAny struct {
		proto.Message
		Trace string
	}
)

// TestEmbeddedMessage: a struct that embeds a generated message is described as the struct that the codecs send, with all its fields.
func TestEmbeddedMessage(t *testing.T) {
	for name, test := range map[string]struct {
		v      any
		codecs bool // they can encode and decode it
	}{
		"schema_test.TracedText": {&TracedText{wrapperspb.String("x"), "t", 1}, true},
		"schema_test.TracedTime": {&TracedTime{Duration: durationpb.Duration{Seconds: 5, Nanos: 7}, Trace: "t"}, true},
		"schema_test.TracedAny":  {&TracedAny{nil, "t"}, false},
	} {
		typ := reflect.TypeOf(test.v).Elem()
		m := modelOf(t, typ, reflect.TypeFor[int]()).Message(name)
		if m == nil {
			t.Errorf("%s is not in the model", name)
			continue
		}
		if err := protobuf.New().(interface{ CheckType(reflect.Type) error }).CheckType(reflect.PointerTo(typ)); err == nil || !strings.Contains(m.NoProto, "embeds a generated message") {
			t.Errorf("%s: the model says %q of Protocol Buffers, the codec %v", name, m.NoProto, err)
		}
		set := schema.NewSet("#/")
		set.Of(typ)
		described := slices.Sorted(maps.Keys(set.Definitions()[name].Properties))
		if !test.codecs {
			if !slices.Contains(described, "Trace") {
				t.Errorf("%s: the schema has %q", name, described)
			}
			continue
		}
		var ofJSON, ofMessagePack []string
		for _, f := range m.Fields {
			if f.Name != "" {
				ofJSON = append(ofJSON, f.Name)
			}
			if f.MessagePack != "" {
				ofMessagePack = append(ofMessagePack, f.MessagePack)
			}
		}
		slices.Sort(ofJSON)
		slices.Sort(ofMessagePack)
		if !slices.Equal(described, ofJSON) {
			t.Errorf("%s: the schema has %q, the model %q", name, described, ofJSON)
		}
		for c, got := range map[codec.Codec][]string{json.New(): ofJSON, msgpack.New(): ofMessagePack} {
			b, err := c.Append(nil, test.v)
			sent := make(map[string]any)
			if err == nil {
				err = c.Decode(b, &sent)
			}
			if want := slices.Sorted(maps.Keys(sent)); err != nil || !slices.Equal(got, want) {
				t.Errorf("%s: the model has %q for %s, which sends %q, %v", name, got, c.Name(), want, err)
			}
		}
	}
	// The message itself is described by its descriptor, and a struct that has nothing else too, as it is for codec/protobuf.
	type alone struct{ *wrapperspb.StringValue }
	set := schema.NewSet("#/")
	for _, typ := range []reflect.Type{reflect.TypeFor[wrapperspb.StringValue](), reflect.TypeFor[alone]()} {
		if got := set.Of(typ); got.Type != "string" || !got.Nullable {
			t.Errorf("%v is described as %+v", typ, got)
		}
	}
}
