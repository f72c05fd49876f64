package schema

import (
	"maps"
	"reflect"
)

// A Set collects the schemas of named types, which other schemas refer to. It is for one
// goroutine at a time.
type Set struct {
	forms  jsonForms
	reader *reader
}

// NewSet returns an empty set. prefix is what the references to its definitions begin with, for
// example "#/$defs/".
func NewSet(prefix string) *Set {
	r := newReader()
	return &Set{reader: r, forms: jsonForms{prefix: prefix, named: make(map[string]*Schema), message: func(name string) *Message {
		for i := len(r.messages) - 1; i >= 0; i-- {
			if r.messages[i].Name == name {
				return r.messages[i]
			}
		}
		return nil
	}, enum: func(name string) *Enum {
		for _, e := range r.enums {
			if e.Name == name {
				return e
			}
		}
		return nil
	}}}
}

// Schemas returns an empty set for types of the model; see Set.Type.
func (m *Model) Schemas(prefix string) *Set {
	return &Set{forms: jsonForms{prefix: prefix, named: make(map[string]*Schema), message: m.Message, enum: m.Enum}, reader: newReader()}
}

// Type returns the schema of a type of the model whose set this is.
func (s *Set) Type(t *Type) *Schema { return s.forms.of(t, false) }

// For returns the schema of T; see Set.Of.
func For[T any](s *Set) *Schema { return s.Of(reflect.TypeFor[T]()) }

// Of returns the schema of a type; a type with a name is added to the set, and the schema refers
// to it.
func (s *Set) Of(t reflect.Type) *Schema {
	if t == nil {
		return &Schema{}
	}
	return s.forms.of(s.reader.goType(reflected{t}, place{}), false)
}

// Definitions are the schemas of the named types so far, by name.
func (s *Set) Definitions() map[string]*Schema { return maps.Clone(s.forms.named) }

// Resolve returns the schema that sc refers to, or sc itself; of one that may be null that of
// the value.
func (s *Set) Resolve(sc *Schema) *Schema {
	if len(sc.AnyOf) == 2 && sc.AnyOf[1].Type == "null" {
		sc = sc.AnyOf[0]
	}
	if len(sc.Ref) > len(s.forms.prefix) {
		if named := s.forms.named[sc.Ref[len(s.forms.prefix):]]; named != nil {
			return named
		}
	}
	return sc
}

// TypeOf is the type of a message that v points to.
func TypeOf(v any) reflect.Type {
	t := reflect.TypeOf(v)
	if t != nil && t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}
