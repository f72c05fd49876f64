package reuse

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
)

// afterFuncs are functions that call a function of their arguments later.
var afterFuncs = map[string]bool{"context.AfterFunc": true, "time.AfterFunc": true}

// goroutine reports parts of the message that a goroutine gets, and whether there are some.
func (c *checker) goroutine(call *ast.CallExpr) bool {
	reported := c.given(call.Args)
	if _, literal := ast.Unparen(call.Fun).(*ast.FuncLit); literal || c.lends(call.Fun) { // a method of the message, or a function literal that uses it
		reported = c.given([]ast.Expr{call.Fun}) || reported
	}
	return reported
}

// started reports parts of the message that a goroutine gets by a function that starts it, and whether there are some.
func (c *checker) started(call *ast.CallExpr) bool {
	f := callee(c.pass.TypesInfo, call.Fun)
	if f == nil || !afterFuncs[f.FullName()] && (!isGo(f) || c.waits(call)) {
		return false
	}
	return c.given(call.Args)
}

// isGo reports whether a function is a method that calls a function in a goroutine, as Go of sync.WaitGroup and errgroup.Group do.
func isGo(f *types.Func) bool {
	if f.Signature().Recv() == nil || f.Name() != "Go" && f.Name() != "TryGo" {
		return false
	}
	for param := range f.Signature().Params().Variables() {
		if _, ok := param.Type().Underlying().(*types.Signature); ok {
			return true
		}
	}
	return false
}

// given reports parts of the message among what a goroutine gets.
func (c *checker) given(args []ast.Expr) (reported bool) {
	if c.keeps != nil {
		return false
	}
	for _, arg := range args {
		if literal, ok := ast.Unparen(arg).(*ast.FuncLit); ok {
			for _, id := range c.uses(literal) {
				c.report(id.Pos(), id.Name, "used by a goroutine")
				reported = true
			}
		} else if c.lends(arg) {
			c.report(arg.Pos(), c.text(arg), "given to a goroutine")
			reported = true
		}
	}
	return reported
}

// waits reports whether the function waits for a group, of which a method is called, after the call or when it returns.
func (c *checker) waits(call *ast.CallExpr) (found bool) {
	ast.Inspect(c.body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit: // another one that waits may run at any time
			return n.Pos() <= call.Pos() && call.Pos() < n.End()
		case *ast.DeferStmt:
			if c.calls.again() {
				return false
			}
			ast.Inspect(n, func(n ast.Node) bool {
				wait, ok := n.(*ast.CallExpr)
				found = found || ok && c.isWait(wait, call)
				return true
			})
		case *ast.CallExpr:
			found = found || n.Pos() > call.End() && c.isWait(n, call) && !c.calls.between(call.Pos(), n.Pos())
		}
		return true
	})
	return found
}

// isWait reports whether a call is Wait of the group that another call is for.
func (c *checker) isWait(wait, call *ast.CallExpr) bool {
	w, ok := ast.Unparen(wait.Fun).(*ast.SelectorExpr)
	if !ok || w.Sel.Name != "Wait" {
		return false
	}
	group := ast.Unparen(call.Fun).(*ast.SelectorExpr).X
	return sameVariable(c.pass.TypesInfo, group, w.X)
}

// uses returns where a function literal first uses each variable that has a part of the message outside of it.
func (c *checker) uses(literal *ast.FuncLit) (first []*ast.Ident) {
	seen := make(map[types.Object]bool)
	ast.Inspect(literal.Body, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		if !ok {
			return true
		}
		object := c.pass.TypesInfo.Uses[id]
		outside := func(at token.Pos) bool { return !encloses(literal, at) }
		if object != nil && !seen[object] && slices.ContainsFunc(c.lent[object], outside) && c.has(id) {
			seen[object] = true
			first = append(first, id)
		}
		return true
	})
	return first
}
