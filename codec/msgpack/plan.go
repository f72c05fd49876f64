package msgpack

import (
	"encoding/binary"
	"math"
	"reflect"

	"github.com/weftrpc/weft/codec/internal/bytype"
	"github.com/weftrpc/weft/codec/internal/memory"
	"github.com/weftrpc/weft/codec/internal/pack"
	"github.com/weftrpc/weft/codec/internal/self"
	"github.com/weftrpc/weft/codec/internal/tags"
)

// op says how a value of a type is encoded and decoded.
type op uint8

const (
	opBool op = iota
	opInt8
	opInt16
	opInt32
	opInt64
	opUint8
	opUint16
	opUint32
	opUint64
	opFloat32
	opFloat64
	opComplex64
	opComplex128
	opString
	opBytes
	opTime
	opSlice
	opArray
	opMap
	opStruct
	opUnion // a struct of which one field is set
	opPointer
	opAny       // an interface without methods
	opInterface // one with methods
	opGenerated // MarshalMsg and UnmarshalMsg
	opOwn       // bytes or a string, by methods of the type
)

// node is the plan of a type: all that encoding and decoding need to know of it.
type node struct {
	op     op
	typ    reflect.Type
	max    uint64 // of an integer: the largest value
	min    int64  // and the smallest
	elem   *node  // of a slice, an array, a map, a pointer
	key    *node  // of a map
	size   uintptr
	length int // of an array
	own    self.Form

	// Of a slice.
	empty reflect.Value // not nil and of length 0

	// Of a map.
	common common

	// Of a struct.
	fields []field
	index  map[string]int // by name
	need   int            // at most so many bytes for names and numbers
	frame  int            // at least so many bytes that are not of texts
	sparse bool           // fields may be left out
	simple bool           // also of other types: there is no memory to be used again
	others bool           // there are fields that do not travel
}

// field is one field of a struct, or of a struct embedded there.
type field struct {
	head, tail, mask uint64 // the first and the last eight bytes of key, or fewer
	at               memory.Offset
	node             *node
	key              string // the name, encoded
	after            uint32 // what the fields behind this one need of node.need
	op               op
	omit             bool // when zero
	rare             *rare
}

// rare is what few fields have.
type rare struct {
	via     []hop    // the embedded pointers on the way to the field
	parents []parent // embedded structs that are left out when zero
}

// hop is one embedded pointer to a struct, and the type of that.
type hop struct {
	at  memory.Offset
	typ reflect.Type
}

type parent struct {
	via []hop
	at  memory.Offset
	typ reflect.Type
}

// name returns the name of the field.
func (f *field) name() string {
	_, n, from := head([]byte(f.key), 0)
	return f.key[from : from+int(n)]
}

// plan is the plan of a type that was seen in Append or Decode.
type plan struct {
	node *node
	err  error // why there is none
}

// planOf returns the plan of the type of v, which is not nil.
func planOf(v any) *plan {
	if known, ok := plans.Load(v).(*plan); ok {
		return known
	}
	return planFor(reflect.TypeOf(v))
}

// planFor returns the plan of the type t, which is not nil.
func planFor(t reflect.Type) *plan {
	if known, ok := plans.LoadType(t).(*plan); ok {
		return known
	}
	p := &plan{err: check(t)}
	if p.err == nil {
		p.node = compile(t, make(map[reflect.Type]*node))
	}
	return plans.Store(t, p).(*plan)
}

// plans holds the plans by type, *plan. There are no more of them than types in the program.
var plans bytype.Table

// compile makes the node of t, which check has passed. pending has those that
// are being made, since types may contain themselves.
func compile(t reflect.Type, pending map[reflect.Type]*node) *node {
	if n := pending[t]; n != nil {
		return n
	}
	n := &node{op: opOf(t), typ: t, size: t.Size(), own: self.Of(t)}
	pending[t] = n
	switch n.op {
	case opInt8, opInt16, opInt32, opInt64:
		n.max, n.min = 1<<(t.Bits()-1)-1, -1<<(t.Bits()-1)
	case opUint8, opUint16, opUint32, opUint64:
		n.max = math.MaxUint64 >> (64 - t.Bits())
	case opPointer:
		n.elem = compile(t.Elem(), pending)
	case opSlice, opBytes:
		n.elem = compile(t.Elem(), pending)
		n.empty = reflect.MakeSlice(t, 0, 0)
	case opArray:
		n.elem, n.length = compile(t.Elem(), pending), t.Len()
	case opMap:
		n.key, n.elem = compile(t.Key(), pending), compile(t.Elem(), pending)
		n.common = commonOf(t)
	case opStruct, opUnion:
		n.compileStruct(pending)
	}
	n.markSimple()
	return n
}

func opOf(t reflect.Type) op {
	if own, ok := selfCoding(t); ok {
		return own
	}
	switch t.Kind() {
	case reflect.Bool:
		return opBool
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return [...]op{1: opInt8, 2: opInt16, 4: opInt32, 8: opInt64}[t.Size()]
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return [...]op{1: opUint8, 2: opUint16, 4: opUint32, 8: opUint64}[t.Size()]
	case reflect.Float32:
		return opFloat32
	case reflect.Float64:
		return opFloat64
	case reflect.Complex64:
		return opComplex64
	case reflect.Complex128:
		return opComplex128
	case reflect.String:
		return opString
	case reflect.Slice:
		if t.Elem() == reflect.TypeFor[byte]() {
			return opBytes
		}
		return opSlice
	case reflect.Array:
		return opArray
	case reflect.Map:
		return opMap
	case reflect.Struct:
		if tags.IsUnion(t) {
			return opUnion
		}
		return opStruct
	case reflect.Pointer:
		return opPointer
	}
	if t.NumMethod() > 0 {
		return opInterface
	}
	return opAny
}

// slack is how far a write of eight bytes may reach beyond what it is for.
const slack = 8

func (n *node) compileStruct(pending map[reflect.Type]*node) {
	members, _ := collect(n.typ)
	n.index = make(map[string]int, len(members))
	n.others = hasOthers(n.typ)
	n.fields = make([]field, len(members))
	n.need = pack.MaxHead
	for i, m := range members {
		f := &n.fields[i]
		*f = field{at: m.at, omit: m.omit, key: string(pack.AppendText(nil, m.name))}
		f.node = compile(m.typ, pending)
		f.op = f.node.op
		if m.via != nil || m.parents != nil {
			f.rare = &rare{m.via, m.parents}
		}
		f.setKey()
		n.sparse = n.sparse || m.omit || f.rare != nil
		n.index[m.name] = i
		n.frame += len(f.key) + 1
	}
	after := slack
	for i := len(n.fields) - 1; i >= 0; i-- {
		f := &n.fields[i]
		f.after = uint32(after)
		after += max(8, len(f.key)) + f.op.most()
	}
	n.need += after
}

// setKey prepares the key for being compared and copied eight bytes at a time.
func (f *field) setKey() {
	var word [8]byte
	n := copy(word[:], f.key)
	f.head = binary.LittleEndian.Uint64(word[:])
	f.mask = math.MaxUint64 >> (64 - 8*n)
	if len(f.key) > 8 {
		f.tail = binary.LittleEndian.Uint64([]byte(f.key[len(f.key)-8:]))
	}
}

// most returns how many bytes a value takes at most, without those of a text,
// and without any for what makes room for itself.
func (o op) most() int {
	switch o {
	case opBool:
		return 1
	case opInt8, opUint8:
		return 2
	case opInt16, opUint16:
		return 3
	case opInt32, opUint32, opFloat32, opString, opBytes:
		return 5
	case opInt64, opUint64, opFloat64:
		return 9
	}
	return 0
}
