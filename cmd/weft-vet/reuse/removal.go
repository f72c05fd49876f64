package reuse

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
)

// removal reports calls that remove elements of a list of the message and leave the last ones twice, where these have memory
// that is used again: append(list[:i], list[k:]...), and copy(list[i:], list[k:]) before the list is cut.
func (c *checker) removal(call *ast.CallExpr) {
	name := builtin(c.pass.TypesInfo, call)
	if len(call.Args) != 2 || name != "copy" && (name != "append" || !call.Ellipsis.IsValid()) {
		return
	}
	first, ok := ast.Unparen(call.Args[0]).(*ast.SliceExpr)
	if !ok {
		return
	}
	rest, ok := ast.Unparen(call.Args[1]).(*ast.SliceExpr)
	if !ok || text(first.X) != text(rest.X) {
		return
	}
	if name == "append" && !c.cleared(first.X, call) || name == "copy" && c.cut(first.X, call) {
		c.left(call.Pos(), name, first.X)
	}
}

// moved reports list[i] = list[k] before the list is cut: it leaves the element twice.
func (c *checker) moved(a *ast.AssignStmt) {
	if len(a.Lhs) != 1 || len(a.Rhs) != 1 { // else it may swap elements
		return
	}
	to, ok := ast.Unparen(a.Lhs[0]).(*ast.IndexExpr)
	if ok && elementOf(a.Rhs[0], to.X) && c.cut(to.X, a) {
		c.left(a.Pos(), "the assignment", to.X)
	}
}

// elementOf reports whether an expression is an element of a list.
func elementOf(e, list ast.Expr) bool {
	element, ok := ast.Unparen(e).(*ast.IndexExpr)
	return ok && text(element.X) == text(list)
}

// left reports a list of the message whose last elements stay behind its end.
func (c *checker) left(at token.Pos, by string, list ast.Expr) {
	s, ok := c.pass.TypesInfo.TypeOf(list).Underlying().(*types.Slice)
	if ok && c.keeps == nil && c.lends(list) && usedAgain(s.Elem(), make(map[types.Type]bool)) && !c.apart(list) {
		c.found(at, fmt.Sprintf("%s leaves the last elements of %s behind its end too, where the next message is decoded: use slices.Delete", by, text(list)))
	}
}

// cut reports whether a list is cut, as by list = list[:n], after elements of it have moved, and not cleared there.
func (c *checker) cut(list ast.Expr, moved ast.Node) (found bool) {
	ast.Inspect(c.body, func(n ast.Node) bool {
		if a, ok := n.(*ast.AssignStmt); ok && a.Pos() >= moved.End() {
			for _, right := range assignments(a) {
				s, ok := ast.Unparen(right).(*ast.SliceExpr)
				found = found || ok && s.High != nil && text(s.X) == text(list)
			}
		}
		return true
	})
	return found && !c.cleared(list, moved)
}

// cleared reports whether an element of a list is cleared, or set to another value, after elements of it have moved, by its name or
// by that of the list to which append is assigned.
func (c *checker) cleared(list ast.Expr, moved ast.Node) (found bool) {
	names := []string{text(list)}
	named := func(e ast.Expr) bool { return slices.Contains(names, text(whole(e))) }
	ast.Inspect(c.body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for left, right := range assignments(n) {
				element, ok := ast.Unparen(left).(*ast.IndexExpr)
				if ast.Unparen(right) == moved {
					names = append(names, text(left))
				}
				found = found || n.Pos() >= moved.End() && ok && named(element.X) && !elementOf(right, element.X)
			}
		case *ast.CallExpr:
			if n.Pos() >= moved.End() && builtin(c.pass.TypesInfo, n) == "clear" {
				_, part := ast.Unparen(n.Args[0]).(*ast.SliceExpr)
				found = found || part && named(n.Args[0])
			}
		}
		return true
	})
	return found
}

// whole returns the list of which an expression is a part, as list[:n][i:] is.
func whole(e ast.Expr) ast.Expr {
	for {
		s, ok := ast.Unparen(e).(*ast.SliceExpr)
		if !ok {
			return ast.Unparen(e)
		}
		e = s.X
	}
}

// usedAgain reports whether values of a type have pointers, lists or maps in them, whose memory is used for the next message.
func usedAgain(t types.Type, seen map[types.Type]bool) bool {
	if seen[t] || isWhole(t) {
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
