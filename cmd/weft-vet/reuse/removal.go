package reuse

import (
	"go/ast"
	"go/types"
)

// removal reports append(list[:i], list[k:]...) for a list of the message whose elements have memory that is used again: it
// leaves the last elements twice.
func (c *checker) removal(call *ast.CallExpr) {
	if builtin(c.pass.TypesInfo, call) != "append" || len(call.Args) != 2 || !call.Ellipsis.IsValid() {
		return
	}
	first, ok := ast.Unparen(call.Args[0]).(*ast.SliceExpr)
	if !ok || !c.lends(first.X) {
		return
	}
	rest, ok := ast.Unparen(call.Args[1]).(*ast.SliceExpr)
	if !ok || c.text(first.X) != c.text(rest.X) {
		return
	}
	if s, ok := c.pass.TypesInfo.TypeOf(first.X).Underlying().(*types.Slice); ok && usedAgain(s.Elem(), make(map[types.Type]bool)) {
		c.pass.Reportf(call.Pos(), "append leaves the last elements of %s behind its end too, where the next message is decoded: use slices.Delete", c.text(first.X))
	}
}

// usedAgain reports whether values of a type have pointers, lists or maps in them, whose memory is used for the next message.
func usedAgain(t types.Type, seen map[types.Type]bool) bool {
	if seen[t] {
		return false
	}
	seen[t] = true
	switch u := t.Underlying().(type) {
	case *types.Pointer, *types.Map:
		return true
	case *types.Slice: // bytes are parts of the body
		return !types.Identical(types.Unalias(u.Elem()), types.Typ[types.Uint8])
	case *types.Array:
		return usedAgain(u.Elem(), seen)
	case *types.Struct:
		for i := range u.NumFields() {
			if usedAgain(u.Field(i).Type(), seen) {
				return true
			}
		}
	}
	return false
}
