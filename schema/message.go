package schema

import (
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/weftrpc/weft/schema/internal/naming"
)

// The messages of Protocol Buffers that a model has names for alone.
const (
	Timestamp = "google.protobuf.Timestamp"
	Duration  = "google.protobuf.Duration"
	Value     = "google.protobuf.Value"     // an any
	NullValue = "google.protobuf.NullValue" // an enumeration
	empty     = "google.protobuf.Empty"
)

// descriptor is the type of a message.
func (r *reader) descriptor(d protoreflect.MessageDescriptor) *Type {
	out := &Type{Kind: KindMessage, Name: string(d.FullName())}
	if WellKnown(out.Name) != nil {
		return out
	}
	if known, ok := r.names[d.FullName()]; ok {
		out.Name = known
		return out
	}
	m := &Message{Name: r.ofFile(out.Name), Package: string(d.ParentFile().Package()), File: d.ParentFile().Path(), Doc: comment(d)}
	out.Name = m.Name
	r.names[d.FullName()], r.messages = m.Name, append(r.messages, m)
	m.Reserved = reservedBy(d.ReservedNames(), d.ReservedRanges().Len(), func(i int) Range {
		s := d.ReservedRanges().Get(i) // without its end
		return Range{int32(s[0]), int32(s[1] - 1)}
	})
	for i := range d.Fields().Len() {
		f := d.Fields().Get(i)
		field := &Field{Name: f.JSONName(), Proto: string(f.Name()), Number: int32(f.Number()), Doc: comment(f), Omitted: true, Type: r.ofField(f)}
		if o := f.ContainingOneof(); o != nil && !o.IsSynthetic() {
			field.Oneof = string(o.Name())
		}
		m.Fields = append(m.Fields, field)
		if f.Kind() == protoreflect.GroupKind {
			m.NoProto = "the field " + field.Proto + " is a group, which proto3 does not have"
		}
	}
	return out
}

// ofFile is the name in the model of a message or an enumeration of a .proto file.
func (r *reader) ofFile(full string) string {
	name := r.free(full)
	r.inFiles[name] = full
	return name
}

// comment is the text above a declaration, where the descriptor has it.
func comment(d protoreflect.Descriptor) string {
	lines := strings.Split(naming.Clean(d.ParentFile().SourceLocations().ByDescriptor(d).LeadingComments), "\n")
	for i, l := range lines {
		lines[i] = strings.TrimPrefix(l, " ")
	}
	return strings.Join(lines, "\n")
}

// ofField is the type of all values of a field.
func (r *reader) ofField(f protoreflect.FieldDescriptor) *Type {
	switch {
	case f.IsMap():
		return &Type{Kind: KindMap, Key: r.ofValue(f.MapKey()), Elem: r.ofValue(f.MapValue())}
	case f.IsList():
		return &Type{Kind: KindList, Elem: r.ofValue(f)}
	}
	t := r.ofValue(f)
	o := f.ContainingOneof()
	t.Optional = f.HasPresence() && f.Cardinality() != protoreflect.Required && (o == nil || o.IsSynthetic())
	return t
}

// ofValue is the type of one value of a field.
func (r *reader) ofValue(f protoreflect.FieldDescriptor) *Type {
	switch f.Kind() {
	case protoreflect.BoolKind:
		return &Type{Kind: KindBool}
	case protoreflect.EnumKind:
		return r.enumeration(f.Enum())
	case protoreflect.Int32Kind:
		return &Type{Kind: KindInt32}
	case protoreflect.Sint32Kind:
		return &Type{Kind: KindInt32, Proto: "zigzag"}
	case protoreflect.Sfixed32Kind:
		return &Type{Kind: KindInt32, Proto: "fixed"}
	case protoreflect.Uint32Kind:
		return &Type{Kind: KindUint32}
	case protoreflect.Fixed32Kind:
		return &Type{Kind: KindUint32, Proto: "fixed"}
	case protoreflect.Int64Kind:
		return &Type{Kind: KindInt64}
	case protoreflect.Sint64Kind:
		return &Type{Kind: KindInt64, Proto: "zigzag"}
	case protoreflect.Sfixed64Kind:
		return &Type{Kind: KindInt64, Proto: "fixed"}
	case protoreflect.Uint64Kind:
		return &Type{Kind: KindUint64}
	case protoreflect.Fixed64Kind:
		return &Type{Kind: KindUint64, Proto: "fixed"}
	case protoreflect.FloatKind:
		return &Type{Kind: KindFloat32}
	case protoreflect.DoubleKind:
		return &Type{Kind: KindFloat64}
	case protoreflect.BytesKind:
		return &Type{Kind: KindBytes}
	case protoreflect.MessageKind:
		return r.descriptor(f.Message())
	case protoreflect.GroupKind:
		t := r.descriptor(f.Message())
		t.Proto = "group"
		return t
	}
	return &Type{Kind: KindString}
}

// enumeration is the type of the values of an enumeration.
func (r *reader) enumeration(d protoreflect.EnumDescriptor) *Type {
	out := &Type{Kind: KindEnum, Name: string(d.FullName())}
	if out.Name == NullValue {
		return out
	}
	if known, ok := r.names[d.FullName()]; ok {
		out.Name = known
		return out
	}
	e := &Enum{Name: r.ofFile(out.Name), Package: string(d.ParentFile().Package()), File: d.ParentFile().Path(), Doc: comment(d)}
	out.Name = e.Name
	r.names[d.FullName()], r.enums = e.Name, append(r.enums, e)
	e.Reserved = reservedBy(d.ReservedNames(), d.ReservedRanges().Len(), func(i int) Range {
		s := d.ReservedRanges().Get(i)
		return Range{int32(s[0]), int32(s[1])}
	})
	for i := range d.Values().Len() {
		v := d.Values().Get(i)
		e.Values = append(e.Values, &EnumValue{Name: string(v.Name()), Number: int32(v.Number()), Doc: comment(v)})
	}
	return out
}

// WellKnown is the schema of a message that protojson encodes in a form of its own; nil for other messages. A model has
// only the names of these.
func WellKnown(name string) *Schema {
	switch name {
	case Timestamp:
		return &Schema{Type: "string", Format: "date-time"}
	case Duration:
		return &Schema{Type: "string", Description: "a duration in seconds, such as 1.5s"}
	case "google.protobuf.FieldMask":
		return &Schema{Type: "string"}
	case empty:
		return &Schema{Type: "object"}
	case "google.protobuf.Struct":
		return &Schema{Type: "object", AdditionalProperties: &Schema{}}
	case "google.protobuf.ListValue":
		return &Schema{Type: "array", Items: &Schema{}}
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
	case "google.protobuf.Value", "google.protobuf.Any":
		return &Schema{}
	}
	return nil
}
