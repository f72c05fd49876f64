package msgpack

import (
	"math"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/weftrpc/weft/codec"
	"github.com/weftrpc/weft/codec/internal/memory"
	"github.com/weftrpc/weft/codec/internal/pack"
)

// encoder writes one value. Its functions get an index into b, and return where
// they ended, or failed.
type encoder struct {
	b        []byte  // what dst has behind its length, or scratch
	borrowed *[]byte // the scratch, once dst had no room
	trail
}

// room returns b with n bytes behind i at least. Often that is more than the
// value needs in the end, so dst does not grow here.
func (e *encoder) room(i, n int) []byte {
	if len(e.b)-i < n {
		e.grow(i, n)
	}
	return e.b
}

//go:noinline
func (e *encoder) grow(i, n int) {
	written := e.b[:i]
	if e.borrowed == nil {
		e.borrowed = scratch.Get().(*[]byte)
		e.b = *e.borrowed
	}
	if len(e.b)-i < n {
		b := slices.Grow(e.b[:0], 2*i+n)
		e.b = b[:cap(b)]
		*e.borrowed = e.b
	}
	copy(e.b, written)
}

// finish appends what was written, up to end, to dst.
func (e *encoder) finish(dst []byte, end int) []byte {
	if e.borrowed == nil {
		return dst[:len(dst)+end]
	}
	dst = append(dst, e.b[:end]...)
	e.release()
	return dst
}

// release gives the scratch back.
func (e *encoder) release() {
	if e.borrowed != nil && len(*e.borrowed) <= keptScratch {
		scratch.Put(e.borrowed)
	}
}

// keptScratch is how long a buffer in the pool may be.
const keptScratch = 64 << 10

// scratch has buffers for values that may be longer than dst has room for.
var scratch = sync.Pool{New: func() any {
	b := make([]byte, 2<<10)
	return &b
}}

func (e *encoder) tooDeep() int {
	return e.fail("nesting deeper than %d: the value may contain itself", codec.MaxDepth)
}

// value writes the variable r of the type of n. At most depth containers may be
// in one another there.
func (e *encoder) value(n *node, r memory.Ref, i, depth int) int {
	switch n.op {
	case opBool, opInt8, opInt16, opInt32, opInt64, opUint8, opUint16, opUint32, opUint64, opFloat32, opFloat64:
		return putNumber(n.op, e.room(i, slack+2), i, r)
	case opComplex64:
		return pack.Complex64(e.room(i, pack.MaxComplex), i, complex64(r.Value(n.typ).Complex()))
	case opComplex128:
		return pack.Complex128(e.room(i, pack.MaxComplex), i, r.Value(n.typ).Complex())
	case opString:
		return e.text(r.Text(), i)
	case opBytes:
		if r.IsNil() {
			return e.null(i)
		}
		return e.bytes(r.Bytes(), i)
	case opTime:
		return pack.Time(e.room(i, pack.MaxTime), i, *memory.As[time.Time](r))
	case opStruct:
		return e.structure(n, r, i, depth)
	case opUnion:
		return e.union(n, r, i, depth)
	case opPointer:
		return e.pointer(n, r, i, depth)
	case opSlice:
		if r.IsNil() {
			return e.null(i)
		}
		return e.slice(n, r, i, depth)
	case opArray:
		return e.array(n, r, i, depth)
	case opMap:
		if r.IsNil() {
			return e.null(i)
		}
		return e.table(n, r, i, depth)
	case opAny:
		return e.any(r.Any(), i, depth)
	case opInterface:
		v := r.Value(n.typ)
		if v.IsNil() {
			return e.null(i)
		}
		return e.any(v.Elem().Interface(), i, depth)
	}
	return e.self(n, r, i, depth)
}

func (e *encoder) null(i int) int {
	e.room(i, 1)[i] = 0xc0
	return i + 1
}

// putNumber writes a bool or a number.
func putNumber(o op, b []byte, i int, r memory.Ref) int {
	switch o {
	case opBool:
		return pack.Bool(b, i, r.Bool())
	case opInt8:
		return pack.Int(b, i, int64(r.Int8()))
	case opInt16:
		return pack.Int(b, i, int64(r.Int16()))
	case opInt32:
		return pack.Int(b, i, int64(r.Int32()))
	case opInt64:
		return pack.Int(b, i, r.Int64())
	case opUint8:
		return pack.Uint(b, i, uint64(r.Uint8()))
	case opUint16:
		return pack.Uint(b, i, uint64(r.Uint16()))
	case opUint32:
		return pack.Uint(b, i, uint64(r.Uint32()))
	case opUint64:
		return pack.Uint(b, i, r.Uint64())
	case opFloat32:
		return pack.Float32(b, i, r.Float32())
	}
	return pack.Float64(b, i, r.Float64())
}

func (e *encoder) text(s string, i int) int {
	if uint64(len(s)) > math.MaxUint32 {
		return e.fail("a string of %d bytes is longer than MessagePack allows", len(s))
	}
	b := e.room(i, pack.MaxHead+len(s))
	i = pack.TextHead(b, i, len(s))
	return i + copy(b[i:], s)
}

func (e *encoder) bytes(s []byte, i int) int {
	if uint64(len(s)) > math.MaxUint32 {
		return e.fail("a byte string of %d bytes is longer than MessagePack allows", len(s))
	}
	b := e.room(i, pack.MaxHead+len(s))
	i = pack.BytesHead(b, i, len(s))
	return i + copy(b[i:], s)
}

func (e *encoder) pointer(n *node, r memory.Ref, i, depth int) int {
	if r.IsNil() {
		return e.null(i)
	}
	switch n.elem.op {
	case opPointer, opAny, opInterface: // no container, and yet a cycle may go through it
		if depth == 0 {
			return e.tooDeep()
		}
		depth--
	}
	return e.value(n.elem, r.Pointee(), i, depth)
}

func (e *encoder) slice(n *node, r memory.Ref, i, depth int) int {
	length := r.Len()
	i = e.listHead(length, i, depth)
	for k := 0; k < length && i >= 0; k++ {
		if i = e.value(n.elem, r.Elem(k, n.elem.size), i, depth-1); i < 0 {
			return e.in("[%d]", k)
		}
	}
	return i
}

func (e *encoder) array(n *node, r memory.Ref, i, depth int) int {
	if n.elem.typ == reflect.TypeFor[byte]() {
		b := e.room(i, pack.MaxHead+n.length)
		i = pack.BytesHead(b, i, n.length)
		for k := range n.length {
			b[i+k] = r.Index(k, 1).Uint8()
		}
		return i + n.length
	}
	i = e.listHead(n.length, i, depth)
	for k := 0; k < n.length && i >= 0; k++ {
		if i = e.value(n.elem, r.Index(k, n.elem.size), i, depth-1); i < 0 {
			return e.in("[%d]", k)
		}
	}
	return i
}

func (e *encoder) listHead(n, i, depth int) int {
	if depth == 0 {
		return e.tooDeep()
	}
	if uint64(n) > math.MaxUint32 {
		return e.fail("a list of %d elements is longer than MessagePack allows", n)
	}
	return pack.ListHead(e.room(i, pack.MaxHead), i, n)
}
