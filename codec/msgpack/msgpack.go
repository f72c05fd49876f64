// Package msgpack is the codec for MessagePack: as rich as JSON, smaller and
// faster, and readable from every language.
//
// # Structs
//
// A struct travels as a map from field names to values, so that languages without
// a schema can read it. The tag `msgpack:"name"` renames a field,
// `msgpack:"name,omitempty"` leaves it out when it is zero, and `msgpack:"-"`
// always; so does `weft:"-"` where no tag msgpack gives the field a name. Fields of an embedded struct
// belong to the outer one, unless it has a tag with a name, and are hidden by fields of their name that are less deep. Two of one
// name that are equally deep are an error.
//
// Fields match by name alone, as with encoding/json and encoding/gob. Either side
// may add, remove or reorder fields, and widen numbers: a field that the receiver
// does not have is skipped, one that did not come is zero. So a struct of which no
// field matches, such as one whose fields were all renamed, decodes to zeros
// without an error.
//
// Of a union of Thrift, whose fields have the option "union" in their tags for door/thrift as weft generate writes them, exactly one field
// is encoded: none or several are an error. Several are one for the receiver too; none are what it has of a field that it does not know.
//
// # Numbers
//
// A number that the receiver cannot hold is an error, never another number: it is
// too large, negative for an unsigned integer, not whole for an integer, or an
// integer that a float cannot hold exactly. A float64 that arrives for a float32 is
// rounded, unless it becomes infinite. A named number, such as an enumeration, is a
// number on the wire, and so is a time.Duration.
//
// # Other types
//
//   - A []byte or an array of bytes travels as a byte string. A byte string and a
//     string are accepted for each other.
//   - A time.Time travels as the timestamp extension, -1, to the nanosecond, and
//     arrives in UTC.
//   - A type with the methods of [codec.Marshaler] travels as a byte string, wherever it stands.
//   - A type with the methods MarshalMsg and UnmarshalMsg, such as the msgp
//     generator writes, is encoded and decoded with them, wherever it stands. What
//     they append must be one value.
//   - A type with MarshalBinary and UnmarshalBinary travels as a byte string, and a
//     struct with MarshalText and UnmarshalText as a string. This does not hold for a
//     struct that embeds such a type, since the methods would leave out its other fields.
//   - What arrives in an any is a map[any]any, a []any, a string, a []byte, a
//     time.Time, or the smallest Go type that holds the number as it was sent. A
//     byte string as a key of such a map becomes a string. An interface with methods is encoded as what it holds, and only nil is decoded into one.
//   - nil is accepted for any type and is its zero value. An array of fewer
//     elements than a Go array has leaves the others zero; one of more is an error.
//
// A type that would lose something silently, such as a struct whose fields are all
// unexported, is an error, as is one with a channel or a function; CheckType tells
// before anything is sent. Containers may nest [codec.MaxDepth] deep, and a value
// that contains itself is an error.
//
// The elements of a body take at most 32 MiB and 16 times its length in memory; one that would take more is an error.
//
// # Cost
//
// A type is examined once, at its first use; after that no value is looked at by
// package reflect, except maps of uncommon types. The strings and byte slices of a
// message share one allocation, or one for each 4 KiB; those of 1 KiB and
// more have their own. So a short string keeps at most 4 KiB of its message alive.
// A variable is set through unsafe.Pointer, in one small package; with the build tag
// purego it is set by package reflect, which is several times slower.
package msgpack

import (
	"fmt"
	"reflect"

	"github.com/weftrpc/weft/codec"
	"github.com/weftrpc/weft/codec/internal/memory"
	"github.com/weftrpc/weft/codec/internal/texts"
)

// New returns a codec named "msgpack".
func New() codec.Codec { return msgpackCodec{} }

type msgpackCodec struct{}

func (msgpackCodec) Name() string { return "msgpack" }

// CheckType reports why values of the type t, or what such a pointer points to,
// cannot be carried. What is behind interfaces is not known before it is sent.
func (msgpackCodec) CheckType(t reflect.Type) error {
	if t == nil {
		return nil
	}
	return planFor(t).err
}

// Append appends v. A nil v is a MessagePack nil.
func (msgpackCodec) Append(dst []byte, v any) (_ []byte, err error) {
	defer recovered(&err, "encoding", v)
	if v == nil {
		return append(dst, 0xc0), nil
	}
	p := planOf(v)
	if p.err != nil {
		return dst, p.err
	}
	if p.node.op == opPointer && p.node.elem.op == opGenerated { // nil is for its method, too
		return v.(marshaler).MarshalMsg(dst)
	}
	e := encoder{b: dst[len(dst):cap(dst)]}
	end := e.root(p, v, 0, codec.MaxDepth)
	if end < 0 {
		e.release()
		return dst, e.wrap("encoding", v)
	}
	return e.finish(dst, end), nil
}

// Decode decodes the one value that body holds.
func (msgpackCodec) Decode(body []byte, v any) (err error) {
	target := reflect.ValueOf(v)
	if target.Kind() != reflect.Pointer || target.IsNil() {
		_, err := codec.Target(v)
		return err
	}
	p := planOf(v)
	if p.err != nil {
		return p.err
	}
	defer recovered(&err, "decoding into", v)
	target.Elem().SetZero()
	n := p.node.elem
	d := decoder{source: source{body: body}, texts: texts.Pieces{Rest: n.frame}}
	return d.decode(n, memory.Of(target), v)
}

// recovered makes an error of a panic, which a method of the user's may cause.
func recovered(err *error, doing string, v any) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("codec/msgpack: %s a %T: %v", doing, v, r)
	}
}
