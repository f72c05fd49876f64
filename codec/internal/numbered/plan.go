package numbered

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/weftrpc/weft/codec/internal/memory"
	"github.com/weftrpc/weft/codec/internal/self"
	"github.com/weftrpc/weft/codec/internal/tags"
)

// op says how a value of a type is encoded and decoded.
type op uint8

const (
	opBool     op = iota
	opInt         // a varint, two's complement
	opZigzag      // a varint, small for small negative numbers
	opUint        // a varint
	opFixed       // four or eight bytes
	opFloat       // four or eight bytes
	opText        // a string
	opBytes       // a []byte
	opOctets      // an array of bytes
	opOwn         // bytes or a string, by methods of the type
	opAny         // an interface without methods, as google.protobuf.Value
	opMessage     // a struct
	opTime        // a time.Time, as google.protobuf.Timestamp
	opDuration    // a time.Duration, as google.protobuf.Duration
	opPointer     // to one of the above
	opList        // of the above, or of pointers to messages
	opArray       // the same
	opTable       // a map
)

// node is the plan of a type.
type node struct {
	op       op
	typ      reflect.Type
	bits     int // of a number; a fixed int has 64 on each machine, whatever its size
	unsigned bool
	size     uintptr
	elem     *node
	key      *node
	own      self.Form
	strict   bool    // a text must be UTF-8
	wraps    bool    // a number that does not fit loses its upper bits, as in generated code
	explicit bool    // bytes that are empty are not absent
	unpacked bool    // of a list of numbers: each has a tag
	steps    []step  // of a message: one for each field
	fields   []field // of a message, by number
	index    index
	need     int     // how much room the fields take at most, beside what makes room for itself
	frame    int     // at least so many bytes that are not of texts
	others   []other // fields that do not travel
	declared map[uint64]declared
	stock    *stock // of a message that protoc-gen-go has generated
}

// index finds fields.
type index struct {
	all   map[uint64]int // by number
	dense []uint16       // the same for small numbers, one more than the index; 0: none
}

// field is one field of a message.
type field struct {
	at     memory.Offset
	first  uint64 // the number that tag is
	op     op     // of node
	node   *node
	tag    string // as it is encoded
	name   string
	number uint64
}

// declared is how the program declares a field of a message.
type declared struct {
	json string // its name in JSON
	path []int  // of reflect.Type.FieldByIndex
}

// declare notes how the program declares the field with a number.
func (n *node) declare(number uint64, json string, path []int) {
	if n.declared == nil {
		n.declared = make(map[uint64]declared)
	}
	n.declared[number] = declared{json, path}
}

// other is a field of a struct that does not travel.
type other struct {
	at   memory.Offset
	typ  reflect.Type
	name string
}

// set completes the field, which has a number, a place and a node.
func (f *field) set() {
	wire := f.node.wire()
	f.tag = string(protowire.AppendTag(nil, protowire.Number(f.number), wire))
	f.first = protowire.EncodeTag(protowire.Number(f.number), wire)
	f.op = f.node.op
}

// wire returns how a value is put on the wire; not that of a list of numbers, which is packed.
func (n *node) wire() protowire.Type {
	switch n.op {
	case opBool, opInt, opZigzag, opUint:
		return protowire.VarintType
	case opFixed, opFloat:
		if n.bits == 32 {
			return protowire.Fixed32Type
		}
		return protowire.Fixed64Type
	case opPointer:
		return n.elem.wire()
	case opList:
		if n.unpacked {
			return n.elem.wire()
		}
	}
	return protowire.BytesType
}

// packs reports whether a list of such values is one field.
func (n *node) packs() bool { return n.op <= opFloat }

// compiler makes the node of a type, and has those of the structs within.
type compiler struct {
	structs map[reflect.Type]*node
	hashes  bool // structs without numbers have those of their fields' names
}

// message makes the node of the struct t.
func (c *compiler) message(t reflect.Type) (*node, error) {
	if n := c.structs[t]; n != nil {
		return n, nil
	}
	n := &node{op: opMessage, typ: t, size: t.Size(), index: index{all: make(map[uint64]int)}}
	c.structs[t] = n
	if c.hashes && !tags.IsNumbered(t) {
		if !tags.IsPlain(t) {
			return nil, fmt.Errorf("a %s is a message with code of its own, which a struct without that cannot hold", t)
		}
		return n, c.plain(n)
	}
	left := t.NumField() == 0
	for f := range t.Fields() {
		tag := f.Tag.Get("weft")
		switch {
		case tag != "-" && tags.Hides(f):
			return nil, fmt.Errorf("what is in %s.%s would be lost, since its type is not exported", t, f.Name)
		case tag == "-", !f.IsExported():
			left = left || tag == "-"
			n.others = append(n.others, other{memory.Join(*new(memory.Offset), f), f.Type, f.Name})
			continue
		}
		number, options, _ := strings.Cut(tag, ",")
		num, err := strconv.ParseUint(number, 10, 32)
		if err != nil || num < 1 || num > uint64(protowire.MaxValidNumber) || num >= 19000 && num < 20000 {
			return nil, fmt.Errorf("%s.%s has no field number: give it a tag such as `weft:\"1\"`, up to 536870911 and not from 19000 to 19999, or `weft:\"-\"`", t, f.Name)
		}
		value, err := c.field(f.Type, options)
		if err != nil {
			return nil, fmt.Errorf("%s.%s: %w", t, f.Name, err)
		}
		n.declare(num, cmp.Or(tags.JSONName(f), f.Name), f.Index)
		n.fields = append(n.fields, field{number: num, at: memory.Join(*new(memory.Offset), f), node: value, name: f.Name})
	}
	if len(n.fields) == 0 && !left {
		return nil, fmt.Errorf("a %s would be lost, since it has no exported field", t)
	}
	return n, n.order(false)
}

// order completes a message whose fields have a number, which may be a hash of their name, a place and a node.
func (n *node) order(hashed bool) error {
	slices.SortFunc(n.fields, func(a, b field) int { return cmp.Compare(a.number, b.number) })
	for i := range n.fields {
		f := &n.fields[i]
		if i > 0 && n.fields[i-1].number == f.number {
			if hashed {
				return fmt.Errorf("%w: the hash of the names of %s.%s and of %s is %d; rename one of them, or give all fields of the struct numbers with tags such as `weft:\"1\"`",
					ErrCollision, n.typ, n.fields[i-1].name, f.name, f.number)
			}
			return fmt.Errorf("%s: the fields %s and %s have one number, %d", n.typ, n.fields[i-1].name, f.name, f.number)
		}
		f.set()
		n.index.all[f.number] = i
		n.frame += len(f.tag) + 1
	}
	n.arrange()
	const most = 512
	for i, f := range n.fields {
		if f.number < most {
			n.index.dense = append(n.index.dense, make([]uint16, int(f.number)+1-len(n.index.dense))...)
			n.index.dense[f.number] = uint16(i + 1)
		}
	}
	return nil
}

// field makes the node of a field of the type t.
func (c *compiler) field(t reflect.Type, options string) (*node, error) {
	switch {
	case t.Kind() == reflect.Pointer:
		elem, err := c.single(t.Elem(), options)
		if err == nil && elem.op == opBytes {
			elem.explicit = true // so that MessagePack and JSON, for which a pointer to nil is nil, can tell them from none
		}
		return &node{op: opPointer, typ: t, size: t.Size(), elem: elem}, err
	case self.Of(t) != self.None:
	case (t.Kind() == reflect.Slice || t.Kind() == reflect.Array) && t.Elem() != reflect.TypeFor[byte]():
		elem, err := c.element(t.Elem(), options)
		if t.Kind() == reflect.Array {
			return &node{op: opArray, typ: t, size: t.Size(), elem: elem}, err
		}
		return &node{op: opList, typ: t, size: t.Size(), elem: elem}, err
	case t.Kind() == reflect.Map:
		key, err := c.single(t.Key(), "")
		if err != nil {
			return nil, err
		}
		if key.op == opFloat || key.op > opText {
			return nil, fmt.Errorf("a %s cannot be the key of a map in Protocol Buffers", t.Key())
		}
		elem, err := c.element(t.Elem(), options)
		return &node{op: opTable, typ: t, size: t.Size(), key: key, elem: elem}, err
	}
	return c.single(t, options)
}

// element makes the node of an element of a list, an array or a map.
func (c *compiler) element(t reflect.Type, options string) (*node, error) {
	if t.Kind() == reflect.Pointer && t.Elem().Kind() == reflect.Struct {
		return c.field(t, options)
	}
	return c.single(t, options)
}

// single makes the node of a value that is no list, no map and no pointer.
func (c *compiler) single(t reflect.Type, options string) (*node, error) {
	n := &node{typ: t, size: t.Size(), own: self.Of(t)}
	known := options == ""
	if err := self.Check(t); err != nil {
		return nil, err
	}
	switch kind := t.Kind(); {
	case n.own == self.Weft, n.own != self.None && !tags.IsNumbered(t):
		n.op = opOwn
	case t == reflect.TypeFor[time.Time]():
		n.op = opTime
	case t == reflect.TypeFor[time.Duration]() && options == "":
		n.op = opDuration
	case kind == reflect.Bool:
		n.op = opBool
	case kind >= reflect.Int && kind <= reflect.Int64:
		n.op, n.bits = opInt, t.Bits()
		switch {
		case options == "zigzag":
			n.op, known = opZigzag, true
		case options == "fixed" && n.bits >= 32:
			n.op, n.bits, known = opFixed, n.declaredBits(), true
		}
	case kind >= reflect.Uint && kind <= reflect.Uint64:
		n.op, n.bits, n.unsigned = opUint, t.Bits(), true
		if options == "fixed" && n.bits >= 32 {
			n.op, n.bits, known = opFixed, n.declaredBits(), true
		}
	case kind == reflect.Float32, kind == reflect.Float64:
		n.op, n.bits = opFloat, t.Bits()
	case kind == reflect.String:
		n.op = opText
	case kind == reflect.Slice && t.Elem() == reflect.TypeFor[byte]():
		n.op = opBytes
	case kind == reflect.Array && t.Elem() == reflect.TypeFor[byte]():
		n.op = opOctets
	case kind == reflect.Interface && t.NumMethod() == 0:
		n.op = opAny
	case kind == reflect.Struct:
		message, err := c.message(t)
		if err != nil {
			return nil, err
		}
		n = message
	default:
		return nil, fmt.Errorf("a %s has no form in Protocol Buffers%s", t, hint(kind))
	}
	if !known {
		return nil, fmt.Errorf("the option %q of the tag does not fit a %s", options, t)
	}
	return n, nil
}

// hint says what to do about a type that has no form.
func hint(kind reflect.Kind) string {
	switch kind {
	case reflect.Slice, reflect.Array, reflect.Map:
		return " within a list or a map: put it in a struct"
	case reflect.Pointer:
		return " there: only a field may be one, or an element that is a struct"
	case reflect.Interface:
		return ": an any has one"
	}
	return ""
}
