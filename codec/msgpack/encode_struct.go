package msgpack

import (
	"encoding/binary"
	"math"
	"math/bits"

	"github.com/weftrpc/weft/codec/internal/memory"
	"github.com/weftrpc/weft/codec/internal/pack"
)

// structure writes a struct as a map from names to values.
func (e *encoder) structure(n *node, r memory.Ref, i, depth int) int {
	if depth == 0 {
		return e.tooDeep()
	}
	if n.sparse {
		return e.sparse(n, r, i, depth)
	}
	b := e.room(i, n.need)
	i = pack.TableHead(b, i, len(n.fields))
	for k := range n.fields {
		f := &n.fields[k]
		i = f.putKey(b, i)
		if i = e.field(f, r.Field(f.at), i, depth); i < 0 {
			return e.in(".%s", f.name())
		}
		b = e.b
	}
	return i
}

// putKey writes the name of the field. It may write up to slack bytes.
func (f *field) putKey(b []byte, i int) int {
	n := len(f.key)
	binary.LittleEndian.PutUint64(b[i:], f.head)
	if n > 8 {
		if n > 16 {
			copy(b[i+8:], f.key[8:])
		} else {
			binary.LittleEndian.PutUint64(b[i+n-8:], f.tail)
		}
	}
	return i + n
}

// field writes the value of the field f, which r refers to. There is room for
// numbers and for all that comes behind them; it leaves f.after for the fields behind.
func (e *encoder) field(f *field, r memory.Ref, i, depth int) int {
	b := e.b
	switch f.op {
	case opInt32, opInt64:
		var v int64
		if f.op == opInt32 {
			v = int64(r.Int32())
		} else {
			v = r.Int64()
		}
		switch {
		case uint64(v) < 128:
			b[i] = byte(v)
			return i + 1
		case uint64(v) <= math.MaxUint32 && uint64(v) > math.MaxUint16:
			binary.LittleEndian.PutUint64(b[i:], 0xce|uint64(bits.ReverseBytes32(uint32(v)))<<8)
			return i + 5
		}
		return pack.Int(b, i, v)
	case opString:
		s := r.Text()
		if len(b)-i < 5+len(s)+int(f.after) {
			if i = e.text(s, i); i >= 0 {
				e.room(i, int(f.after))
			}
			return i
		}
		switch n := len(s); {
		case n < 32:
			b[i] = 0xa0 | byte(n)
			i++
		case n <= math.MaxUint8:
			b[i+1], b[i] = byte(n), 0xd9
			i += 2
		default:
			i = pack.TextHead(b, i, n)
		}
		return i + copy(b[i:], s)
	case opBool, opInt8, opInt16, opUint8, opUint16, opUint32, opUint64, opFloat32, opFloat64:
		return putNumber(f.op, b, i, r)
	}
	if i = e.value(f.node, r, i, depth-1); i >= 0 {
		e.room(i, int(f.after))
	}
	return i
}

// sparse is structure for a struct of which fields may be left out.
func (e *encoder) sparse(n *node, r memory.Ref, i, depth int) int {
	count := 0
	for k := range n.fields {
		if _, ok := n.fields[k].present(r); ok {
			count++
		}
	}
	b := e.room(i, n.need)
	i = pack.TableHead(b, i, count)
	for k := range n.fields {
		f := &n.fields[k]
		at, ok := f.present(r)
		if !ok {
			continue
		}
		i = f.putKey(b, i)
		if i = e.field(f, at, i, depth); i < 0 {
			return e.in(".%s", f.name())
		}
		b = e.b
	}
	return i
}

// present returns the field f of the struct r; ok is false when it is left out.
func (f *field) present(r memory.Ref) (at memory.Ref, ok bool) {
	if f.rare != nil {
		for _, p := range f.rare.parents {
			outer, ok := follow(r, p.via)
			if !ok || outer.Field(p.at).Value(p.typ).IsZero() {
				return r, false
			}
		}
		if r, ok = follow(r, f.rare.via); !ok {
			return r, false
		}
	}
	at = r.Field(f.at)
	return at, !f.omit || !f.node.zero(at)
}

// follow goes from the struct r through embedded pointers, unless one is nil.
func follow(r memory.Ref, via []hop) (memory.Ref, bool) {
	for _, h := range via {
		if r = r.Field(h.at); r.IsNil() {
			return r, false
		}
		r = r.Pointee()
	}
	return r, true
}

// zero reports whether the variable r has the zero value of its type.
func (n *node) zero(r memory.Ref) bool {
	switch n.op {
	case opBool:
		return !r.Bool()
	case opInt32:
		return r.Int32() == 0
	case opInt64:
		return r.Int64() == 0
	case opString:
		return r.Text() == ""
	case opBytes, opSlice, opPointer:
		return r.IsNil()
	}
	return r.Value(n.typ).IsZero()
}
