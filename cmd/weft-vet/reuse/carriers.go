package reuse

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
)

// carriers are the variables of a function that have a message, which is lent to the function for some time, or parts of it.
type carriers struct {
	*source
	body    *ast.BlockStmt
	foreign bool                         // what the message refers to is not of weft: it may be kept, the message itself not
	lent    map[types.Object][]token.Pos // the variables, and where they got it
	locals  map[types.Object]bool        // parameters and results of the function, which may be carriers as its variables are
	params  map[types.Object]int         // those of them in whose memory others may be stored for the caller; see helpers.go
	reply   types.Object                 // of a handler: it may have parts of the request
	copies  map[types.Object][]assignment
}

// spreads counts where variables got parts of the message.
func (c *carriers) spreads() (n int) {
	for _, at := range c.lent {
		n += len(at)
	}
	return n
}

// follow notes the variables that get parts of the message by a statement.
func (c *carriers) follow(n ast.Node) {
	switch n := n.(type) {
	case *ast.AssignStmt, *ast.ValueSpec:
		for left, right := range assignments(n) {
			if c.lends(right) {
				c.spread(left)
			}
		}
	case *ast.SendStmt:
		if c.lends(n.Value) && c.madeHere(n.Chan) != nil {
			c.spread(n.Chan)
		}
	case *ast.RangeStmt:
		if (!c.foreign || c.madeHere(n.X) != nil) && c.lends(n.X) {
			c.spread(n.Key)
			c.spread(n.Value)
		}
	case *ast.TypeSwitchStmt:
		if a, ok := n.Assign.(*ast.AssignStmt); ok && c.lends(a.Rhs[0].(*ast.TypeAssertExpr).X) {
			for _, clause := range n.Body.List {
				c.lend(c.pass.TypesInfo.Implicits[clause], a.Pos())
			}
		}
	case *ast.CallExpr:
		for into := range c.kept(n) {
			c.spread(into)
		}
		c.passed(n)
	}
}

// spread notes that a variable of the function holds a part of the message, in a field of it for example.
func (c *carriers) spread(left ast.Expr) {
	for e := left; e != nil; e = outer(e) {
		switch e := e.(type) {
		case *ast.Ident:
			object := objectOf(c.pass.TypesInfo, e)
			if _, param := c.params[object]; !param || left == ast.Expr(e) {
				c.lend(object, left.Pos())
			}
		case *ast.StarExpr:
			return
		}
	}
}

// lend notes where an object, if it is a variable of the function, gets a part of the message.
func (c *carriers) lend(object types.Object, at token.Pos) {
	if object != nil && c.local(object) && object != c.reply && holds(object.Type()) && !slices.Contains(c.lent[object], at) {
		c.lent[object] = append(c.lent[object], at)
	}
}

// local reports whether a variable is one of the function.
func (c *carriers) local(object types.Object) bool {
	return c.locals[object] || c.body.Pos() <= object.Pos() && object.Pos() < c.body.End()
}

// has reports whether a variable has a part of the message where an identifier names it: it has got one, and was not assigned
// something else since, such as a copy, on every way to there.
func (c *carriers) has(id *ast.Ident) bool {
	object := objectOf(c.pass.TypesInfo, id)
	if object == nil || c.lent[object] == nil {
		return false
	}
	for _, a := range c.copies[object] {
		after := a.statement.End() <= id.Pos() && a.block.Pos() <= id.Pos() && id.Pos() < a.block.End()
		if after && c.lentBefore(object, a.statement.Pos()) {
			return false
		}
	}
	return true
}

// lentBefore reports whether a variable got all parts of the message before a position.
func (c *carriers) lentBefore(object types.Object, at token.Pos) bool {
	for _, lent := range c.lent[object] {
		if lent >= at {
			return false
		}
	}
	return true
}

// uses returns where a function literal first uses each variable that has a part of the message outside of it.
func (c *carriers) uses(literal *ast.FuncLit) (first []*ast.Ident) {
	seen := make(map[types.Object]bool)
	ast.Inspect(literal.Body, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok && builtin(c.pass.TypesInfo, call) == "close" {
			return false // what was sent on the channel is not looked at
		}
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
