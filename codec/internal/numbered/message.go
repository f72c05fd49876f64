package numbered

import (
	"reflect"
	"slices"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/weftrpc/weft/codec/internal/self"
)

// Message describes a struct as a message of Protocol Buffers.
type Message struct {
	Type   reflect.Type
	Fields []Field // in the order of their declaration
}

// Field describes a field of a message.
type Field struct {
	Name   string // in Go
	JSON   string // in JSON
	Number uint64
	Form   Form
	Key    Value // of a map
	Value  Value // of the field, an element of the list, or a value of the map
}

// Form says how many values a field has.
type Form uint8

// The forms of fields.
const (
	Single Form = iota
	Optional
	List
	Map
)

// Value describes one value of a field.
type Value struct {
	Kind    protoreflect.Kind
	Message *Message // of a value that is a message; nil if Known
	Known   string   // the name of a message that all implementations have
}

// Describe describes a type for which Takes holds.
func Describe(t reflect.Type) (*Message, error) {
	p := planOf(t)
	if p.err != nil {
		return nil, p.err
	}
	return p.node.message(make(map[*node]*Message)), nil
}

// message describes the message n; known are those that it is within.
func (n *node) message(known map[*node]*Message) *Message {
	if m := known[n]; m != nil {
		return m
	}
	m := &Message{Type: n.typ}
	known[n] = m
	fields := slices.Clone(n.fields)
	slices.SortFunc(fields, func(a, b field) int {
		return slices.Compare(n.declared[a.number].path, n.declared[b.number].path)
	})
	for _, f := range fields {
		d := Field{Name: f.name, JSON: n.declared[f.number].json, Number: f.number}
		value := f.node
		switch value.op {
		case opPointer:
			d.Form, value = Optional, value.elem
		case opList, opArray:
			d.Form, value = List, value.elem
		case opTable:
			d.Form, d.Key, value = Map, value.key.value(known), value.elem
		}
		if value.op == opPointer {
			value = value.elem
		}
		d.Value = value.value(known)
		m.Fields = append(m.Fields, d)
	}
	return m
}

// value describes a value that is no list, no map and no pointer.
func (n *node) value(known map[*node]*Message) Value {
	wide := n.bits == 64
	switch n.typ.Kind() {
	case reflect.Int, reflect.Uint, reflect.Uintptr:
		wide = true // as on machines with 64 bits: the encoding is the same
	}
	pick := func(narrow, other protoreflect.Kind) Value {
		if wide {
			return Value{Kind: other}
		}
		return Value{Kind: narrow}
	}
	switch n.op {
	case opBool:
		return Value{Kind: protoreflect.BoolKind}
	case opInt:
		return pick(protoreflect.Int32Kind, protoreflect.Int64Kind)
	case opZigzag:
		return pick(protoreflect.Sint32Kind, protoreflect.Sint64Kind)
	case opUint:
		return pick(protoreflect.Uint32Kind, protoreflect.Uint64Kind)
	case opFixed:
		if n.unsigned {
			return pick(protoreflect.Fixed32Kind, protoreflect.Fixed64Kind)
		}
		return pick(protoreflect.Sfixed32Kind, protoreflect.Sfixed64Kind)
	case opFloat:
		return pick(protoreflect.FloatKind, protoreflect.DoubleKind)
	case opText:
		return Value{Kind: protoreflect.StringKind}
	case opBytes, opOctets:
		return Value{Kind: protoreflect.BytesKind}
	case opOwn:
		if n.own == self.Text {
			return Value{Kind: protoreflect.StringKind}
		}
		return Value{Kind: protoreflect.BytesKind}
	case opAny:
		return Value{Kind: protoreflect.MessageKind, Known: "google.protobuf.Value"}
	case opTime:
		return Value{Kind: protoreflect.MessageKind, Known: "google.protobuf.Timestamp"}
	case opDuration:
		return Value{Kind: protoreflect.MessageKind, Known: "google.protobuf.Duration"}
	}
	return Value{Kind: protoreflect.MessageKind, Message: n.message(known)}
}
