package msgpack

import (
	"time"

	"github.com/weftrpc/weft/codec"
	"github.com/weftrpc/weft/codec/internal/memory"
	"github.com/weftrpc/weft/codec/internal/texts"
)

// decoder reads one value. Its functions get an index into body, and return where
// the value there ended, or failed. They read body only where they have checked
// that it goes on.
type decoder struct {
	body  []byte
	texts texts.Pieces
	owed  uint64 // so many elements are to come in the lists and maps around this place
	trail
}

// claim reports whether n elements, which the value at i announces, can be in the
// bytes from next on, beside those owed. Each has a byte at least; so all that is
// claimed, at whatever depth, is not more than what came. The caller takes each from
// owed before it reads it.
func (d *decoder) claim(n uint64, i, next int) bool {
	if left := uint64(len(d.body) - next); n > left || n > left-min(left, d.owed) {
		d.fail("at byte %d: %d elements claimed, %d bytes are left", i, n, left)
		return false
	}
	d.owed += n
	return true
}

func (d *decoder) short(i int) int {
	return d.fail("at byte %d: body ends within a value", i)
}

func (d *decoder) tooDeep(i int) int {
	return d.fail("at byte %d: nesting deeper than %d", i, codec.MaxDepth)
}

// unfit fails, since the value at i is none for the type of n.
func (d *decoder) unfit(f form, i int, n *node) int {
	switch f {
	case short:
		return d.short(i)
	case invalid:
		return d.fail("at byte %d: byte 0xc1 begins no value", i)
	}
	return d.fail("at byte %d: %s does not fit a %s", i, f, n.typ)
}

// value reads the value at i into the variable r of the type of n, which is zero
// unless it is a number or a text. At most depth containers may be in one another there.
func (d *decoder) value(n *node, r memory.Ref, i, depth int) int {
	switch n.op {
	case opBool:
		return d.boolean(n, r, i)
	case opInt8, opInt16, opInt32, opInt64, opUint8, opUint16, opUint32, opUint64:
		return d.integer(n, r, i)
	case opFloat32, opFloat64:
		return d.float(n, r, i)
	case opComplex64, opComplex128:
		return d.complex(n, r, i)
	case opString:
		return d.text(n, r, i)
	case opBytes:
		return d.bytes(n, r, i, depth)
	case opTime:
		return d.time(n, memory.As[time.Time](r), i)
	case opStruct:
		return d.structure(n, r, i, depth)
	case opPointer:
		if i < len(d.body) && d.body[i] == 0xc0 {
			return i + 1
		}
		return d.value(n.elem, r.Allocate(n.elem.typ), i, depth)
	case opSlice:
		return d.slice(n, r, i, depth)
	case opArray:
		return d.array(n, r, i, depth)
	case opMap:
		return d.table(n, r, i, depth)
	case opAny:
		v, next := d.any(i, depth)
		if next >= 0 {
			r.SetAny(v)
		}
		return next
	case opInterface:
		f, _, next := head(d.body, i)
		if f != null {
			return d.unfit(f, i, n)
		}
		return next
	}
	return d.self(n, r, i, depth)
}

func (d *decoder) boolean(n *node, r memory.Ref, i int) int {
	f, v, next := head(d.body, i)
	if f != boolean && f != null {
		return d.unfit(f, i, n)
	}
	r.SetBool(v == 1)
	return next
}

// skip returns where the value at i ends.
func (d *decoder) skip(i, depth int) int {
	f, n, next := head(d.body, i)
	left := uint64(len(d.body) - next)
	switch f {
	case short:
		return d.short(i)
	case invalid:
		return d.fail("at byte %d: byte 0xc1 begins no value", i)
	case extension:
		n++ // the type
		fallthrough
	case text, binaryText:
		if n > left {
			return d.short(i)
		}
		return next + int(n)
	case table:
		n *= 2
		fallthrough
	case list:
		if depth == 0 {
			return d.tooDeep(i)
		}
		if n > left {
			return d.fail("at byte %d: %d elements claimed, %d bytes are left", i, n, left)
		}
		for range int(n) {
			if next = d.skip(next, depth-1); next < 0 {
				return failed
			}
		}
	}
	return next
}
