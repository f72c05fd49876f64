package reuse

import (
	"go/ast"
	"go/types"
)

// goroutine reports parts of the message that a goroutine gets.
func (c *checker) goroutine(call *ast.CallExpr) {
	for _, arg := range call.Args {
		if c.lends(arg) {
			c.report(arg.Pos(), c.text(arg), "given to a goroutine")
		}
	}
	literal, ok := ast.Unparen(call.Fun).(*ast.FuncLit)
	if !ok {
		if c.lends(call.Fun) { // a method of the message, or a function literal that uses it
			c.report(call.Fun.Pos(), c.text(call.Fun), "given to a goroutine")
		}
		return
	}
	for _, id := range c.uses(literal) {
		c.report(id.Pos(), id.Name, "used by a goroutine")
	}
}

// uses returns where a function literal first uses each variable with a part of the message.
func (c *checker) uses(literal *ast.FuncLit) (first []*ast.Ident) {
	seen := make(map[types.Object]bool)
	ast.Inspect(literal.Body, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			if object := c.pass.TypesInfo.Uses[id]; object != nil && c.has(id) && !seen[object] {
				seen[object] = true
				first = append(first, id)
			}
		}
		return true
	})
	return first
}
