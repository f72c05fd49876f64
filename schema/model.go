package schema

import (
	"slices"
	"strings"
)

// A Model says what services are: their methods, and the messages of those. It is read from Go types or from
// descriptors of Protocol Buffers by a [Builder], written in other languages by package schema/export, compared by
// package schema/compare, and kept as JSON by [Model.Encode].
type Model struct {
	Format   int        `json:"weft_schema"` // the version of this form
	Services []*Service `json:"services"`    // by name
	Messages []*Message `json:"messages,omitempty"`
	Enums    []*Enum    `json:"enums,omitempty"`
}

// Service is a set of methods.
type Service struct {
	Name    string    `json:"name"` // such as "Arith" or "shop.v1.Orders"
	Doc     string    `json:"doc,omitempty"`
	File    string    `json:"file,omitempty"` // the .proto file that declares it, if there is one
	Methods []*Method `json:"methods"`        // by name
}

// Method is a method of a service.
type Method struct {
	Name       string   `json:"name"` // without the service
	Aliases    []string `json:"aliases,omitempty"`
	Kind       string   `json:"kind"` // of those below
	Doc        string   `json:"doc,omitempty"`
	Idempotent bool     `json:"idempotent,omitempty"`
	Request    *Type    `json:"request"`
	Reply      *Type    `json:"reply"`
}

// The kinds of methods, as weft.Kind names them.
const (
	Unary        = "unary"
	ServerStream = "server stream"
	ClientStream = "client stream"
	BidiStream   = "bidirectional stream"
)

// Sends reports whether the client of a method sends a stream.
func (m *Method) Sends() bool { return m.Kind == ClientStream || m.Kind == BidiStream }

// Receives reports whether the client of a method gets a stream.
func (m *Method) Receives() bool { return m.Kind == ServerStream || m.Kind == BidiStream }

// Message is a struct of Go, or a message of Protocol Buffers.
type Message struct {
	Name    string   `json:"name"`              // unique in the model: the package, a dot, and the name of the type
	Package string   `json:"package,omitempty"` // the part of the name that is the package
	Go      string   `json:"go,omitempty"`      // the import path and the name of the Go type
	File    string   `json:"file,omitempty"`    // the .proto file of a message that is not a Go type; its JSON is that of protojson
	Doc     string   `json:"doc,omitempty"`
	Hashed  bool     `json:"hashed,omitempty"`   // the numbers of the fields are hashes of their names
	NoProto string   `json:"no_proto,omitempty"` // why the message has no form in Protocol Buffers
	Fields  []*Field `json:"fields,omitempty"`   // in the order of declaration

	NoJSON        string `json:"no_json,omitempty"`        // why JSON refuses the message
	NoMessagePack string `json:"no_messagepack,omitempty"` // why MessagePack refuses it

	Reserved *Reserved `json:"reserved,omitempty"` // by the .proto file
}

// Stock reports whether the message comes from a .proto file, so that its JSON is that of protojson.
func (m *Message) Stock() bool { return m.Go == "" }

// Local is the name of the message without its package.
func (m *Message) Local() string { return strings.TrimPrefix(m.Name, m.Package+".") }

// Field is a field of a message. One whose name is empty does not travel on that wire.
type Field struct {
	Name        string `json:"name,omitempty"`        // in JSON
	MessagePack string `json:"messagepack,omitempty"` // in MessagePack
	Proto       string `json:"proto,omitempty"`       // in a .proto file
	Number      int32  `json:"number,omitempty"`      // in Protocol Buffers
	Go          string `json:"go,omitempty"`
	Doc         string `json:"doc,omitempty"`
	Omitted     bool   `json:"omitted,omitempty"` // JSON leaves it out when it is zero
	Oneof       string `json:"oneof,omitempty"`   // of the fields with one name here at most one is set
	Type        *Type  `json:"type"`
}

// Label is a name of the field, for people.
func (f *Field) Label() string {
	for _, name := range []string{f.Name, f.Proto, f.MessagePack} {
		if name != "" {
			return name
		}
	}
	return f.Go
}

// Type is the type of a value.
type Type struct {
	Kind     Kind   `json:"kind"`
	Name     string `json:"name,omitempty"` // of a message or an enumeration
	Elem     *Type  `json:"elem,omitempty"` // of a list, an array or a map
	Key      *Type  `json:"key,omitempty"`  // of a map
	Length   int    `json:"length,omitempty"`
	Optional bool   `json:"optional,omitempty"` // the value may be absent: a pointer, or a field with presence
	Proto    string `json:"proto,omitempty"`    // the encoding of a number: "zigzag" or "fixed"; or what it is, where the kind does not say it
	JSON     string `json:"json,omitempty"`     // the form in JSON, where it is not that of the kind
}

// Kind is the kind of a value.
type Kind string

// The kinds. An int of Go is an int64, a uint is a uint64.
const (
	KindBool     Kind = "bool"
	KindInt8     Kind = "int8"
	KindInt16    Kind = "int16"
	KindInt32    Kind = "int32"
	KindInt64    Kind = "int64"
	KindUint8    Kind = "uint8"
	KindUint16   Kind = "uint16"
	KindUint32   Kind = "uint32"
	KindUint64   Kind = "uint64"
	KindFloat32  Kind = "float32"
	KindFloat64  Kind = "float64"
	KindString   Kind = "string"
	KindBytes    Kind = "bytes"
	KindTime     Kind = "time"
	KindDuration Kind = "duration"
	KindAny      Kind = "any"
	KindMessage  Kind = "message"
	KindEnum     Kind = "enum"
	KindList     Kind = "list"
	KindArray    Kind = "array"
	KindMap      Kind = "map"
)

// The forms in JSON of types that are not encoded by their kind, in Type.JSON.
const (
	JSONText    = "text"    // a string: a type with MarshalText, or a number with the option string
	JSONAny     = "any"     // a type with MarshalJSON
	JSONNumber  = "number"  // json.Number
	JSONInteger = "integer" // big.Int
	JSONBytes   = "bytes"   // a list of bytes, as base64
	JSONNone    = "none"    // no form
)

// What values are in Protocol Buffers that are not encoded by their kind, in Type.Proto. A google.protobuf.Value, which an any is,
// is there by its name.
const (
	ProtoBytes  = "bytes"  // a type with MarshalWeft or MarshalBinary, or an array of bytes
	ProtoString = "string" // a struct with MarshalText
)

// Enum is an enumeration.
type Enum struct {
	Name    string       `json:"name"`
	Package string       `json:"package,omitempty"`
	File    string       `json:"file,omitempty"`
	Doc     string       `json:"doc,omitempty"`
	Values  []*EnumValue `json:"values"`

	Reserved *Reserved `json:"reserved,omitempty"`
}

// Local is the name of the enumeration without its package.
func (e *Enum) Local() string { return strings.TrimPrefix(e.Name, e.Package+".") }

// EnumValue is a value of an enumeration.
type EnumValue struct {
	Name   string `json:"name"`
	Number int32  `json:"number"`
	Doc    string `json:"doc,omitempty"`
}

// Message returns the message with a name, or nil.
func (m *Model) Message(name string) *Message {
	if i, ok := slices.BinarySearchFunc(m.Messages, name, func(a *Message, name string) int { return strings.Compare(a.Name, name) }); ok {
		return m.Messages[i]
	}
	return nil
}

// Enum returns the enumeration with a name, or nil.
func (m *Model) Enum(name string) *Enum {
	if i, ok := slices.BinarySearchFunc(m.Enums, name, func(a *Enum, name string) int { return strings.Compare(a.Name, name) }); ok {
		return m.Enums[i]
	}
	return nil
}

// sort brings everything that has no order of declaration into that of the names.
func (m *Model) sort() {
	slices.SortFunc(m.Services, func(a, b *Service) int { return strings.Compare(a.Name, b.Name) })
	for _, s := range m.Services {
		slices.SortFunc(s.Methods, func(a, b *Method) int { return strings.Compare(a.Name, b.Name) })
	}
	slices.SortFunc(m.Messages, func(a, b *Message) int { return strings.Compare(a.Name, b.Name) })
	slices.SortFunc(m.Enums, func(a, b *Enum) int { return strings.Compare(a.Name, b.Name) })
}

// Each calls f with the type and with the types within it.
func (t *Type) Each(f func(*Type)) {
	for t != nil {
		f(t)
		t.Key.Each(f)
		t = t.Elem
	}
}

// eachType calls f with every type of the model.
func (m *Model) eachType(f func(*Type)) {
	for _, s := range m.Services {
		for _, one := range s.Methods {
			one.Request.Each(f)
			one.Reply.Each(f)
		}
	}
	for _, one := range m.Messages {
		for _, field := range one.Fields {
			field.Type.Each(f)
		}
	}
}
