// Package schema describes services and their messages: Go types and Protocol Buffers messages as JSON Schema of the
// draft 2020-12, methods as an OpenAPI 3.1 document, and both together as a [Model], which is kept as JSON, written as
// .proto files, TypeScript and Python by package schema/export, and compared with another one by package schema/compare.
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
// A [Set] collects the schemas of named types, so that a type may contain itself. A [Builder] makes a Model, of what
// a server has registered, of Go sources, or of .proto files. A Model has the names that fields have in JSON and in
// MessagePack, and the numbers that they have in Protocol Buffers, those of codec/protobuf.
package schema

import "encoding/json"

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
