package reuse

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
)

// checker reports where the message, or a part of it, is kept.
type checker struct {
	carriers
	what, until string
	calls       *calls   // that make the message; nil: it is that of a handler
	keeps       *keeping // notes what a function that is called with the message does; nil: findings are reported
}

// storing is how something is stored in what an expression names.
type storing int

const (
	replaces storing = iota // what was there
	appends                 // to a list, which is assigned again
	puts                    // into it, as into a map
)

// check finds the variables that hold parts of the message, and then what leaves.
func (c *checker) check() {
	c.copies = assignmentsOf(c.pass.TypesInfo, c.body)
	for before := -1; before != c.spreads(); {
		before = c.spreads()
		ast.Inspect(c.body, func(n ast.Node) bool {
			c.follow(n)
			return true
		})
	}
	ast.Inspect(c.body, c.leaves)
}

// leaves reports what a statement does with parts of the message, and whether to look into it.
func (c *checker) leaves(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.AssignStmt:
		for left, right := range assignments(n) {
			if c.lends(right) {
				c.store(left, text(right), "", c.storing(left, right))
			}
		}
		for _, left := range n.Lhs {
			c.keys(left)
		}
		c.moved(n)
	case *ast.IncDecStmt:
		c.keys(n.X)
	case *ast.SendStmt:
		if c.lends(n.Value) {
			c.sent(n)
		}
	case *ast.CallExpr:
		by := ""
		if c.functions[callee(c.pass.TypesInfo, n.Fun)] != nil {
			by = " by " + text(n.Fun)
		}
		for into, arg := range c.kept(n) {
			if into == nil {
				c.report(arg.Pos(), text(arg), "kept"+by)
			}
			c.store(into, text(arg), by, puts)
		}
		c.removal(n)
		c.around(n)
		return !c.started(n)
	case *ast.GoStmt:
		return !c.goroutine(n.Call)
	}
	return true
}

// store reports a part of the message that is stored in what outlives it. If a function that is called stores it, by names that.
func (c *checker) store(left ast.Expr, part, by string, how storing) {
	for root := left; root != nil; root = outer(root) {
		var object types.Object
		switch e := root.(type) {
		case *ast.SelectorExpr:
			if c.pass.TypesInfo.Selections[e] == nil { // a variable of another package
				object = c.pass.TypesInfo.Uses[e.Sel]
			}
		case *ast.Ident:
			object = objectOf(c.pass.TypesInfo, e)
		}
		v, ok := object.(*types.Var)
		if !ok || !holds(c.pass.TypesInfo.TypeOf(left)) {
			continue
		}
		c.storedIn(v, left, how)
		if !c.local(v) && c.lent[v] == nil || how != replaces && c.calls.collectedIn(v, left.Pos()) {
			c.report(left.Pos(), part, "stored in "+text(left)+by)
		}
	}
}

// outer returns the expression in whose value that of another one lies, or that points to it; nil: there is none.
func outer(e ast.Expr) ast.Expr {
	switch e := e.(type) {
	case *ast.SelectorExpr:
		return e.X
	case *ast.IndexExpr:
		return e.X
	case *ast.SliceExpr:
		return e.X
	case *ast.StarExpr:
		return e.X
	case *ast.ParenExpr:
		return e.X
	case *ast.UnaryExpr:
		if e.Op == token.AND {
			return e.X
		}
	}
	return nil
}

// keys reports parts of the message that become keys of a map that outlives it, where left is set.
func (c *checker) keys(left ast.Expr) {
	for ; left != nil; left = outer(left) {
		if e, ok := left.(*ast.IndexExpr); ok {
			if _, ok := c.pass.TypesInfo.TypeOf(e.X).Underlying().(*types.Map); ok && c.lends(e.Index) {
				c.store(e.X, text(e.Index), "", puts)
			}
		}
	}
}

// report reports that a part of the message is kept.
func (c *checker) report(at token.Pos, part, how string) {
	if c.keeps != nil {
		c.keeps.outside = true
		return
	}
	c.found(at, fmt.Sprintf("%s is %s, but %s is valid until %s only: copy what is kept", part, how, c.what, c.until))
}

func text(e ast.Expr) string { return types.ExprString(e) }
