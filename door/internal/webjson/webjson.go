// Package webjson is the codec for JSON in which messages of Protocol Buffers have the form of
// protojson.
package webjson

import (
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/weftrpc/weft/codec"
	"github.com/weftrpc/weft/codec/json"
	"github.com/weftrpc/weft/internal/fit"
)

// New returns a codec named "json". strict refuses fields that a type does not have.
func New(strict bool) codec.Codec { return jsonCodec{json.New(), strict} }

// Check tells by the type of a message alone why the codec c, which New has made, can never carry it; nil when
// it can, or when that depends on the value.
func Check(c codec.Codec, msg any) error {
	if _, ok := msg.(proto.Message); ok {
		return nil
	}
	return fit.Carries(c.(jsonCodec).Codec, msg)
}

// jsonCodec is JSON in which the messages of Protocol Buffers have the form of protojson.
type jsonCodec struct {
	codec.Codec
	strict bool
}

// Append implements codec.Codec.
func (c jsonCodec) Append(dst []byte, v any) ([]byte, error) {
	if m, ok := v.(proto.Message); ok {
		return protojson.MarshalOptions{}.MarshalAppend(dst, m)
	}
	return c.Codec.Append(dst, v)
}

// Decode implements codec.Codec.
func (c jsonCodec) Decode(body []byte, v any) error {
	if m, ok := v.(proto.Message); ok {
		return protojson.UnmarshalOptions{DiscardUnknown: !c.strict, RecursionLimit: codec.MaxDepth}.Unmarshal(body, m)
	}
	if err := c.Codec.Decode(body, v); err != nil || !c.strict {
		return err
	}
	return knownFields(body, v)
}
