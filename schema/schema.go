// Package schema describes Go types and Protocol Buffers messages as JSON Schema of the draft
// 2020-12, and methods as an OpenAPI 3.1 document.
//
// A type is described as package encoding/json encodes it: field names are those of the json
// tags, []byte is a string in base64, a time.Time one in RFC 3339. A generated Protocol Buffers
// message is described as protojson encodes it: names in lowerCamelCase, 64-bit integers as
// strings, enums by name. The text of a field's doc tag is its description:
//
//	type Order struct {
//		ID    string `json:"id" doc:"number of the order, as printed on the bill"`
//		Lines []Line `json:"lines"`
//	}
//
// A [Set] collects the schemas of named types, so that a type may contain itself.
package schema

import (
	"encoding/json"
	"maps"
	"strconv"
)

// Schema is a JSON Schema. The empty schema is that of any value.
type Schema struct {
	Ref                  string             `json:"$ref,omitempty"`
	Type                 string             `json:"-"` // "" for any; see Nullable
	Nullable             bool               `json:"-"` // the value may also be null
	Duration             bool               `json:"-"` // the integer is a time.Duration
	Format               string             `json:"format,omitempty"`
	ContentEncoding      string             `json:"contentEncoding,omitempty"`
	Description          string             `json:"description,omitempty"`
	Enum                 []string           `json:"enum,omitempty"`
	Minimum              *float64           `json:"minimum,omitempty"`
	MinItems             int                `json:"minItems,omitempty"`
	MaxItems             int                `json:"maxItems,omitempty"`
	Items                *Schema            `json:"items,omitempty"`
	Properties           map[string]*Schema `json:"properties,omitempty"`
	Order                []string           `json:"-"` // the names of the properties in the order of declaration
	Required             []string           `json:"required,omitempty"`
	AdditionalProperties *Schema            `json:"additionalProperties,omitempty"`
	AnyOf                []*Schema          `json:"anyOf,omitempty"`
}

// MarshalJSON encodes the schema; the members of objects come in alphabetical order, so that two
// documents can be compared line by line.
func (s *Schema) MarshalJSON() ([]byte, error) {
	type plain Schema
	out := struct {
		Type any `json:"type,omitempty"`
		*plain
	}{plain: (*plain)(s)}
	switch {
	case s.Type != "" && s.Nullable:
		out.Type = []string{s.Type, "null"}
	case s.Type != "":
		out.Type = s.Type
	}
	return json.Marshal(out)
}

// nullable is the schema of a value of s or null.
func nullable(s *Schema) *Schema {
	switch {
	case s.Type != "":
		c := *s
		c.Nullable = true
		return &c
	case s.Ref != "":
		return &Schema{AnyOf: []*Schema{s, {Type: "null"}}}
	}
	return s // any value, or nullable already
}

// described is s with a description of its own.
func described(s *Schema, text string) *Schema {
	if text == "" {
		return s
	}
	c := *s
	c.Description = text
	return &c
}

// property adds a property behind the others.
func (s *Schema) property(name string, p *Schema) {
	if s.Properties == nil {
		s.Properties = make(map[string]*Schema)
	}
	if _, known := s.Properties[name]; !known {
		s.Order = append(s.Order, name)
	}
	s.Properties[name] = p
}

// A Set collects the schemas of named types, which other schemas refer to. It is for one
// goroutine at a time.
type Set struct {
	prefix string
	named  map[string]*Schema // by name
	names  map[any]string     // by reflect.Type or full name of a message
}

// NewSet returns an empty set. prefix is what the references to its definitions begin with, for
// example "#/$defs/".
func NewSet(prefix string) *Set {
	return &Set{prefix: prefix, named: make(map[string]*Schema), names: make(map[any]string)}
}

// Definitions are the schemas of the named types so far, by name.
func (s *Set) Definitions() map[string]*Schema { return maps.Clone(s.named) }

// Resolve returns the schema that sc refers to, or sc itself; of one that may be null that of
// the value.
func (s *Set) Resolve(sc *Schema) *Schema {
	if len(sc.AnyOf) == 2 && sc.AnyOf[1].Type == "null" {
		sc = sc.AnyOf[0]
	}
	if len(sc.Ref) > len(s.prefix) {
		if named := s.named[sc.Ref[len(s.prefix):]]; named != nil {
			return named
		}
	}
	return sc
}

// define returns a reference to the definition of a type, which fill completes when the type is
// met for the first time.
func (s *Set) define(key any, name string, fill func(*Schema)) *Schema {
	known, ok := s.names[key]
	if !ok {
		known = s.free(clean(name))
		s.names[key] = known
		d := &Schema{}
		s.named[known] = d
		fill(d)
	}
	return &Schema{Ref: s.prefix + known}
}

// clean makes a name that may stand in a reference.
func clean(name string) string {
	b := []byte(name)
	for i, c := range b {
		if (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && c != '.' && c != '-' {
			b[i] = '_'
		}
	}
	return string(b)
}

// free is the name, or the name with a number if another type has it.
func (s *Set) free(name string) string {
	for n, try := 2, name; ; n++ {
		if s.named[try] == nil {
			return try
		}
		try = name + "_" + strconv.Itoa(n)
	}
}
