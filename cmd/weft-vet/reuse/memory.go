package reuse

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
)

// lends reports whether an expression is the message, or refers to memory of it.
func (c *carriers) lends(e ast.Expr) bool {
	if t := c.pass.TypesInfo.TypeOf(e); t == nil || !holds(t) {
		return false
	}
	switch e := e.(type) {
	case *ast.Ident:
		return c.has(e)
	case *ast.SelectorExpr:
		if selection := c.pass.TypesInfo.Selections[e]; selection != nil && selection.Kind() == types.MethodVal {
			return c.lends(e.X) || c.within(e.X)
		}
		return !c.foreign && c.lends(e.X)
	case *ast.IndexExpr:
		return !c.foreign && c.lends(e.X)
	case *ast.SliceExpr:
		_, array := c.pass.TypesInfo.TypeOf(e.X).Underlying().(*types.Array)
		return c.lends(e.X) || array && c.within(e.X)
	case *ast.StarExpr:
		return !c.foreign && c.lends(e.X)
	case *ast.ParenExpr:
		return c.lends(e.X)
	case *ast.TypeAssertExpr:
		return c.lends(e.X)
	case *ast.UnaryExpr:
		return e.Op == token.ARROW && c.lends(e.X) || e.Op == token.AND && (c.lends(e.X) || c.within(e.X))
	case *ast.BinaryExpr:
		return false // s + t is a new string
	case *ast.CompositeLit:
		for _, part := range e.Elts {
			if pair, ok := part.(*ast.KeyValueExpr); ok {
				if c.lends(pair.Key) { // of a map: fields and indexes are never of the message
					return true
				}
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

// within reports whether an expression is a variable in the memory of the message, whatever its type.
func (c *carriers) within(e ast.Expr) bool {
	var of ast.Expr
	switch e := ast.Unparen(e).(type) {
	case *ast.SelectorExpr:
		of = e.X
	case *ast.IndexExpr:
		of = e.X
	case *ast.StarExpr:
		return c.lends(e.X)
	default:
		return false
	}
	switch c.pass.TypesInfo.TypeOf(of).Underlying().(type) {
	case *types.Pointer, *types.Slice:
		return c.lends(of)
	case *types.Struct, *types.Array:
		return c.within(of)
	}
	return false
}

// callLends reports whether what a call returns refers to memory of the message: that of a
// conversion that does not copy, of append, and of functions whose results share memory of their arguments.
func (c *carriers) callLends(call *ast.CallExpr) bool {
	info := c.pass.TypesInfo
	if info.Types[call.Fun].IsType() && len(call.Args) == 1 {
		from, to := info.TypeOf(call.Args[0]).Underlying(), info.TypeOf(call.Fun).Underlying()
		_, fromSlice := from.(*types.Slice)
		_, toSlice := to.(*types.Slice)
		return fromSlice == toSlice && c.lends(call.Args[0]) // []byte(s) and string(b) copy
	}
	switch builtin(info, call) {
	case "":
		return c.sharingLends(call)
	case "append":
		return c.appendLends(call)
	case "min", "max", "new", "String", "StringData", "Slice", "SliceData": // the last four of package unsafe
		return slices.ContainsFunc(call.Args, c.lends)
	}
	return false
}

// appendLends reports whether a list that append returns refers to memory of the message.
func (c *carriers) appendLends(call *ast.CallExpr) bool {
	for i, arg := range call.Args {
		if i > 0 && call.Ellipsis.IsValid() && !elementsHold(c.pass.TypesInfo.TypeOf(arg)) {
			continue // the elements are copied; strings and numbers are whole then
		}
		if c.lends(arg) {
			return true
		}
	}
	return false
}

// builtin returns the name of the function of the language, or of package unsafe, that is called; empty: it is another.
func builtin(info *types.Info, call *ast.CallExpr) string {
	var object types.Object
	switch fun := ast.Unparen(call.Fun).(type) {
	case *ast.Ident:
		object = info.Uses[fun]
	case *ast.SelectorExpr:
		object = info.Uses[fun.Sel]
	}
	if b, ok := object.(*types.Builtin); ok {
		return b.Name()
	}
	return ""
}

// elementsHold reports whether the elements of a list or a map refer to memory; what is neither has it itself.
func elementsHold(t types.Type) bool {
	switch u := t.Underlying().(type) {
	case *types.Slice:
		return holds(u.Elem())
	case *types.Map:
		return holds(u.Key()) || holds(u.Elem())
	case *types.Basic: // append([]byte, string...)
		return false
	}
	return true
}

// isWhole reports whether values of a type refer to memory that is never a message's: the time zone of a time.Time, and what package
// unique holds, as for a netip.Addr.
func isWhole(t types.Type) bool {
	t = types.Unalias(t)
	p, pointer := t.(*types.Pointer)
	if pointer {
		t = types.Unalias(p.Elem())
	}
	n, ok := t.(*types.Named)
	if !ok || n.Obj().Pkg() == nil {
		return false
	}
	switch n.Obj().Pkg().Path() + "." + n.Obj().Name() {
	case "time.Location":
		return pointer
	case "unique.Handle":
		return !pointer
	}
	return false
}

// holds reports whether values of a type refer to memory.
func holds(t types.Type) bool { return holdsIn(t, make(map[types.Type]bool)) }

func holdsIn(t types.Type, seen map[types.Type]bool) bool {
	if seen[t] || isWhole(t) {
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
