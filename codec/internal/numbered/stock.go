package numbered

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/weftrpc/weft/codec/internal/memory"
	"github.com/weftrpc/weft/internal/trail"
)

// stock is what is known of a message that protoc-gen-go has generated, beside its fields.
type stock struct {
	unknown  memory.Offset // of the bytes of unknown fields
	required []int         // fields that must be there
	parts    []int         // fields with messages in which something is required
}

// stockPlans holds the plans of generated messages, reflect.Type to *Plan.
var stockPlans sync.Map

// OfStock returns the plan of the generated message m, which is not nil; nil unless this package encodes and decodes such messages.
func OfStock(m proto.Message) *Plan {
	t := reflect.TypeOf(m)
	known, ok := stockPlans.Load(t)
	if !ok {
		p := &Plan{pointer: true, stock: true}
		p.node, p.err = stockNode(m)
		known, _ = stockPlans.LoadOrStore(t, p)
	}
	if p := known.(*Plan); p.err == nil {
		return p
	}
	return nil
}

// stockNode makes the node of the messages that have the type of m.
func stockNode(m proto.Message) (n *node, err error) {
	defer func() {
		if recover() != nil { // ProtoReflect of a nil pointer, which generated code does not do, but a struct with an embedded message
			n, err = nil, errForeign
		}
	}()
	t := reflect.TypeOf(m)
	if !memory.Unexported || t.Kind() != reflect.Pointer {
		return nil, errForeign
	}
	c := stockCompiler{structs: make(map[reflect.Type]*node)}
	if n, err = c.message(t, m.ProtoReflect().Descriptor()); err == nil {
		c.markRequired()
	}
	return n, err
}

// errForeign is why a message is left to the code of google.golang.org/protobuf.
var errForeign = errors.New("it is no message that the compiled codec takes")

// stockCompiler makes the nodes of generated messages.
type stockCompiler struct{ structs map[reflect.Type]*node }

// message makes the node of the type pointer, which points to a message with descriptor d.
func (c *stockCompiler) message(pointer reflect.Type, d protoreflect.MessageDescriptor) (*node, error) {
	t := pointer.Elem()
	if n := c.structs[t]; n != nil {
		return n, nil
	}
	m, ok := reflect.Zero(pointer).Interface().(proto.Message)
	if !ok || t.Kind() != reflect.Struct || d.ExtensionRanges().Len() > 0 || m.ProtoReflect().Descriptor() != d {
		return nil, errForeign
	}
	state, ok := t.FieldByName("state")
	if api := state.Tag.Get("protogen"); !ok || api != "" && api != "open.v1" {
		return nil, errForeign
	}
	unknown, ok := t.FieldByName("unknownFields")
	if !ok || unknown.Type != reflect.TypeFor[[]byte]() {
		return nil, errForeign
	}
	n := &node{op: opMessage, typ: t, size: t.Size(), index: index{all: make(map[uint64]int)},
		stock: &stock{unknown: memory.Join(*new(memory.Offset), unknown)}}
	c.structs[t] = n
	for f := range t.Fields() {
		_, number, ok := strings.Cut(f.Tag.Get("protobuf"), ",")
		if !ok {
			if f.IsExported() {
				return nil, errForeign // a oneof, or what older generators wrote
			}
			continue
		}
		number, _, _ = strings.Cut(number, ",")
		num, err := strconv.ParseUint(number, 10, 32)
		fd := d.Fields().ByNumber(protoreflect.FieldNumber(num))
		if err != nil || fd == nil {
			return nil, errForeign
		}
		value, err := c.field(f.Type, fd)
		if err != nil {
			return nil, err
		}
		n.fields = append(n.fields, field{number: num, at: memory.Join(*new(memory.Offset), f), node: value, name: string(fd.Name())})
	}
	if len(n.fields) != d.Fields().Len() {
		return nil, errForeign
	}
	if err := n.order(false); err != nil {
		return nil, err
	}
	for k := range n.fields {
		if fd := d.Fields().ByNumber(protoreflect.FieldNumber(n.fields[k].number)); fd.Cardinality() == protoreflect.Required {
			n.stock.required = append(n.stock.required, k)
		}
	}
	return n, nil
}

// field makes the node of a field of the type t.
func (c *stockCompiler) field(t reflect.Type, fd protoreflect.FieldDescriptor) (*node, error) {
	n := &node{typ: t, size: t.Size()}
	var err error
	switch {
	case fd.IsMap():
		n.op, n.wraps = opTable, true
		if t.Kind() != reflect.Map {
			return nil, errForeign
		}
		if n.key, err = c.single(t.Key(), fd.MapKey()); err == nil {
			n.elem, err = c.element(t.Elem(), fd.MapValue())
		}
		return n, err
	case fd.IsList():
		n.op, n.unpacked = opList, !fd.IsPacked()
		if t.Kind() != reflect.Slice {
			return nil, errForeign
		}
		n.elem, err = c.element(t.Elem(), fd)
		return n, err
	case t.Kind() == reflect.Pointer:
		n.op = opPointer
		if fd.Message() != nil {
			n.elem, err = c.single(t, fd)
		} else {
			n.elem, err = c.single(t.Elem(), fd)
		}
		return n, err
	}
	if n, err = c.single(t, fd); err == nil && (n.op == opMessage || n.op != opBytes && fd.HasPresence()) {
		return nil, errForeign
	}
	if n != nil && n.op == opBytes {
		n.explicit = fd.HasPresence()
	}
	return n, err
}

// element makes the node of an element of a list or of a value in a map.
func (c *stockCompiler) element(t reflect.Type, fd protoreflect.FieldDescriptor) (*node, error) {
	n, err := c.single(t, fd)
	if err == nil && n.op == opMessage {
		n = &node{op: opPointer, typ: t, size: t.Size(), elem: n}
	}
	return n, err
}

// single makes the node of one value; for a message t is a pointer to it.
func (c *stockCompiler) single(t reflect.Type, fd protoreflect.FieldDescriptor) (*node, error) {
	n := &node{typ: t, size: t.Size(), wraps: true}
	want := reflect.Invalid
	switch fd.Kind() {
	case protoreflect.BoolKind:
		n.op, want = opBool, reflect.Bool
	case protoreflect.EnumKind, protoreflect.Int32Kind:
		n.op, want = opInt, reflect.Int32
	case protoreflect.Int64Kind:
		n.op, want = opInt, reflect.Int64
	case protoreflect.Sint32Kind:
		n.op, want = opZigzag, reflect.Int32
	case protoreflect.Sint64Kind:
		n.op, want = opZigzag, reflect.Int64
	case protoreflect.Uint32Kind:
		n.op, want = opUint, reflect.Uint32
	case protoreflect.Uint64Kind:
		n.op, want = opUint, reflect.Uint64
	case protoreflect.Fixed32Kind:
		n.op, want = opFixed, reflect.Uint32
	case protoreflect.Sfixed32Kind:
		n.op, want = opFixed, reflect.Int32
	case protoreflect.Fixed64Kind:
		n.op, want = opFixed, reflect.Uint64
	case protoreflect.Sfixed64Kind:
		n.op, want = opFixed, reflect.Int64
	case protoreflect.FloatKind:
		n.op, want = opFloat, reflect.Float32
	case protoreflect.DoubleKind:
		n.op, want = opFloat, reflect.Float64
	case protoreflect.StringKind:
		n.op, want, n.strict = opText, reflect.String, strict(fd)
	case protoreflect.BytesKind:
		n.op, want, n.explicit = opBytes, reflect.Slice, true
		if t != reflect.TypeFor[[]byte]() {
			return nil, errForeign
		}
	case protoreflect.MessageKind:
		if t.Kind() != reflect.Pointer {
			return nil, errForeign
		}
		return c.message(t, fd.Message())
	}
	if t.Kind() != want {
		return nil, errForeign
	}
	if want >= reflect.Int && want <= reflect.Float64 {
		n.bits = t.Bits()
	}
	n.unsigned = want == reflect.Uint32 || want == reflect.Uint64
	return n, nil
}

// strict reports whether a string must be UTF-8, which proto3 and editions say.
func strict(fd protoreflect.FieldDescriptor) bool {
	if known, ok := fd.(interface{ EnforceUTF8() bool }); ok {
		return known.EnforceUTF8()
	}
	return fd.Syntax() == protoreflect.Proto3
}

// takes reports whether values of a wire type are values of the field of a generated message.
func (f *field) takes(wire protowire.Type) bool {
	n := f.node
	if n.op == opList {
		return wire == n.elem.wire() || wire == protowire.BytesType && n.elem.packs()
	}
	return wire == n.wire()
}

// markRequired finds the fields in whose messages something is required.
func (c *stockCompiler) markRequired() {
	needs := make(map[*node]bool)
	for again := true; again; {
		again = false
		for _, n := range c.structs {
			if needs[n] {
				continue
			}
			needs[n] = len(n.stock.required) > 0
			for k := range n.fields {
				if part := n.fields[k].node.part(); part != nil && needs[part] {
					needs[n] = true
				}
			}
			again = again || needs[n]
		}
	}
	for _, n := range c.structs {
		for k := range n.fields {
			if part := n.fields[k].node.part(); part != nil && needs[part] {
				n.stock.parts = append(n.stock.parts, k)
			}
		}
	}
}

// part returns the node of the messages that a field holds, or nil.
func (n *node) part() *node {
	for n.op >= opPointer {
		n = n.elem
	}
	if n.op == opMessage {
		return n
	}
	return nil
}

// initialized returns an error for a message in which a required field is missing.
func (n *node) initialized(r memory.Ref) error {
	for _, k := range n.stock.required {
		if f := &n.fields[k]; r.Field(f.at).IsNil() {
			return fmt.Errorf("%s: the required field is missing", f.name)
		}
	}
	for _, k := range n.stock.parts {
		f := &n.fields[k]
		if err := f.node.partsInitialized(r.Field(f.at)); err != nil {
			return trail.In(f.name, err)
		}
	}
	return nil
}

func (n *node) partsInitialized(r memory.Ref) error {
	if r.IsNil() {
		return nil
	}
	switch n.op {
	case opPointer:
		return n.elem.initialized(r.Pointee())
	case opList:
		for k := range r.Len() {
			if err := n.elem.partsInitialized(r.Elem(k, n.elem.size)); err != nil {
				return err
			}
		}
	case opTable:
		for entries := r.Value(n.typ).MapRange(); entries.Next(); {
			if p := entries.Value(); !p.IsNil() {
				if err := n.elem.elem.initialized(memory.Of(p)); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
