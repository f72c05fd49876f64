package source

import (
	"go/types"
	"reflect"
)

// NoCode says which struct in a value of a type keeps code from being generated for what holds the value, though it travels; "": there is
// none. Code of a package calls that of its own structs alone. Maps are left to the compiled codec, and what is in them.
func NoCode(t types.Type, pkg *types.Package) string {
	return noCode(t, pkg, make(map[types.Type]bool))
}

func noCode(t types.Type, pkg *types.Package, seen map[types.Type]bool) string {
	t = types.Unalias(t)
	if seen[t] || OwnForm(t) != "" || IsNamed(t, "time", "Time") {
		return ""
	}
	seen[t] = true
	name := types.TypeString(t, types.RelativeTo(pkg))
	named, _ := t.(*types.Named)
	switch u := t.Underlying().(type) {
	case *types.Slice:
		return noCode(u.Elem(), pkg, seen)
	case *types.Array:
		return noCode(u.Elem(), pkg, seen)
	case *types.Pointer:
		if _, ok := u.Elem().Underlying().(*types.Struct); ok && named != nil {
			return name + ", a type of pointers, which has no methods"
		}
		return noCode(u.Elem(), pkg, seen)
	case *types.Struct:
		switch {
		case named == nil:
			return "a struct without a name"
		case named.Obj().Pkg().Path() != pkg.Path():
			return name + ", of another package"
		case named.TypeArgs().Len() > 0:
			return name + ", with type parameters"
		case u.NumFields() == 0:
			return name + ", without fields"
		}
		for i := range u.NumFields() {
			if f := u.Field(i); f.Exported() && reflect.StructTag(u.Tag(i)).Get("weft") != "-" && noCode(f.Type(), pkg, seen) != "" {
				return name + ", for which there is no code"
			}
		}
	}
	return ""
}
