package msgpack

import (
	"math"

	"github.com/weftrpc/weft/codec/internal/memory"
	"github.com/weftrpc/weft/codec/internal/pack"
	"github.com/weftrpc/weft/codec/internal/self"
)

// self writes a value with the methods of its type.
func (e *encoder) self(n *node, r memory.Ref, i, depth int) int {
	v := r.Value(n.typ).Addr().Interface()
	if n.op == opGenerated {
		return e.generated(v.(marshaler), i, depth)
	}
	from := i + pack.MaxHead // the head takes that or less
	b, err := n.own.Append(e.room(i, pack.MaxHead)[:from], v)
	size := len(b) - from
	switch {
	case err != nil:
		return e.fail("%w", err)
	case uint64(size) > math.MaxUint32:
		return e.fail("%d bytes are more than MessagePack allows", size)
	case &b[0] != &e.b[0]: // there was no room
		copy(e.room(i, pack.MaxHead+size)[from:], b[from:])
	}
	if n.own == self.Text {
		i = pack.TextHead(e.b, i, size)
	} else {
		i = pack.BytesHead(e.b, i, size)
	}
	return i + copy(e.b[i:], e.b[from:from+size])
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
