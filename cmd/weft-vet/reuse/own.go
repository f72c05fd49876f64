package reuse

import (
	"go/ast"
	"go/types"
	"slices"
)

// apart reports whether a list is a variable that has memory of its own, into which no message is decoded, such as slices.Clone of one.
func (c *checker) apart(list ast.Expr) bool {
	v, ok := root(c.pass.TypesInfo, list).(*types.Var)
	if _, id := ast.Unparen(list).(*ast.Ident); !ok || !id || !c.own(list, make(map[*types.Var]bool)) {
		return false
	}
	back := false // to the message
	ast.Inspect(c.body, func(n ast.Node) bool {
		for left, right := range assignments(n) {
			back = back || c.within(left) && !mentions(c.pass.TypesInfo, left, v) && mentions(c.pass.TypesInfo, right, v)
		}
		return true
	})
	return !back
}

// own reports whether a list is made by the function, with memory that is not that of another list.
func (c *checker) own(list ast.Expr, seen map[*types.Var]bool) bool {
	switch e := whole(list).(type) {
	case *ast.CompositeLit:
		return true
	case *ast.Ident:
		object := objectOf(c.pass.TypesInfo, e)
		v, ok := object.(*types.Var)
		if !ok || v.Kind() != types.LocalVar {
			return object == types.Universe.Lookup("nil")
		}
		if seen[v] {
			return true
		}
		seen[v] = true
		return !slices.ContainsFunc(c.values[v], func(value ast.Expr) bool { return !c.own(value, seen) })
	case *ast.CallExpr:
		return c.makes(e, seen)
	}
	return false
}

// makes reports whether a call returns a list with memory of its own.
func (c *checker) makes(call *ast.CallExpr, seen map[*types.Var]bool) bool {
	switch name := builtin(c.pass.TypesInfo, call); {
	case name == "make":
		return true
	case name == "append", c.pass.TypesInfo.Types[call.Fun].IsType():
		return c.own(call.Args[0], seen)
	}
	f := callee(c.pass.TypesInfo, call.Fun)
	if f == nil || f.Pkg() == nil || f.Pkg().Path() != "slices" || len(call.Args) == 0 {
		return false
	}
	if slices.Contains(sharing["slices"], f.Name()) {
		return c.own(call.Args[0], seen)
	}
	return sharingElements[f.FullName()] != nil
}

// mentions reports whether an expression names a variable.
func mentions(info *types.Info, e ast.Expr, v *types.Var) (found bool) {
	ast.Inspect(e, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		found = found || ok && info.Uses[id] == v
		return true
	})
	return found
}
