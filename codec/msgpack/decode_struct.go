package msgpack

import (
	"encoding/binary"
	"math"

	"github.com/weftrpc/weft/codec/internal/memory"
	"github.com/weftrpc/weft/codec/internal/room"
)

// structure reads a map from names into a struct. What has no field is skipped.
func (d *decoder) structure(n *node, r memory.Ref, i, depth int) int {
	b := d.body
	form, count, next := head(b, i)
	switch {
	case form == null:
		return next
	case form != table:
		return d.unfit(form, i, n)
	case depth == 0:
		return d.tooDeep(i)
	case count > uint64(len(b)-next)/2:
		return d.fail("at byte %d: a map of %d entries in %d bytes", i, count, len(b)-next)
	}
	i = next
	// Peers mostly send the fields in the order of the struct. expected is the
	// next one in this order, and no field from high on was seen.
	expected, high := 0, 0
	for ; count > 0; count-- {
		var f *field
		if expected < len(n.fields) && n.fields[expected].matches(b, i) {
			f = &n.fields[expected]
			i += len(f.key)
		} else {
			from, to := d.span(i, "the name of a field")
			if to < 0 {
				return failed
			}
			k, known := n.index[string(b[from:to])]
			if !known {
				if i = d.skip(to, depth-1); i < 0 {
					return d.in(".%s", b[from:to])
				}
				continue
			}
			i, f, expected = to, &n.fields[k], k
		}
		at := r
		if f.rare != nil {
			var ok bool
			if at, ok = reach(d, r, f.rare.via, i < len(b) && b[i] == 0xc0); !ok {
				if d.err != nil {
					return failed
				}
				i++ // nil for a field of a struct that is not there
				continue
			}
		}
		at = at.Field(f.at)
		if expected++; expected > high {
			high = expected
		} else if f.op.merges() { // it may have come before
			if !clearAgain(d, f.node, i) {
				return d.in(".%s", f.name())
			}
			at.Value(f.node.typ).SetZero()
		}
		if i = d.field(f, at, i, depth); i < 0 {
			return d.in(".%s", f.name())
		}
	}
	return i
}

// matches reports whether the key of the field is at b[i].
func (f *field) matches(b []byte, i int) bool {
	n := len(f.key)
	if len(b)-i < max(8, n) {
		return len(b)-i >= n && string(b[i:i+n]) == f.key
	}
	if binary.LittleEndian.Uint64(b[i:])&f.mask != f.head {
		return false
	}
	if n <= 8 {
		return true
	}
	if n <= 16 {
		return binary.LittleEndian.Uint64(b[i+n-8:]) == f.tail
	}
	return string(b[i+8:i+n]) == f.key[8:]
}

// field reads the value at i of the field f, which r refers to.
func (d *decoder) field(f *field, r memory.Ref, i, depth int) int {
	b := d.body
	if len(b)-i < 5 {
		return d.value(f.node, r, i, depth-1)
	}
	c := b[i]
	switch f.op {
	case opString:
		from, n := i+1, int(c)
		switch {
		case c&0xe0 == 0xa0:
			n &= 0x1f
		case c == 0xd9:
			from, n = i+2, int(b[i+1])
		default:
			return d.text(f.node, r, i)
		}
		if n > len(b)-from {
			return d.short(i)
		}
		r.SetText(d.string(from, from+n))
		return from + n
	case opBool:
		if c == 0xc2 || c == 0xc3 {
			r.SetBool(c == 0xc3)
			return i + 1
		}
	case opInt32, opUint32:
		if c < 0x80 {
			r.Set32(uint32(c))
			return i + 1
		}
		if v := binary.BigEndian.Uint32(b[i+1:]); c == 0xce && v <= math.MaxInt32 {
			r.Set32(v)
			return i + 5
		}
	case opInt64, opUint64:
		if c < 0x80 {
			r.Set64(uint64(c))
			return i + 1
		}
		if c == 0xce {
			r.Set64(uint64(binary.BigEndian.Uint32(b[i+1:])))
			return i + 5
		}
	}
	return d.value(f.node, r, i, depth-1)
}

// reach goes from the struct r through embedded pointers. Where one is nil it is
// made to point to a new struct, unless absent says that there is nothing to put there.
func reach(d *decoder, r memory.Ref, via []hop, absent bool) (memory.Ref, bool) {
	for _, h := range via {
		p := r.Field(h.at)
		switch {
		case !p.IsNil():
			r = p.Pointee()
		case absent || !spend(d, 1, h.typ.Size()):
			return r, false
		default:
			r = p.Allocate(h.typ)
		}
	}
	return r, true
}

// clearAgain counts a field that may have come before, of which a few bytes clear a whole array each time. It returns false when they have
// cleared four times what the elements of the body may take: fields that come once, in any order, clear less.
func clearAgain(d *decoder, n *node, i int) bool {
	d.cleared += int64(n.size)
	if most := 4 * (room.For(len(d.body)) + int64(d.root.Size())); d.cleared > most {
		d.fail("at byte %d: fields that come more than once take more than %d bytes", i, most)
		return false
	}
	return true
}

// merges reports whether a value read over an older one could show parts of it.
func (o op) merges() bool {
	switch o {
	case opBool, opInt8, opInt16, opInt32, opInt64, opUint8, opUint16, opUint32, opUint64, opFloat32, opFloat64, opString:
		return false
	}
	return true
}
