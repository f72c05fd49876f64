package schema

import (
	"encoding"
	"encoding/json"
	"reflect"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/weftrpc/weft/internal/stock"
)

// GoType is a type of Go as a Builder reads it: from package reflect, or from a source.
type GoType interface {
	// Facts are what the type says of itself.
	Facts() Facts
	// Elem is the element of a pointer, a slice, an array or a map.
	Elem() GoType
	// Key is the key of a map.
	Key() GoType
	// Fields are those of a struct, also of one that is not to be described; other types have none.
	Fields() []GoField
}

// Facts are what a type of Go says of itself.
type Facts struct {
	ID      any // equal for the same type, and for no other
	Kind    reflect.Kind
	Package string // the import path; "" for a type without a name
	Name    string // with type arguments, such as "Page[example.org/shop.Line]"
	Len     int    // of an array; of an interface how many methods it has
	Doc     string

	// The type, or a pointer to it, has these methods.
	MarshalsJSON, MarshalsText bool
	// Methods are those of MarshalWeft, UnmarshalWeft, MarshalBinary, UnmarshalBinary, MarshalText and UnmarshalText that the type
	// has, or a pointer to it.
	Methods []string
	// The type is a message of Protocol Buffers with code of its own, or it has the methods of one.
	Foreign bool
	// The methods are those of a message that the struct embeds, and know nothing of its other fields.
	Embeds bool
	// Message describes it, if its descriptor is known.
	Message protoreflect.MessageDescriptor
}

// is reports whether the facts are those of a type of the standard library.
func (f *Facts) is(pkg, name string) bool { return f.Package == pkg && f.Name == name }

// GoField is a field of a struct.
type GoField struct {
	Name     string
	Doc      string // where Tag has no key doc
	Tag      reflect.StructTag
	Type     GoType
	Embedded bool
	Exported bool
}

// reflected is a GoType of package reflect.
type reflected struct{ reflect.Type }

// Facts implements GoType.
func (t reflected) Facts() Facts {
	f := Facts{ID: t.Type, Kind: t.Kind(), Package: t.PkgPath(), Name: t.Name()}
	switch f.Kind {
	case reflect.Array:
		f.Len = t.Len()
	case reflect.Interface:
		f.Len = t.NumMethod()
	}
	if f.Kind == reflect.Pointer || f.Kind == reflect.Interface {
		return f
	}
	p := reflect.PointerTo(t.Type)
	f.MarshalsJSON = p.Implements(reflect.TypeFor[json.Marshaler]())
	f.MarshalsText = p.Implements(reflect.TypeFor[encoding.TextMarshaler]())
	for name, methods := range map[string]reflect.Type{
		"MarshalWeft": reflect.TypeFor[interface {
			MarshalWeft(dst []byte) ([]byte, error)
		}](),
		"UnmarshalWeft": reflect.TypeFor[interface{ UnmarshalWeft(b []byte) error }](),
		"MarshalBinary": reflect.TypeFor[encoding.BinaryMarshaler](), "UnmarshalBinary": reflect.TypeFor[encoding.BinaryUnmarshaler](),
		"MarshalText": reflect.TypeFor[encoding.TextMarshaler](), "UnmarshalText": reflect.TypeFor[encoding.TextUnmarshaler](),
	} {
		if p.Implements(methods) {
			f.Methods = append(f.Methods, name)
		}
	}
	if f.Kind == reflect.Struct {
		f.Message = descriptor(t.Type)
		f.Foreign = f.Message != nil || hasMethod(p, "ProtoMessage", "ProtoReflect", "UnmarshalVT", "MarshalTo", "MarshalToSizedBufferVT")
		f.Embeds = f.Message == nil && p.Implements(reflect.TypeFor[proto.Message]())
	}
	return f
}

func hasMethod(t reflect.Type, names ...string) bool {
	for _, name := range names {
		if _, ok := t.MethodByName(name); ok {
			return true
		}
	}
	return false
}

// descriptor is that of a generated message; nil for other structs, and for one that embeds a message beside exported fields of its own.
// One that has none is the message, as it is for codec/protobuf.
func descriptor(t reflect.Type) (d protoreflect.MessageDescriptor) {
	m, ok := reflect.New(t).Interface().(proto.Message)
	if !ok {
		return nil
	}
	if _, is := stock.Message(m); !is {
		for f := range t.Fields() {
			if f.IsExported() && !f.Anonymous {
				return nil
			}
		}
	}
	defer func() {
		if recover() != nil { // it embeds an interface that is nil
			d = nil
		}
	}()
	return m.ProtoReflect().Descriptor()
}

// Elem implements GoType.
func (t reflected) Elem() GoType { return reflected{t.Type.Elem()} }

// Key implements GoType.
func (t reflected) Key() GoType { return reflected{t.Type.Key()} }

// Fields implements GoType.
func (t reflected) Fields() []GoField {
	if t.Kind() != reflect.Struct {
		return nil
	}
	var all []GoField
	for f := range t.Type.Fields() {
		all = append(all, GoField{Name: f.Name, Tag: f.Tag, Type: reflected{f.Type}, Embedded: f.Anonymous, Exported: f.IsExported()})
	}
	return all
}

// tagged divides a struct tag into a name and options.
func tagged(tag reflect.StructTag, key string) (name, options string) {
	name, options, _ = strings.Cut(tag.Get(key), ",")
	return name, "," + options + ","
}
