package json

import (
	"fmt"
	"reflect"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/weftrpc/weft/codec"
)

// appendMessage appends a generated message.
func (c *jsonCodec) appendMessage(dst []byte, m proto.Message) ([]byte, error) {
	if err := c.cycles.Check(m); err != nil {
		return dst, fmt.Errorf("codec/json: %w", err)
	}
	return protojson.MarshalOptions{}.MarshalAppend(dst, m)
}

// decodeMessage decodes a generated message from a body that nests not too deep.
func decodeMessage(body []byte, m proto.Message) error {
	if r := reflect.ValueOf(m); r.Kind() == reflect.Pointer && r.IsNil() {
		return fmt.Errorf("codec/json: decode into a nil %T", m)
	}
	if longNumberMayBe(body) {
		if err := scan(body, nil); err != nil {
			return err
		}
	}
	return protojson.UnmarshalOptions{DiscardUnknown: true, RecursionLimit: codec.MaxDepth}.Unmarshal(body, m)
}
