package json

import (
	"fmt"
	"reflect"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/weftrpc/weft/codec"
)

// isStock reports whether values of a type are generated messages, and not structs that embed one: these have its methods, which know
// nothing of the other fields.
func (c *jsonCodec) isStock(t reflect.Type) bool {
	if t.Kind() != reflect.Pointer || !t.Implements(reflect.TypeFor[proto.Message]()) {
		return false
	}
	known, ok := c.stock.Load(t)
	if !ok {
		known, _ = c.stock.LoadOrStore(t, isItself(t))
	}
	return known.(bool)
}

// isItself reports whether the message that a value of a type gives is the value.
func isItself(t reflect.Type) (is bool) {
	defer func() {
		if recover() != nil { // it embeds an interface, or a pointer, which is nil
			is = false
		}
	}()
	m := reflect.New(t.Elem()).Interface().(proto.Message)
	return reflect.TypeOf(m.ProtoReflect().Interface()) == t
}

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
