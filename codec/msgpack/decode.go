package msgpack

import (
	"reflect"
	"time"

	"github.com/weftrpc/weft/codec/internal/memory"
	"github.com/weftrpc/weft/codec/internal/texts"
)

// decoder reads one value. Its functions get an index into body, and return where
// the value there ended, or failed. They read body only where they have checked
// that it goes on.
type decoder struct {
	source
	reuse   bool // lists and maps may have memory, and texts are those of body
	texts   texts.Pieces
	root    reflect.Type
	room    int64 // bytes of memory that may be spent before the body is measured
	cleared int64 // bytes of fields that may have come before
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
	case opUnion:
		return union(d, n, r, i, depth)
	case opPointer:
		if i < len(d.body) && d.body[i] == 0xc0 {
			return i + 1
		}
		if !spend(d, 1, n.elem.size) {
			return failed
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
