// Package codec defines how the body of a call becomes bytes.
//
// A [Codec] is a value, passed in a configuration. Each subpackage holds one.
// The caller chooses the codec of a call and sends its name to the server; the
// reply comes back in the same codec.
//
//   - raw: bytes as they are
//   - protobuf: Protocol Buffers messages
//   - json, msgpack, cbor: any Go struct, readable from other languages
//   - gob: any Go struct, between Go programs
//   - gencode: types with methods from the gencode generator
//
// Test a codec of your own with codectest.Run.
//
// A [Nesting] and [Rooms] are for codecs over an encoder and a decoder that lack
// these bounds.
package codec

import "reflect"

// A Codec turns values into bytes and bytes into values.
//
// Many goroutines use a codec at once. Nothing of one call may show in another.
type Codec interface {
	// Name is the name of the codec on the wire, for example "json": 1 to 32
	// characters of a-z, 0-9, '-' and '.'. Two codecs with one name must be able to
	// read each other.
	Name() string

	// Append appends the encoding of v to dst and returns the longer slice, as
	// the built-in append does; it may use all of dst's capacity. It never keeps
	// dst or v. After an error the bytes behind len(dst) are undefined. A value
	// that contains itself is an error.
	Append(dst []byte, v any) ([]byte, error)

	// Decode decodes body into v, which is a non-nil pointer. What v held
	// before does not show in the result, so a value can be used again and
	// nothing of one call leaks into the next; after an error what v holds is
	// undefined. A number that v cannot hold is an error, never another number, as
	// far as the format tells them apart: protobuf does not tell signed from unsigned.
	// Bytes behind the encoded value are an error, unless the format does not know
	// its end, as those of raw and protobuf do not.
	//
	// body belongs to the caller and is overwritten after Decode returns, so
	// what v keeps must be copied. Decode must survive hostile bytes: it returns
	// an error, does not panic, takes time in proportion to len(body), and
	// allocates no more than a small multiple of len(body), or what [Rooms] allows
	// for elements: a list of empty structs is short on the wire.
	Decode(body []byte, v any) error
}

// A Sizer is a codec that tells the size of an encoding beforehand, and whose
// encoding never blocks and runs no code of the application. Small values are then
// encoded straight into the buffer of the connection, without a copy.
type Sizer interface {
	// Size returns the exact length of the encoding of v; ok is false when the
	// codec cannot tell for this value, which is then encoded with Append.
	Size(v any) (n int, ok bool)

	// AppendSized is Append for a value whose Size is n. Size was called on the
	// same goroutine just before, and v has not changed since. It appends n
	// bytes or returns an error, so that n can be announced before the bytes.
	AppendSized(dst []byte, v any, n int) ([]byte, error)
}

// A Reuser is a codec that can decode over an older value without new memory.
type Reuser interface {
	// DecodeReuse is Decode, which uses the memory of what v refers to again: lists,
	// maps, and the variables behind pointers. Strings and byte slices in v may be parts of
	// body: v can be used as long as body does not change. Those that v has may be parts of an older
	// body, which another codec has decoded: nothing is written there. What did not come is zero, but
	// a list or a map may be empty in place of nil. After an error v may be decoded into
	// again. If the program has stored a pointer to a variable of its own in v, that
	// variable is overwritten. Two pointers in v must not point to one variable, nor two lists or maps share
	// memory, since both are decoded into it: what came for one then shows in the other. To remove an element of a
	// list with append leaves a copy of the last element behind the end of the list, with the pointers, lists and maps in
	// it, and the next element is decoded there; slices.Delete clears it.
	DecodeReuse(body []byte, v any) error
}

// TypeChecker is implemented by a codec that can tell by a type alone that its
// values cannot be carried, such as one that holds channels or functions. It is
// asked before a value is encoded, so an error is found when a service is
// registered or before a call is sent.
type TypeChecker interface {
	// CheckType returns why values of the type t cannot be carried; nil when they
	// can, or when that depends on the value. It remembers its answers, so it
	// may be called for each message.
	CheckType(t reflect.Type) error
}

// A Marshaler is a type whose values say themselves what bytes they travel as, in msgpack and protobuf, wherever they stand in a message: in
// a field, a list, a map, behind a pointer. In MessagePack that is a byte string, in Protocol Buffers a field of the type bytes. The
// type needs both methods, on itself or on a pointer to it, and they come before all other methods and before its fields:
//
//   - Marshaler and Unmarshaler
//   - in MessagePack, MarshalMsg and UnmarshalMsg, which the msgp generator writes
//   - in Protocol Buffers, field numbers
//   - encoding.BinaryMarshaler and BinaryUnmarshaler, also as bytes
//   - of a struct, encoding.TextMarshaler and TextUnmarshaler, as a string
//
// One method without the other, or with other parameters, is an error. The methods of a
// struct that embeds a type with one of them do not count, neither those that it has from that type, which know nothing of its other fields,
// nor its own, which cannot be told from them: in Protocol Buffers it travels by its fields, in MessagePack it is an error. Make the embedded
// type a field with a name, by a tag at least. Codecs that are not of this module need not know of Marshaler.
type Marshaler interface {
	// MarshalWeft appends the bytes to dst and returns the longer slice; it keeps and changes nothing of dst. It may be called
	// twice for one message, and by many goroutines at once for one value.
	MarshalWeft(dst []byte) ([]byte, error)
}

// An Unmarshaler is a [Marshaler] that reads its bytes again.
type Unmarshaler interface {
	// UnmarshalWeft sets the value, which is zero, to the one that travels as b, and copies what it keeps of b. Bytes
	// come from the peer: those that MarshalWeft does not append are an error, not a panic. In
	// Protocol Buffers a field for which MarshalWeft appends nothing is left out, and is zero without a call.
	UnmarshalWeft(b []byte) error
}
