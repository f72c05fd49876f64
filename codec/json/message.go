package json

import (
	"fmt"
	"reflect"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/weftrpc/weft/codec"
	"github.com/weftrpc/weft/internal/stock"
)

// isStock reports whether values of a type are generated messages.
func isStock(t reflect.Type) bool {
	if t.Kind() != reflect.Pointer || !t.Implements(reflect.TypeFor[proto.Message]()) {
		return false
	}
	_, ok := stock.Message(reflect.New(t.Elem()).Interface())
	return ok
}

// appendMessage appends a generated message.
func (c *jsonCodec) appendMessage(dst []byte, m proto.Message) ([]byte, error) {
	if err := c.cycles.Check(m); err != nil {
		return dst, fmt.Errorf("codec/json: %w", err)
	}
	return protojson.MarshalOptions{}.MarshalAppend(dst, m)
}

// decodeMessage decodes a generated message.
func (c *jsonCodec) decodeMessage(body []byte, m proto.Message) error {
	if err := checkDepth(body); err != nil {
		return err
	}
	if r := reflect.ValueOf(m); r.Kind() == reflect.Pointer && r.IsNil() {
		return fmt.Errorf("codec/json: decode into a nil %T", m)
	}
	tally := c.messageTally(body, m)
	if tally != nil || longNumberMayBe(body) {
		if err := scan(body, tally); err != nil {
			return err
		}
	}
	return protojson.UnmarshalOptions{DiscardUnknown: true, RecursionLimit: codec.MaxDepth}.Unmarshal(body, m)
}

// Plain returns a codec named "json" that knows generated messages as encoding/json does, as structs: for wires whose other programs do, such as those
// of rpcx.
func (c *jsonCodec) Plain() codec.Codec { return plain{c} }

// plain is the codec that Plain returns.
type plain struct{ *jsonCodec }

func (plain) CheckType(t reflect.Type) error {
	if t == nil {
		return nil
	}
	return checkPlain(t)
}

func (p plain) Append(dst []byte, v any) ([]byte, error) { return p.appendPlain(dst, v) }

func (p plain) Decode(body []byte, v any) error { return p.decodePlain(body, v) }
