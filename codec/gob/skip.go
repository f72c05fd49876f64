package gob

import (
	"bytes"
	"encoding/gob"
	"go/token"
	"reflect"
)

// What the types behind interfaces of one body may cost to look up: how many
// there are, and the bytes of descriptions that encoding/gob reads for it.
const (
	maxConcrete = 32
	maxProbed   = 2 * maxDescriptions
)

// maxPointers is how many pointers in a row encoding/gob follows.
const maxPointers = 100

// skipped reports whether encoding/gob skips this place, because the receiver
// has no field for it or a field around it, or may skip it.
//
// That must be known of every nil interface. One is written as an empty name
// and nothing else, but encoding/gob, when it skips one, looks for a value
// behind the name all the same and goes astray in bytes that were checked as
// something else.
func (s *scanner) skipped() bool {
	if len(s.stack) == 0 || s.receiver == nil {
		return false
	}
	in := s.receiverOf(len(s.stack) - 1)
	return in == nil || s.partOf(in, &s.stack[len(s.stack)-1]) == nil
}

// receiverOf returns the type that the container at s.stack[i] is decoded into,
// or nil.
func (s *scanner) receiverOf(i int) reflect.Type {
	f := &s.stack[i]
	if f.known {
		return f.receiver
	}
	f.known = true
	switch {
	case i == 0:
		f.receiver = base(s.receiver)
	default:
		if around := s.receiverOf(i - 1); around != nil {
			f.receiver = s.partOf(around, &s.stack[i-1])
		}
	}
	return f.receiver
}

// partOf returns the type of that part of t, the receiver of f, which is being
// read, or nil when t has no such part.
func (s *scanner) partOf(t reflect.Type, f *frame) reflect.Type {
	switch {
	case f.typ == nil:
		return s.registered(f.held)
	case f.typ.kind == kindStruct && t.Kind() == reflect.Struct:
		name := f.typ.fields[f.field].name
		if field, ok := t.FieldByName(name); ok && token.IsExported(name) {
			return base(field.Type)
		}
	case f.typ.kind == kindMap && t.Kind() == reflect.Map:
		if f.left%2 == 1 {
			return base(t.Key())
		}
		return base(t.Elem())
	case f.typ.kind == kindSlice && t.Kind() == reflect.Slice, f.typ.kind == kindArray && t.Kind() == reflect.Array:
		return base(t.Elem())
	}
	return nil
}

// registered returns the type that is known to gob.Register by the name and
// that the description fits, or nil. There is no function that tells, so it has
// encoding/gob decode an empty value of it.
func (s *scanner) registered(c concrete) reflect.Type {
	if t, ok := s.concrete[c]; ok || len(s.concrete) >= maxConcrete || s.probed > maxProbed {
		return t
	}
	s.probed += len(s.defs)
	empty := []byte{0} // a struct without its fields
	if d := s.types[c.id]; d == nil || d.kind != kindStruct {
		empty = []byte{0, 0} // a slice or map without elements; an array fails
	}
	probe := appendInt(nil, typeInterface)
	probe = append(probe, 0)
	probe = appendUint(probe, uint64(len(c.name)))
	probe = append(probe, c.name...)
	probe = appendInt(probe, c.id)
	probe = appendUint(probe, uint64(len(empty)))
	probe = append(probe, empty...)
	body := appendMessage(bytes.Clone(s.defs), probe)

	var v any
	var t reflect.Type
	if gob.NewDecoder(bytes.NewReader(body)).Decode(&v) == nil && v != nil {
		t = base(reflect.TypeOf(v))
	}
	if s.concrete == nil {
		s.concrete = make(map[concrete]reflect.Type)
	}
	s.concrete[c] = t
	return t
}

// base returns t, or what t points to. A pointer type that points to itself has
// no such type; encoding/gob refuses it.
func base(t reflect.Type) reflect.Type {
	for range maxPointers {
		if t.Kind() != reflect.Pointer {
			break
		}
		t = t.Elem()
	}
	return t
}
