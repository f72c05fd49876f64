package reuse

import (
	"go/ast"
	"go/types"
)

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
	if f == nil {
		return false
	}
	later := f.FullName() == "context.AfterFunc" || f.FullName() == "time.AfterFunc"
	return (later || isGo(f) && !c.waits(call)) && c.given(call.Args)
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
			c.report(arg.Pos(), text(arg), "given to a goroutine")
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
				found = found || ok && isWait(c.pass.TypesInfo, wait, call)
				return true
			})
		case *ast.CallExpr:
			found = found || n.Pos() > call.End() && isWait(c.pass.TypesInfo, n, call) && !c.calls.between(call.Pos(), n.Pos())
		}
		return true
	})
	return found
}

// isWait reports whether a call is Wait of the group that another call is for.
func isWait(info *types.Info, wait, call *ast.CallExpr) bool {
	w, ok := ast.Unparen(wait.Fun).(*ast.SelectorExpr)
	if !ok || w.Sel.Name != "Wait" {
		return false
	}
	group := ast.Unparen(call.Fun).(*ast.SelectorExpr).X
	return sameVariable(info, group, w.X)
}
