package reuse

import (
	"go/ast"
	"go/token"
	"go/types"
)

// lends reports whether an expression is the message, or refers to memory of it.
func (c *checker) lends(e ast.Expr) bool {
	if t := c.pass.TypesInfo.TypeOf(e); t == nil || !holds(t) {
		return false
	}
	switch e := e.(type) {
	case *ast.Ident:
		object := objectOf(c.pass.TypesInfo, e)
		return object != nil && c.lent[object]
	case *ast.SelectorExpr:
		return c.lends(e.X)
	case *ast.IndexExpr:
		return c.lends(e.X)
	case *ast.SliceExpr:
		return c.lends(e.X)
	case *ast.StarExpr:
		return c.lends(e.X)
	case *ast.ParenExpr:
		return c.lends(e.X)
	case *ast.TypeAssertExpr:
		return c.lends(e.X)
	case *ast.UnaryExpr:
		return e.Op == token.AND && c.lends(e.X)
	case *ast.BinaryExpr:
		return false // s + t is a new string
	case *ast.CompositeLit:
		for _, part := range e.Elts {
			if pair, ok := part.(*ast.KeyValueExpr); ok {
				part = pair.Value
			}
			if c.lends(part) {
				return true
			}
		}
	case *ast.CallExpr:
		return c.callLends(e)
	case *ast.FuncLit:
		return len(c.uses(e)) > 0
	}
	return false
}

// callLends reports whether what a call returns refers to memory of the message: that of a
// conversion that does not copy, and of append.
func (c *checker) callLends(call *ast.CallExpr) bool {
	info := c.pass.TypesInfo
	if info.Types[call.Fun].IsType() && len(call.Args) == 1 {
		from, to := info.TypeOf(call.Args[0]).Underlying(), info.TypeOf(call.Fun).Underlying()
		_, fromSlice := from.(*types.Slice)
		_, toSlice := to.(*types.Slice)
		return fromSlice == toSlice && c.lends(call.Args[0]) // []byte(s) and string(b) copy
	}
	id, ok := ast.Unparen(call.Fun).(*ast.Ident)
	if _, builtin := info.Uses[id].(*types.Builtin); !ok || !builtin || id.Name != "append" {
		return false
	}
	for i, arg := range call.Args {
		if i > 0 && call.Ellipsis.IsValid() {
			// The elements are copied; those of strings and numbers are whole then.
			if s, ok := info.TypeOf(arg).Underlying().(*types.Slice); !ok || !holds(s.Elem()) {
				continue
			}
		}
		if c.lends(arg) {
			return true
		}
	}
	return false
}

// holds reports whether values of a type refer to memory.
func holds(t types.Type) bool { return holdsIn(t, make(map[types.Type]bool)) }

func holdsIn(t types.Type, seen map[types.Type]bool) bool {
	if seen[t] {
		return false
	}
	seen[t] = true
	switch u := t.Underlying().(type) {
	case *types.Basic:
		return u.Info()&types.IsString != 0 || u.Kind() == types.UnsafePointer
	case *types.Array:
		return holdsIn(u.Elem(), seen)
	case *types.Struct:
		for i := range u.NumFields() {
			if holdsIn(u.Field(i).Type(), seen) {
				return true
			}
		}
		return false
	}
	return true
}
