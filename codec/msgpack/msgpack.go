// Package msgpack is the codec for MessagePack: as rich as JSON, smaller and
// faster, and readable from every language.
//
// Structs travel as maps from field name to value, so that fields can be added
// and languages without a schema can read them. The tag `msgpack:"name"`
// renames a field, `msgpack:"name,omitempty"` leaves it out when it is zero,
// and `msgpack:"-"` always. A time.Time travels as the timestamp extension,
// -1, to the nanosecond, and arrives in UTC. What arrives in an any is a
// map[any]any, a []any, a string, a []byte, or the smallest Go type that holds
// the number as it was sent.
//
// A type with the methods that the msgp generator writes, MarshalMsg and
// UnmarshalMsg, is encoded and decoded with them, several times faster. Other
// types go through reflection, with github.com/shamaton/msgpack. A type that
// would lose something silently, such as a struct whose fields are all
// unexported, is an error. A number is not checked against the size of the
// field that receives it: as in a Go conversion, high bits are dropped.
package msgpack

import (
	"bytes"
	"fmt"
	"reflect"
	"sync"

	"github.com/shamaton/msgpack/v3"

	"github.com/weftrpc/weft/codec"
)

// New returns a codec named "msgpack".
func New() codec.Codec { return msgpackCodec{} }

type msgpackCodec struct{}

// checked is what check said of the types that were seen, reflect.Type to verdict.
var checked sync.Map

// marshaler and unmarshaler are what the msgp generator writes.
type marshaler interface {
	MarshalMsg(b []byte) ([]byte, error)
}

type unmarshaler interface {
	UnmarshalMsg(b []byte) (rest []byte, err error)
}

func (msgpackCodec) Name() string { return "msgpack" }

// Append appends v. A nil v is a MessagePack nil.
func (msgpackCodec) Append(dst []byte, v any) (_ []byte, err error) {
	defer recovered(&err, "encoding", v)
	if m, ok := v.(marshaler); ok {
		return m.MarshalMsg(dst)
	}
	switch how := check(reflect.TypeOf(v)); {
	case how.err != nil:
		return dst, how.err
	case how.pointer:
		// Its fields may have other names there than the library would give them.
		p := reflect.New(reflect.TypeOf(v))
		p.Elem().Set(reflect.ValueOf(v))
		return p.Interface().(marshaler).MarshalMsg(dst)
	}
	b, err := msgpack.MarshalAsMap(v)
	if err != nil {
		return dst, fmt.Errorf("codec/msgpack: encoding a %T: %w", v, err)
	}
	return append(dst, b...), nil
}

// Decode decodes the one value that body holds.
func (msgpackCodec) Decode(body []byte, v any) (err error) {
	target, err := codec.Target(v)
	if err != nil {
		return err
	}
	// Neither decoder below may see a body that lies about itself: the one
	// reads beyond its end, the other makes room for what is claimed.
	if err := scan(body); err != nil {
		return fmt.Errorf("codec/msgpack: %w", err)
	}
	target.SetZero()
	// Type confusion, such as bytes for a []int, ends in a panic of reflect.
	defer recovered(&err, "decoding into", v)
	if m, ok := v.(unmarshaler); ok {
		rest, err := m.UnmarshalMsg(body[:len(body):len(body)])
		if err == nil && len(rest) > 0 {
			err = fmt.Errorf("codec/msgpack: UnmarshalMsg of a %T left %d bytes", v, len(rest))
		}
		return err
	}
	if how := check(target.Type()); how.err != nil {
		return how.err
	}
	// The library lets byte slices and strings point into what it decodes.
	if err := msgpack.UnmarshalAsMap(bytes.Clone(body), v); err != nil {
		return fmt.Errorf("codec/msgpack: decoding into a %T: %w", v, err)
	}
	return nil
}

func recovered(err *error, doing string, v any) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("codec/msgpack: %s a %T: %v", doing, v, r)
	}
}
