package msgpack

import (
	"encoding"

	"github.com/weftrpc/weft/codec/internal/memory"
)

// self writes a value with the methods of its type.
func (e *encoder) self(n *node, r memory.Ref, i, depth int) int {
	v := r.Value(n.typ).Addr().Interface()
	switch n.op {
	case opGenerated:
		return e.generated(v.(marshaler), i, depth)
	case opBinary:
		s, err := v.(encoding.BinaryMarshaler).MarshalBinary()
		if err != nil {
			return e.fail("MarshalBinary: %w", err)
		}
		return e.bytes(s, i)
	default:
		s, err := v.(encoding.TextMarshaler).MarshalText()
		if err != nil {
			return e.fail("MarshalText: %w", err)
		}
		return e.text(string(s), i)
	}
}

func (e *encoder) generated(v marshaler, i, depth int) int {
	b, err := v.MarshalMsg(e.b[:i])
	switch {
	case err != nil:
		return e.fail("MarshalMsg: %w", err)
	case len(b) < i:
		return e.fail("MarshalMsg returned %d bytes, fewer than it got", len(b))
	}
	// What is no whole value would change the meaning of all that follows it.
	if err := scanTo(b[i:], depth); err != nil {
		return e.fail("MarshalMsg appended what is not one value: %w", err)
	}
	if len(e.b) == 0 || &b[0] != &e.b[0] { // there was no room
		copy(e.room(i, len(b)-i)[i:], b[i:])
	}
	return len(b)
}
