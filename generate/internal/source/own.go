package source

import (
	"go/token"
	"go/types"
	"reflect"
	"slices"
	"strings"
)

// IsNamed reports whether a type is the one with a name in a package.
func IsNamed(t types.Type, pkg, name string) bool {
	n, ok := types.Unalias(t).(*types.Named)
	return ok && n.Obj().Pkg() != nil && n.Obj().Pkg().Path() == pkg && n.Obj().Name() == name
}

// Message is what a pointer points to, also the pointers of an iter.Seq2: the message of a parameter or a result.
func Message(t types.Type) types.Type {
	if n, ok := types.Unalias(t).(*types.Named); ok && n.TypeArgs().Len() > 0 && IsNamed(t, "iter", "Seq2") {
		t = n.TypeArgs().At(0)
	}
	if p, ok := types.Unalias(t).(*types.Pointer); ok {
		return p.Elem()
	}
	return t
}

// Endless reports whether a list, a map or a pointer contains itself without a struct between, or a type that encodes itself.
func Endless(t types.Type) bool {
	for seen := []types.Type(nil); ; {
		of, ok := t.Underlying().(interface{ Elem() types.Type })
		if !ok || OwnForm(t) != "" {
			return false
		}
		seen, t = append(seen, t), types.Unalias(of.Elem())
		if slices.ContainsFunc(seen, func(o types.Type) bool { return types.Identical(o, t) }) {
			return true
		}
	}
}

// Numbered reports whether a field of a struct has a number, or a tag where that should be.
func Numbered(st *types.Struct) bool {
	for i := range st.NumFields() {
		if tag := reflect.StructTag(st.Tag(i)).Get("weft"); tag != "" && tag != "-" {
			return true
		}
	}
	return false
}

// Hides reports whether a field embeds a struct whose type is not exported, and which has fields, as codec/internal/tags has it.
func Hides(f *types.Var) bool {
	t := f.Type()
	if p, ok := t.(*types.Pointer); ok {
		t = p.Elem()
	}
	st, ok := t.Underlying().(*types.Struct)
	return ok && f.Embedded() && !f.Exported() && st.NumFields() > 0
}

// OwnForm is the end of the names of the methods by which a type encodes itself: "Weft", "Binary", "Text", or "". The rules are
// those of codec/internal/self, and of structs with numbers.
func OwnForm(t types.Type) string {
	st, isStruct := t.Underlying().(*types.Struct)
	switch t.Underlying().(type) {
	case *types.Pointer, *types.Interface:
		return ""
	}
	if IsNamed(t, "time", "Time") {
		return ""
	}
	for _, name := range []string{"Weft", "Binary", "Text"} {
		to, of := "Marshal"+name, "Unmarshal"+name
		switch {
		case !hasMethod(t, to) || !hasMethod(t, of) || name == "Text" && !isStruct || name != "Weft" && isStruct && Numbered(st):
		case isStruct && embedsMethod(st, to, of):
		default:
			return name
		}
	}
	return ""
}

// hasMethod reports whether a type, or a pointer to it, has a method of package self by its name, with its parameters and results.
func hasMethod(t types.Type, name string) bool {
	object, _, _ := types.LookupFieldOrMethod(types.NewPointer(t), true, nil, name)
	if _, ok := t.Underlying().(*types.Interface); ok {
		object, _, _ = types.LookupFieldOrMethod(t, true, nil, name)
	}
	f, ok := object.(*types.Func)
	if !ok {
		return false
	}
	octets := types.NewSlice(types.Typ[types.Uint8])
	b, fails := types.NewVar(token.NoPos, nil, "", octets), types.NewVar(token.NoPos, nil, "", types.Universe.Lookup("error").Type())
	in, out := types.NewTuple(b), types.NewTuple(b, fails)
	switch {
	case strings.HasPrefix(name, "Un"):
		out = types.NewTuple(fails)
	case name != "MarshalWeft":
		in = nil
	}
	return types.Identical(f.Signature(), types.NewSignatureType(nil, nil, nil, in, out, false))
}

// embedsMethod reports whether a struct embeds a type with one of the methods.
func embedsMethod(st *types.Struct, names ...string) bool {
	for f := range st.Fields() {
		t := f.Type()
		if p, ok := t.Underlying().(*types.Pointer); ok {
			t = p.Elem()
		}
		if f.Embedded() && slices.ContainsFunc(names, func(name string) bool { return hasMethod(t, name) }) {
			return true
		}
	}
	return false
}
