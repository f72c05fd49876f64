// Package plan encodes and decodes values of Go types as Thrift. A type is examined once, with
// package reflect, and a plan of it is kept.
package plan

import (
	"cmp"
	"encoding"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/apache/thrift/lib/go/thrift"

	"github.com/weftrpc/weft/door/thrift/internal/protocol"
)

// op says how a value is encoded and decoded.
type op uint8

const (
	opBool op = iota
	opInt
	opUint
	opFloat
	opKey // bytes as a string
	opText
	opBytes
	opOctets  // an array of bytes
	opUUID    // an array of 16 bytes
	opMarshal // a text of its own making
	opStruct
	opForeign // a struct with generated methods
	opPointer
	opList // a slice
	opArray
	opMap
)

// Node is the plan of a type.
type Node struct {
	op     op
	typ    reflect.Type
	wire   protocol.Type
	elem   *Node
	key    *Node
	record *Record // of opStruct, and of opForeign for descriptions
	plain  bool    // a list that scalars says is common
}

// Record is the plan of a struct.
type Record struct {
	Name   string
	typ    reflect.Type
	Fields []Field // by number
	Union  bool    // exactly one field is set
	dense  []uint16
	needed uint64 // the required fields, by the bits of Field.bit
}

// Field is a field of a struct.
type Field struct {
	ID       int16
	Name     string
	Node     *Node
	Required bool
	Optional bool
	index    int
	bit      uint64 // of a required field
}

// Set makes plans and keeps them. The zero value is ready.
type Set struct {
	mu    sync.Mutex
	known sync.Map // reflect.Type to *Node
}

// Of returns the plan of a type.
func (s *Set) Of(t reflect.Type) (*Node, error) {
	if n, ok := s.known.Load(t); ok {
		return n.(*Node), nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c := compiler{structs: make(map[reflect.Type]*Record)}
	n, err := c.node(t, nil)
	if err == nil {
		s.known.Store(t, n)
	}
	return n, err
}

// Check tells by the type of a message alone why it has no form in Thrift; nil if it has one.
func (s *Set) Check(v any) error {
	if v == nil {
		return nil
	}
	t := reflect.TypeOf(v)
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	_, err := s.Of(t)
	return err
}

// compiler makes the plans of a type and of those within.
type compiler struct {
	structs map[reflect.Type]*Record
	around  []reflect.Type // the containers and pointers around a type, up to the next struct
}

// options are what a tag says beside name and number.
type options []string

func (o options) has(name string) bool { return slices.Contains(o, name) }

func (c *compiler) node(t reflect.Type, o options) (*Node, error) {
	n := &Node{typ: t, wire: protocol.String}
	kind := t.Kind()
	pointer := reflect.PointerTo(t)
	var err error
	switch {
	case kind == reflect.Struct && pointer.Implements(reflect.TypeFor[thrift.TStruct]()):
		n.op, n.wire = opForeign, protocol.Struct
		n.record, _ = c.record(t) // for descriptions alone
	case kind == reflect.Bool:
		n.op, n.wire = opBool, protocol.Bool
	case kind >= reflect.Int && kind <= reflect.Int64:
		n.op, n.wire = opInt, signed(t)
	case kind >= reflect.Uint && kind <= reflect.Uint64:
		n.op, n.wire = opUint, unsigned(kind)
	case kind == reflect.Float32 || kind == reflect.Float64:
		n.op, n.wire = opFloat, protocol.Double
	case kind == reflect.String:
		if n.op = opText; t.Implements(reflect.TypeFor[interface{ ThriftBinary() }]()) {
			n.op = opKey
		}
	case kind == reflect.Slice && t.Elem().Kind() == reflect.Uint8:
		n.op = opBytes
	case kind == reflect.Array && t.Elem().Kind() == reflect.Uint8 && t.Len() == 16 && (o.has("uuid") || isUUID(t)):
		n.op, n.wire = opUUID, protocol.UUID
	case pointer.Implements(reflect.TypeFor[encoding.TextMarshaler]()) && pointer.Implements(reflect.TypeFor[encoding.TextUnmarshaler]()):
		n.op = opMarshal
	case kind == reflect.Array && t.Elem().Kind() == reflect.Uint8:
		n.op = opOctets
	case kind == reflect.Struct:
		n.op, n.wire = opStruct, protocol.Struct
		n.record, err = c.record(t)
	case slices.Contains(c.around, t):
		err = fmt.Errorf("a %s contains itself without a struct between, which has no form in Thrift", t)
	case kind == reflect.Pointer:
		n.op = opPointer
		if n.elem, err = c.inner(t, t.Elem(), o); err == nil {
			n.wire = n.elem.wire
			if n.elem.op == opPointer {
				err = fmt.Errorf("a %s, a pointer to a pointer, has no form in Thrift", t)
			}
		}
	case kind == reflect.Slice || kind == reflect.Array:
		n.op, n.wire = opList, protocol.List
		if kind == reflect.Array {
			n.op = opArray
		}
		if o.has("set") || t.Implements(reflect.TypeFor[interface{ ThriftSet() }]()) {
			n.wire = protocol.Set
		}
		n.elem, err = c.inner(t, t.Elem(), within(o))
	case kind == reflect.Map:
		err = c.table(n, o)
	default:
		err = fmt.Errorf("a %s has no form in Thrift", t)
	}
	if err != nil {
		return nil, err
	}
	if err := n.narrow(o); err != nil {
		return nil, err
	}
	n.plain = n.op == opList && scalars(t, n.elem)
	return n, nil
}

// isUUID reports whether the values of a type, an array of bytes, are uuids without an option that says so.
func isUUID(t reflect.Type) bool {
	return t == reflect.TypeFor[thrift.Tuuid]() || t.Implements(reflect.TypeFor[interface{ ThriftUUID() }]())
}

// within are the options that hold for the elements of a container.
func within(o options) options {
	return slices.DeleteFunc(slices.Clone(o), func(s string) bool { return s == "set" })
}

// table completes the plan of a map.
func (c *compiler) table(n *Node, o options) (err error) {
	n.op, n.wire = opMap, protocol.Map
	t := n.typ
	if n.key, err = c.inner(t, t.Key(), nil); err != nil {
		return err
	}
	if n.key.op > opText && n.key.op != opMarshal && n.key.op != opUUID && n.key.op != opOctets {
		return fmt.Errorf("a %s cannot be the key of a map in Thrift", t.Key())
	}
	if empty := t.Elem(); empty.Kind() == reflect.Struct && empty.NumField() == 0 && o.has("set") {
		n.wire = protocol.Set // map[T]struct{}
		return nil
	}
	n.elem, err = c.inner(t, t.Elem(), within(o))
	return err
}

// inner makes the plan of a type within another one, which is a container or a pointer.
func (c *compiler) inner(outer, t reflect.Type, o options) (*Node, error) {
	c.around = append(c.around, outer)
	n, err := c.node(t, o)
	c.around = c.around[:len(c.around)-1]
	return n, err
}

// signed is the type of a signed integer. One whose values have names is an enum.
func signed(t reflect.Type) protocol.Type {
	switch {
	case t != reflect.TypeFor[time.Duration]() && t.Implements(reflect.TypeFor[encoding.TextMarshaler]()):
		return protocol.I32
	case t.Kind() == reflect.Int8:
		return protocol.I8
	case t.Kind() == reflect.Int16:
		return protocol.I16
	case t.Kind() == reflect.Int32:
		return protocol.I32
	}
	return protocol.I64
}

// unsigned is the type that holds the values of an unsigned integer.
func unsigned(kind reflect.Kind) protocol.Type {
	switch kind {
	case reflect.Uint8:
		return protocol.I16
	case reflect.Uint16:
		return protocol.I32
	}
	return protocol.I64
}

// narrow gives an integer the type that its tag names, and refuses options that do not fit.
func (n *Node) narrow(o options) error {
	for _, name := range o {
		switch leaf := n; name {
		case "required", "optional", "set", "uuid", "union":
		case "i8", "i16", "i32", "i64":
			for leaf.elem != nil {
				leaf = leaf.elem
			}
			if leaf.op != opInt && leaf.op != opUint {
				return fmt.Errorf("the option %q of the tag does not fit a %s", name, n.typ)
			}
			leaf.wire = map[string]protocol.Type{"i8": protocol.I8, "i16": protocol.I16, "i32": protocol.I32, "i64": protocol.I64}[name]
			if n.op == opPointer {
				n.wire = leaf.wire
			}
		default:
			return fmt.Errorf("the tag has the option %q; there are required, optional, union, set, uuid, i8, i16, i32 and i64", name)
		}
	}
	return nil
}

// record makes the plan of a struct.
func (c *compiler) record(t reflect.Type) (*Record, error) {
	if r := c.structs[t]; r != nil {
		return r, nil
	}
	r := &Record{Name: t.Name(), typ: t}
	c.structs[t] = r
	around := c.around
	c.around = nil
	defer func() { c.around = around }()
	tagged, numbered := false, false
	for f := range t.Fields() {
		if f.IsExported() {
			_, has := f.Tag.Lookup("thrift")
			tagged = tagged || has && f.Tag.Get("thrift") != "-"
			w := f.Tag.Get("weft")
			numbered = numbered || w != "" && w != "-"
		}
	}
	order := int16(0)
	for f := range t.Fields() {
		if !f.IsExported() || f.Tag.Get("thrift") == "-" || !tagged && f.Tag.Get("weft") == "-" {
			continue
		}
		field := Field{index: f.Index[0], Name: nameOf(f)}
		var o options
		id := ""
		switch {
		case tagged:
			o = strings.Split(f.Tag.Get("thrift"), ",")
			if field.Name = o[0]; len(o) > 1 {
				id = o[1]
			}
			o = o[min(2, len(o)):]
		case numbered:
			id, _, _ = strings.Cut(f.Tag.Get("weft"), ",")
		default:
			order++
			id = strconv.Itoa(int(order))
		}
		n, err := strconv.ParseInt(id, 10, 16)
		if err != nil || n < 0 {
			return nil, fmt.Errorf("%s.%s has no field number from 0 to %d: give it a tag such as `thrift:\"name,1\"`, or `thrift:\"-\"`", t, f.Name, math.MaxInt16)
		}
		field.ID, field.Required, field.Optional = int16(n), o.has("required"), o.has("optional") || o.has("union")
		r.Union = r.Union || o.has("union")
		if field.Node, err = c.node(f.Type, o); err != nil {
			return nil, fmt.Errorf("%s.%s: %w", t, f.Name, err)
		}
		r.Fields = append(r.Fields, field)
	}
	return r, r.order()
}

// nameOf is the name of a field without a tag.
func nameOf(f reflect.StructField) string {
	if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" {
		return name
	}
	name := []rune(f.Name)
	for i := range name {
		if i > 0 && i+1 < len(name) && unicode.IsLower(name[i+1]) {
			break
		}
		name[i] = unicode.ToLower(name[i])
	}
	return string(name)
}

// order sorts the fields, and numbers the required ones.
func (r *Record) order() error {
	slices.SortFunc(r.Fields, func(a, b Field) int { return cmp.Compare(a.ID, b.ID) })
	bits := 0
	for i := range r.Fields {
		f := &r.Fields[i]
		if i > 0 && r.Fields[i-1].ID == f.ID {
			return fmt.Errorf("%s: the fields %s and %s have one number, %d", r.typ, r.Fields[i-1].Name, f.Name, f.ID)
		}
		if f.Required {
			if bits == 64 {
				return fmt.Errorf("%s has more than 64 required fields", r.typ)
			}
			f.bit = 1 << bits
			r.needed |= f.bit
			bits++
		}
		const most = 512
		if f.ID < most {
			r.dense = append(r.dense, make([]uint16, int(f.ID)+1-len(r.dense))...)
			r.dense[f.ID] = uint16(i + 1)
		}
	}
	return nil
}

// find returns the field with a number; nil: there is none.
func (r *Record) find(id int16) *Field {
	if id >= 0 && int(id) < len(r.dense) {
		if i := r.dense[id]; i > 0 {
			return &r.Fields[i-1]
		}
		return nil
	}
	i, ok := slices.BinarySearchFunc(r.Fields, id, func(f Field, id int16) int { return cmp.Compare(f.ID, id) })
	if !ok {
		return nil
	}
	return &r.Fields[i]
}
