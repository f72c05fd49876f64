package reuse

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
)

// calls are those by one Reuse, of which each ends the time of the reply before.
type calls struct {
	reply types.Object // the variable to which it is assigned
	loop  ast.Node     // the one that makes the call again with the same Reuse; nil: there is none
	made  token.Pos    // the call
	at    []token.Pos  // all calls by this Reuse in the function
	own   bool         // the Reuse is a variable of the function that makes the call
}

// callsOf finds the calls by the Reuse of one that stands in some statements, the innermost last.
func (s *source) callsOf(body *ast.BlockStmt, call *ast.CallExpr, stack []ast.Node) *calls {
	found := &calls{made: call.Pos()}
	method, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr)
	if !ok {
		return found
	}
	u := root(s.pass.TypesInfo, method.X)
	if u == nil { // an element of a list, for example: it may be another one for each call
		return found
	}
	found.own = isOwn(s.pass.TypesInfo, method.X)
	ast.Inspect(body, func(n ast.Node) bool {
		if address, ok := n.(*ast.UnaryExpr); ok && address.Op == token.AND && sameVariable(s.pass.TypesInfo, address.X, method.X) {
			found.own = false // what has the address may make calls
		}
		if other, ok := n.(*ast.CallExpr); ok && isInvoke(s.pass.TypesInfo, other) {
			if m, ok := ast.Unparen(other.Fun).(*ast.SelectorExpr); ok && sameVariable(s.pass.TypesInfo, m.X, method.X) {
				found.at = append(found.at, other.Pos())
			}
		}
		return true
	})
	for i := len(stack) - 1; i >= 0; i-- {
		switch n := stack[i].(type) {
		case *ast.FuncLit:
			found.own = found.own && encloses(n, u.Pos())
			return found
		case *ast.ForStmt, *ast.RangeStmt:
			if !encloses(n, u.Pos()) {
				found.loop = n
			}
			return found
		}
	}
	return found
}

// collectedIn reports whether a variable outlives the next call, where a part of the reply is added to what it holds.
func (c *calls) collectedIn(v *types.Var, at token.Pos) bool {
	return c != nil && c.loop != nil && v != c.reply && encloses(c.loop, at) && !encloses(c.loop, v.Pos()) && !ends(c.loop, at)
}

// between reports whether a call may be made between two positions.
func (c *calls) between(from, to token.Pos) bool {
	if c == nil {
		return false
	}
	for _, at := range c.at {
		if max(from, c.made) < at && at < to {
			return true
		}
	}
	return c.loop != nil && encloses(c.loop, from) && !encloses(c.loop, to)
}

// again reports whether a next call may be made before the function returns.
func (c *calls) again() bool {
	return c != nil && (c.loop != nil || slices.ContainsFunc(c.at, func(at token.Pos) bool { return c.made < at }))
}

// isOwn reports whether a Reuse is a variable of a function, not what one points to.
func isOwn(info *types.Info, reuse ast.Expr) bool {
	id, ok := ast.Unparen(reuse).(*ast.Ident)
	if !ok {
		return false
	}
	v, ok := objectOf(info, id).(*types.Var)
	_, pointer := info.TypeOf(reuse).Underlying().(*types.Pointer)
	return ok && v.Kind() == types.LocalVar && !pointer
}

// ends reports whether a loop ends after a statement at a position, with those that stand behind it.
func ends(loop ast.Node, at token.Pos) (found bool) {
	ast.Inspect(loop, func(n ast.Node) bool {
		if n == nil || !encloses(n, at) {
			return false
		}
		switch n := n.(type) {
		case *ast.BlockStmt:
			found = found || len(n.List) > 0 && leavesLoop(n.List[len(n.List)-1], true)
		case *ast.CaseClause:
			found = found || len(n.Body) > 0 && leavesLoop(n.Body[len(n.Body)-1], false)
		case *ast.CommClause:
			found = found || len(n.Body) > 0 && leavesLoop(n.Body[len(n.Body)-1], false)
		}
		return true
	})
	return found
}

// leavesLoop reports whether a statement leaves a loop. A break without a label may leave a switch instead.
func leavesLoop(s ast.Stmt, breaks bool) bool {
	switch s := s.(type) {
	case *ast.ReturnStmt:
		return true
	case *ast.BranchStmt:
		return s.Tok == token.GOTO || s.Tok == token.BREAK && (breaks || s.Label != nil)
	}
	return false
}

func encloses(n ast.Node, at token.Pos) bool { return n.Pos() <= at && at < n.End() }
