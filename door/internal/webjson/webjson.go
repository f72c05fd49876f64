// Package webjson is the codec for JSON as doors read it: that of package codec/json, which can be made to refuse unknown fields.
package webjson

import (
	"github.com/weftrpc/weft/codec"
	"github.com/weftrpc/weft/codec/json"
)

// New returns a codec named "json". strict refuses fields that a type does not have.
func New(strict bool) codec.Codec {
	if strict {
		return strictCodec{json.New()}
	}
	return json.New()
}

// strictCodec is JSON without unknown fields.
type strictCodec struct{ codec.Codec }

// Decode implements codec.Codec.
func (c strictCodec) Decode(body []byte, v any) error {
	if err := c.Codec.Decode(body, v); err != nil {
		return err
	}
	return knownFields(body, v)
}
