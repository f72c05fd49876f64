package reuse

import (
	"go/ast"
	"go/token"
	"go/types"

	"golang.org/x/tools/go/analysis"
)

// checker follows what is lent to a function for some time.
type checker struct {
	pass        *analysis.Pass
	body        *ast.BlockStmt
	what, until string
	lent        map[types.Object]bool // variables with the message, or with parts of it
	locals      map[types.Object]bool // what may hold parts of it, beside variables of the function
	reply       types.Object
}

// check finds the variables that hold parts of the message, and then what leaves.
func (c *checker) check() {
	for before := -1; before != len(c.lent); {
		before = len(c.lent)
		ast.Inspect(c.body, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.AssignStmt:
				for i, left := range n.Lhs {
					if len(n.Rhs) == len(n.Lhs) && c.lends(n.Rhs[i]) {
						c.spread(left)
					}
				}
			case *ast.ValueSpec:
				for i, name := range n.Names {
					if i < len(n.Values) && c.lends(n.Values[i]) {
						c.spread(name)
					}
				}
			case *ast.RangeStmt:
				if c.lends(n.X) {
					c.spread(n.Key)
					c.spread(n.Value)
				}
			}
			return true
		})
	}
	ast.Inspect(c.body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for i, left := range n.Lhs {
				if len(n.Rhs) == len(n.Lhs) && c.lends(n.Rhs[i]) {
					c.store(left, c.text(n.Rhs[i]))
				}
				c.keys(left)
			}
		case *ast.IncDecStmt:
			c.keys(n.X)
		case *ast.SendStmt:
			if c.lends(n.Value) {
				c.report(n.Value.Pos(), c.text(n.Value), "sent on a channel")
			}
		case *ast.CallExpr:
			c.removal(n)
		case *ast.GoStmt:
			c.goroutine(n.Call)
			return false
		}
		return true
	})
}

// spread notes that a variable of the function holds a part of the message.
func (c *checker) spread(left ast.Expr) {
	for {
		switch e := left.(type) {
		case *ast.Ident:
			if object := objectOf(c.pass.TypesInfo, e); object != nil && c.local(object) && object != c.reply && holds(object.Type()) {
				c.lent[object] = true
			}
			return
		case *ast.SelectorExpr: // a field of a struct that is a variable
			left = e.X
		case *ast.IndexExpr:
			left = e.X
		case *ast.ParenExpr:
			left = e.X
		default:
			return
		}
	}
}

// store reports a part of the message that is stored in what outlives it.
func (c *checker) store(left ast.Expr, text string) {
	root := left
	for {
		switch e := root.(type) {
		case *ast.SelectorExpr:
			if _, ok := c.pass.TypesInfo.Uses[e.Sel].(*types.Var); ok && c.pass.TypesInfo.Selections[e] == nil {
				c.report(left.Pos(), text, "stored in "+types.ExprString(left)) // a variable of another package
				return
			}
			root = e.X
			continue
		case *ast.IndexExpr:
			root = e.X
			continue
		case *ast.StarExpr:
			root = e.X
			continue
		case *ast.ParenExpr:
			root = e.X
			continue
		case *ast.Ident:
			if object, ok := objectOf(c.pass.TypesInfo, e).(*types.Var); ok && !c.local(object) && !c.lent[object] {
				c.report(left.Pos(), text, "stored in "+types.ExprString(left))
			}
		}
		return
	}
}

// keys reports parts of the message that become keys of a map that outlives it, where left is set.
func (c *checker) keys(left ast.Expr) {
	for {
		switch e := left.(type) {
		case *ast.SelectorExpr:
			left = e.X
		case *ast.StarExpr:
			left = e.X
		case *ast.ParenExpr:
			left = e.X
		case *ast.IndexExpr:
			if _, ok := c.pass.TypesInfo.TypeOf(e.X).Underlying().(*types.Map); ok && c.lends(e.Index) {
				c.store(e.X, c.text(e.Index))
			}
			left = e.X
		default:
			return
		}
	}
}

// report reports that text, a part of the message, is kept.
func (c *checker) report(at token.Pos, text, how string) {
	c.pass.Reportf(at, "%s is %s, but %s is valid until %s only: copy what is kept", text, how, c.what, c.until)
}

func (c *checker) text(e ast.Expr) string { return types.ExprString(e) }

// local reports whether a variable is one of the function.
func (c *checker) local(object types.Object) bool {
	return c.locals[object] || c.body.Pos() <= object.Pos() && object.Pos() < c.body.End()
}
