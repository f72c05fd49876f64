package source

import (
	"fmt"
	"go/types"
	"reflect"
	"strings"

	"github.com/weftrpc/weft/schema"
)

// sourceType is a type of a source, for a schema.Builder.
type sourceType struct {
	types.Type
	r *Reader
}

// Facts implements schema.GoType.
func (t sourceType) Facts() schema.Facts {
	f := schema.Facts{ID: types.TypeString(t.Type, nil)}
	if n, ok := t.Type.(*types.Named); ok {
		f.Name = n.Obj().Name()
		if pkg := n.Obj().Pkg(); pkg != nil {
			f.Package = pkg.Path()
		}
		f.Doc = t.r.docs[f.Package+"."+f.Name]
		var args []string
		for i := range n.TypeArgs().Len() {
			args = append(args, types.TypeString(n.TypeArgs().At(i), nil))
		}
		if len(args) > 0 {
			f.Name += "[" + strings.Join(args, ",") + "]"
		}
	}
	switch u := t.Underlying().(type) {
	case *types.Basic:
		f.Kind = basicKind(u)
		if f.Name == "" {
			f.Name = u.Name()
		}
	case *types.Pointer:
		f.Kind = reflect.Pointer
	case *types.Slice:
		f.Kind = reflect.Slice
	case *types.Array:
		f.Kind, f.Len = reflect.Array, int(u.Len())
	case *types.Map:
		f.Kind = reflect.Map
	case *types.Struct:
		f.Kind = reflect.Struct
	case *types.Interface:
		f.Kind, f.Len = reflect.Interface, u.NumMethods()
	case *types.Chan:
		f.Kind = reflect.Chan
	case *types.Signature:
		f.Kind = reflect.Func
	}
	if f.Kind == reflect.Pointer || f.Kind == reflect.Interface {
		return f
	}
	f.MarshalsJSON, f.MarshalsText = t.has("MarshalJSON"), t.has("MarshalText")
	for _, name := range []string{"MarshalWeft", "UnmarshalWeft", "MarshalBinary", "UnmarshalBinary", "MarshalText", "UnmarshalText"} {
		if t.has(name) {
			f.Methods = append(f.Methods, name)
		}
	}
	if f.Kind != reflect.Struct {
		return f
	}
	for _, name := range []string{"ProtoMessage", "ProtoReflect", "UnmarshalVT", "MarshalTo", "MarshalToSizedBufferVT"} {
		f.Foreign = f.Foreign || t.has(name)
	}
	if _, path, _ := types.LookupFieldOrMethod(types.NewPointer(t.Type), true, nil, "ProtoReflect"); len(path) > 1 {
		f.Embeds = true // the embedded message is read as a struct, and is refused itself
	} else if t.has("ProtoReflect") {
		t.r.refuse(fmt.Sprintf("%s is a message of protoc-gen-go, which its Go source does not describe: give the .proto file in place of the package, or ask a server", f.ID))
	}
	return f
}

// has reports whether the type, or a pointer to it, has a method.
func (t sourceType) has(name string) bool {
	object, _, _ := types.LookupFieldOrMethod(types.NewPointer(t.Type), true, nil, name)
	_, ok := object.(*types.Func)
	return ok
}

// basicKind is the kind of a type that the language has.
func basicKind(u *types.Basic) reflect.Kind {
	kinds := map[types.BasicKind]reflect.Kind{
		types.Bool: reflect.Bool, types.String: reflect.String, types.Int: reflect.Int, types.Int8: reflect.Int8, types.Int16: reflect.Int16,
		types.Int32: reflect.Int32, types.Int64: reflect.Int64, types.Uint: reflect.Uint, types.Uint8: reflect.Uint8, types.Uint16: reflect.Uint16,
		types.Uint32: reflect.Uint32, types.Uint64: reflect.Uint64, types.Uintptr: reflect.Uintptr, types.Float32: reflect.Float32,
		types.Float64: reflect.Float64, types.Complex64: reflect.Complex64, types.Complex128: reflect.Complex128, types.UnsafePointer: reflect.UnsafePointer,
	}
	return kinds[u.Kind()] // of a type that is not known it is reflect.Invalid
}

// Elem implements schema.GoType.
func (t sourceType) Elem() schema.GoType {
	if e, ok := t.Underlying().(interface{ Elem() types.Type }); ok {
		return t.r.Type(e.Elem())
	}
	return t
}

// Key implements schema.GoType.
func (t sourceType) Key() schema.GoType {
	if m, ok := t.Underlying().(*types.Map); ok {
		return t.r.Type(m.Key())
	}
	return t
}

// Fields implements schema.GoType.
func (t sourceType) Fields() []schema.GoField {
	st, ok := t.Underlying().(*types.Struct)
	if !ok {
		return nil
	}
	within := ""
	if n, ok := t.Type.(*types.Named); ok && n.Obj().Pkg() != nil {
		within = n.Obj().Pkg().Path() + "." + n.Obj().Name() + "."
	}
	var all []schema.GoField
	for i := range st.NumFields() {
		v := st.Field(i)
		all = append(all, schema.GoField{Name: v.Name(), Doc: t.r.docs[within+v.Name()], Tag: reflect.StructTag(st.Tag(i)), Type: t.r.Type(v.Type()),
			Embedded: v.Embedded(), Exported: v.Exported()})
	}
	return all
}
