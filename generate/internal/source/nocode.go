package source

import (
	"go/types"
	"reflect"
)

// NoCode says what in a value of a type keeps code from being generated for what holds the value, though it travels; "": there is nothing. Code
// of a package calls that of its own structs alone, and names no types that are called as its variables. Maps are left to the compiled codec, and
// what is in them.
func NoCode(t types.Type, pkg *types.Package, isVariable func(name string) bool) string {
	return (&uncoded{pkg, isVariable, make(map[types.Type]bool)}).in(t)
}

// uncoded looks for what there is no code for, of a package.
type uncoded struct {
	pkg        *types.Package
	isVariable func(name string) bool
	seen       map[types.Type]bool
}

func (c *uncoded) in(t types.Type) string {
	name := types.TypeString(t, types.RelativeTo(c.pkg))
	if n, ok := t.(interface{ Obj() *types.TypeName }); ok && n.Obj().Pkg() == c.pkg && c.isVariable(n.Obj().Name()) {
		return name + ", a type with the name of a variable of the code"
	}
	if t = types.Unalias(t); c.seen[t] || OwnForm(t) != "" || IsNamed(t, "time", "Time") {
		return ""
	}
	c.seen[t] = true
	named, _ := t.(*types.Named)
	switch u := t.Underlying().(type) {
	case *types.Slice:
		return c.element(u.Elem())
	case *types.Array:
		return c.element(u.Elem())
	case *types.Pointer:
		if named != nil && (OwnForm(u.Elem()) != "" || isComposite(u.Elem())) {
			return name + ", a type of pointers, which has no methods"
		}
		return c.in(u.Elem())
	case *types.Struct:
		switch {
		case named == nil:
			return "a struct without a name"
		case named.Obj().Pkg().Path() != c.pkg.Path():
			return name + ", of another package"
		case named.TypeArgs().Len() > 0:
			return name + ", with type parameters"
		case u.NumFields() == 0:
			return name + ", without fields"
		}
		for i := range u.NumFields() {
			if f := u.Field(i); f.Exported() && reflect.StructTag(u.Tag(i)).Get("weft") != "-" && c.in(f.Type()) != "" {
				return name + ", for which there is no code"
			}
		}
	}
	return ""
}

// element is in for the elements of a list.
func (c *uncoded) element(t types.Type) string {
	if PointsToStruct(t) {
		if of := t.Underlying().(*types.Pointer).Elem(); OwnForm(of) != "" || IsNamed(of, "time", "Time") {
			return "a list of " + types.TypeString(t, types.RelativeTo(c.pkg)) + ", pointers to what is no message"
		}
	}
	return c.in(t)
}

// isComposite reports whether a type is one of structs or arrays.
func isComposite(t types.Type) bool {
	switch t.Underlying().(type) {
	case *types.Struct, *types.Array:
		return true
	}
	return false
}

// PointsToStruct reports whether a type is one of pointers to structs, which elements of lists may be.
func PointsToStruct(t types.Type) bool {
	p, ok := t.Underlying().(*types.Pointer)
	if ok {
		_, ok = p.Elem().Underlying().(*types.Struct)
	}
	return ok
}
