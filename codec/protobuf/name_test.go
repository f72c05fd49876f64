package protobuf_test

import (
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/weftrpc/weft/codec/protobuf"
)

type (
	embedsInterface struct{ proto.Message }
	embedsPointer   struct{ *durationpb.Duration }
	embedsBeside    struct {
		*durationpb.Duration
		Text string
	}
)

// TestName has structs that embed a message, or nothing: one that has fields of its own is no message, and its detail travels as MessagePack.
func TestName(t *testing.T) {
	const duration = "google.protobuf.Duration"
	for i, test := range []struct {
		v    any
		name string
	}{
		{durationpb.New(1), duration},
		{(*durationpb.Duration)(nil), duration},
		{&embedsInterface{durationpb.New(1)}, duration},
		{&embedsInterface{}, ""},
		{embedsInterface{}, ""},
		{(*embedsInterface)(nil), ""},
		{&embedsPointer{durationpb.New(1)}, duration},
		{(*embedsPointer)(nil), ""},
		{&embedsBeside{durationpb.New(1), "text"}, ""},
		{&embedsBeside{}, ""},
		{&struct{ Text string }{}, ""},
		{7, ""},
		{nil, ""},
	} {
		if name := protobuf.Name(test.v); name != test.name {
			t.Errorf("value %d, a %T, is called %q, want %q", i, test.v, name, test.name)
		}
	}
}
