package reuse

import (
	"go/ast"
	"go/types"
)

// sent reports a part of the message that is sent on a channel, unless the channel is a variable that is followed: then a goroutine
// that uses it, for which the function does not wait, is reported instead.
func (c *checker) sent(n *ast.SendStmt) {
	if c.keeps != nil {
		c.store(n.Chan, text(n.Value), "", puts)
		return
	}
	if v := c.madeHere(n.Chan); v == nil || c.calls.collectedIn(v, n.Pos()) {
		c.report(n.Value.Pos(), text(n.Value), "sent on a channel")
	}
}

// madeHere returns the variable of a channel that the function makes and gives to no other function, but in a goroutine of a group; nil: the
// channel is another.
func (c *carriers) madeHere(channel ast.Expr) *types.Var {
	id, ok := ast.Unparen(channel).(*ast.Ident)
	if !ok {
		return nil
	}
	v, ok := objectOf(c.pass.TypesInfo, id).(*types.Var)
	if !ok || v.Kind() != types.LocalVar || !encloses(c.body, v.Pos()) || len(c.values[v]) == 0 {
		return nil
	}
	for _, value := range c.values[v] {
		if call, ok := ast.Unparen(value).(*ast.CallExpr); !ok || builtin(c.pass.TypesInfo, call) != "make" {
			return nil
		}
	}
	if _, ok := v.Type().Underlying().(*types.Chan); !ok || c.givesAway(v) {
		return nil
	}
	return v
}

// givesAway reports whether the function calls another one with a variable.
func (c *carriers) givesAway(v *types.Var) (found bool) {
	ast.Inspect(c.body, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || builtin(c.pass.TypesInfo, call) != "" {
			return true
		}
		if f := callee(c.pass.TypesInfo, call.Fun); f != nil && isGo(f) {
			return false // the group may be waited for
		}
		for _, arg := range call.Args {
			id, ok := ast.Unparen(arg).(*ast.Ident)
			found = found || ok && c.pass.TypesInfo.Uses[id] == v
		}
		return true
	})
	return found
}
