package schema

import (
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// ofMessage is the schema of a message as protojson encodes it.
func (s *Set) ofMessage(d protoreflect.MessageDescriptor) *Schema {
	if known := wellKnown(d.FullName()); known != nil {
		return known
	}
	return s.define(string(d.FullName()), string(d.FullName()), func(out *Schema) {
		out.Type, out.Description = "object", comment(d)
		for i := range d.Fields().Len() {
			f := d.Fields().Get(i)
			out.property(f.JSONName(), described(s.ofField(f), comment(f)))
		}
	})
}

// comment is the text above a declaration, where the descriptor has it.
func comment(d protoreflect.Descriptor) string {
	return strings.TrimSpace(d.ParentFile().SourceLocations().ByDescriptor(d).LeadingComments)
}

// ofField is the schema of all values of a field.
func (s *Set) ofField(f protoreflect.FieldDescriptor) *Schema {
	switch {
	case f.IsMap():
		return &Schema{Type: "object", AdditionalProperties: s.ofValue(f.MapValue())}
	case f.IsList():
		return &Schema{Type: "array", Items: s.ofValue(f)}
	}
	return s.ofValue(f)
}

// ofValue is the schema of one value of a field.
func (s *Set) ofValue(f protoreflect.FieldDescriptor) *Schema {
	switch f.Kind() {
	case protoreflect.BoolKind:
		return &Schema{Type: "boolean"}
	case protoreflect.EnumKind:
		if f.Enum().FullName() == "google.protobuf.NullValue" {
			return &Schema{Type: "null"}
		}
		e := &Schema{Type: "string"}
		for i := range f.Enum().Values().Len() {
			e.Enum = append(e.Enum, string(f.Enum().Values().Get(i).Name()))
		}
		return e
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
		return &Schema{Type: "integer", Format: "int32"}
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		return &Schema{Type: "integer", Minimum: new(float64)}
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind:
		return &Schema{Type: "string", Format: "int64"}
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return &Schema{Type: "string", Format: "uint64"}
	case protoreflect.FloatKind:
		return &Schema{Type: "number", Format: "float"}
	case protoreflect.DoubleKind:
		return &Schema{Type: "number", Format: "double"}
	case protoreflect.BytesKind:
		return &Schema{Type: "string", ContentEncoding: "base64"}
	case protoreflect.MessageKind, protoreflect.GroupKind:
		return s.ofMessage(f.Message())
	}
	return &Schema{Type: "string"}
}

// wellKnown is the schema of a message that protojson encodes in a form of its own; nil for all
// others.
func wellKnown(name protoreflect.FullName) *Schema {
	switch name {
	case "google.protobuf.Timestamp":
		return &Schema{Type: "string", Format: "date-time"}
	case "google.protobuf.Duration":
		return &Schema{Type: "string", Description: "a duration in seconds, such as 1.5s"}
	case "google.protobuf.FieldMask":
		return &Schema{Type: "string"}
	case "google.protobuf.Empty":
		return &Schema{Type: "object"}
	case "google.protobuf.Struct":
		return &Schema{Type: "object", AdditionalProperties: &Schema{}}
	case "google.protobuf.ListValue":
		return &Schema{Type: "array", Items: &Schema{}}
	case "google.protobuf.Value", "google.protobuf.Any":
		return &Schema{}
	case "google.protobuf.BoolValue":
		return &Schema{Type: "boolean", Nullable: true}
	case "google.protobuf.Int32Value":
		return &Schema{Type: "integer", Format: "int32", Nullable: true}
	case "google.protobuf.UInt32Value":
		return &Schema{Type: "integer", Minimum: new(float64), Nullable: true}
	case "google.protobuf.Int64Value":
		return &Schema{Type: "string", Format: "int64", Nullable: true}
	case "google.protobuf.UInt64Value":
		return &Schema{Type: "string", Format: "uint64", Nullable: true}
	case "google.protobuf.FloatValue", "google.protobuf.DoubleValue":
		return &Schema{Type: "number", Nullable: true}
	case "google.protobuf.StringValue":
		return &Schema{Type: "string", Nullable: true}
	case "google.protobuf.BytesValue":
		return &Schema{Type: "string", ContentEncoding: "base64", Nullable: true}
	}
	return nil
}
