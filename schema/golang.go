package schema

import (
	"encoding"
	"encoding/json"
	"math/big"
	"path"
	"reflect"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
)

// For returns the schema of T; see Set.Of.
func For[T any](s *Set) *Schema { return s.Of(reflect.TypeFor[T]()) }

// Of returns the schema of a type; a type with a name is added to the set, and the schema refers
// to it.
func (s *Set) Of(t reflect.Type) *Schema {
	if t == nil {
		return &Schema{}
	}
	if m, ok := message(t); ok {
		return s.ofMessage(m.ProtoReflect().Descriptor())
	}
	if known := special(t); known != nil {
		return known
	}
	switch t.Kind() {
	case reflect.Pointer:
		return nullable(s.Of(t.Elem()))
	case reflect.Bool:
		return &Schema{Type: "boolean"}
	case reflect.Int, reflect.Int64:
		return &Schema{Type: "integer", Format: "int64"}
	case reflect.Int8, reflect.Int16, reflect.Int32:
		return &Schema{Type: "integer", Format: "int32"}
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return &Schema{Type: "integer", Minimum: new(float64)}
	case reflect.Float32:
		return &Schema{Type: "number", Format: "float"}
	case reflect.Float64:
		return &Schema{Type: "number", Format: "double"}
	case reflect.String:
		return &Schema{Type: "string"}
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 && !encodesItself(t.Elem()) {
			return &Schema{Type: "string", ContentEncoding: "base64", Nullable: true}
		}
		return &Schema{Type: "array", Items: s.Of(t.Elem()), Nullable: true}
	case reflect.Array:
		return &Schema{Type: "array", Items: s.Of(t.Elem()), MinItems: t.Len(), MaxItems: t.Len()}
	case reflect.Map:
		return &Schema{Type: "object", AdditionalProperties: s.Of(t.Elem()), Nullable: true}
	case reflect.Struct:
		if t.Name() == "" {
			d := &Schema{}
			s.fillStruct(d, t)
			return d
		}
		return s.define(t, path.Base(t.PkgPath())+"."+t.Name(), func(d *Schema) { s.fillStruct(d, t) })
	}
	return &Schema{} // an interface
}

// message returns a message of the type, if it is a generated one.
func message(t reflect.Type) (proto.Message, bool) {
	if t.Kind() == reflect.Struct {
		t = reflect.PointerTo(t)
	}
	if t.Kind() != reflect.Pointer || t.Elem().Kind() != reflect.Struct || !t.Implements(reflect.TypeFor[proto.Message]()) {
		return nil, false
	}
	m, ok := reflect.New(t.Elem()).Interface().(proto.Message)
	return m, ok
}

// special is the schema of a type that is not encoded by its kind; nil for all others.
func special(t reflect.Type) *Schema {
	switch t {
	case reflect.TypeFor[time.Time]():
		return &Schema{Type: "string", Format: "date-time"}
	case reflect.TypeFor[time.Duration]():
		return &Schema{Type: "integer", Format: "int64", Description: "a duration in nanoseconds", Duration: true}
	case reflect.TypeFor[json.Number]():
		return &Schema{Type: "number"}
	case reflect.TypeFor[big.Int]():
		return &Schema{Type: "integer"}
	}
	p := t
	if t.Kind() != reflect.Pointer && t.Kind() != reflect.Interface {
		p = reflect.PointerTo(t)
	}
	switch {
	case t.Kind() == reflect.Pointer || t.Kind() == reflect.Interface:
	case p.Implements(reflect.TypeFor[json.Marshaler]()):
		return &Schema{} // it may be anything
	case p.Implements(reflect.TypeFor[encoding.TextMarshaler]()):
		return &Schema{Type: "string"}
	}
	return nil
}

func encodesItself(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return p.Implements(reflect.TypeFor[json.Marshaler]()) || p.Implements(reflect.TypeFor[encoding.TextMarshaler]())
}

// fillStruct adds the fields of a struct.
func (s *Set) fillStruct(d *Schema, t reflect.Type) {
	d.Type = "object"
	depths := make(map[string]int)
	s.addFields(d, t, 0, depths, map[reflect.Type]bool{})
}

// addFields adds the fields of a struct and those of the structs that it embeds: of two with one
// name the one that is embedded less deep counts, as in encoding/json.
func (s *Set) addFields(d *Schema, t reflect.Type, depth int, depths map[string]int, around map[reflect.Type]bool) {
	if around[t] {
		return
	}
	around[t] = true
	defer delete(around, t)
	var embedded []reflect.Type
	for f := range t.Fields() {
		tag := f.Tag.Get("json")
		name, options, _ := strings.Cut(tag, ",")
		if tag == "-" {
			continue
		}
		if f.Anonymous && name == "" {
			inner := f.Type
			if inner.Kind() == reflect.Pointer {
				inner = inner.Elem()
			}
			if inner.Kind() == reflect.Struct && special(inner) == nil {
				embedded = append(embedded, inner)
				continue
			}
		}
		if !f.IsExported() {
			continue
		}
		if name == "" {
			name = f.Name
		}
		if at, known := depths[name]; known && at <= depth {
			continue
		}
		depths[name] = depth
		p := s.Of(f.Type)
		if strings.Contains(","+options+",", ",string,") && (p.Type == "integer" || p.Type == "number" || p.Type == "boolean") {
			p = &Schema{Type: "string", Nullable: p.Nullable}
		}
		d.property(name, described(p, f.Tag.Get("doc")))
	}
	for _, inner := range embedded {
		s.addFields(d, inner, depth+1, depths, around)
	}
}

// TypeOf is the type of a message that v points to.
func TypeOf(v any) reflect.Type {
	t := reflect.TypeOf(v)
	if t != nil && t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}
