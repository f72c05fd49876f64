package reuse

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"golang.org/x/tools/go/analysis"
)

// checker follows what is lent to a function for some time.
type checker struct {
	*source
	body        *ast.BlockStmt
	what, until string
	foreign     bool                         // what the message refers to is not of weft: it may be kept, the message itself not
	lent        map[types.Object][]token.Pos // variables with the message, or with parts of it, and where they got it
	locals      map[types.Object]bool        // what may hold parts of it, beside variables of the function
	reply       types.Object                 // of a handler
	calls       *calls                       // that make the message; nil: it is that of a handler
	copies      map[types.Object][]assignment

	// Of a function that is called with a message:
	params map[types.Object]int
	keeps  *keeping // what it does with one of them; nil: it is no such function, and findings are reported
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

// spreads counts where variables got parts of the message.
func (c *checker) spreads() (n int) {
	for _, at := range c.lent {
		n += len(at)
	}
	return n
}

// follow notes the variables that get parts of the message by a statement.
func (c *checker) follow(n ast.Node) {
	switch n := n.(type) {
	case *ast.AssignStmt, *ast.ValueSpec:
		for left, right := range assignments(n) {
			if c.lends(right) {
				c.spread(left)
			}
		}
	case *ast.RangeStmt:
		if !c.foreign && c.lends(n.X) {
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

// leaves reports what a statement does with parts of the message, and whether to look into it.
func (c *checker) leaves(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.AssignStmt:
		for left, right := range assignments(n) {
			if c.lends(right) {
				c.store(left, c.text(right), c.storing(left, right))
			}
		}
		for _, left := range n.Lhs {
			c.keys(left)
		}
		c.moved(n)
	case *ast.IncDecStmt:
		c.keys(n.X)
	case *ast.SendStmt:
		if c.lends(n.Value) && c.keeps != nil {
			c.store(n.Chan, c.text(n.Value), puts)
		} else if c.lends(n.Value) {
			c.report(n.Value.Pos(), c.text(n.Value), "sent on a channel")
		}
	case *ast.CallExpr:
		for into, arg := range c.kept(n) {
			if into == nil {
				c.report(arg.Pos(), c.text(arg), "kept by "+c.text(n.Fun))
			}
			c.store(into, c.text(arg), puts)
		}
		c.removal(n)
		return !c.started(n)
	case *ast.GoStmt:
		return !c.goroutine(n.Call)
	}
	return true
}

// spread notes that a variable of the function holds a part of the message, in a field of it for example.
func (c *checker) spread(left ast.Expr) {
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
func (c *checker) lend(object types.Object, at token.Pos) {
	if object != nil && c.local(object) && object != c.reply && holds(object.Type()) && !slices.Contains(c.lent[object], at) {
		c.lent[object] = append(c.lent[object], at)
	}
}

// store reports a part of the message that is stored in what outlives it.
func (c *checker) store(left ast.Expr, text string, how storing) {
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
			c.report(left.Pos(), text, "stored in "+c.text(left))
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
				c.store(e.X, c.text(e.Index), puts)
			}
		}
	}
}

// report reports that text, a part of the message, is kept.
func (c *checker) report(at token.Pos, text, how string) {
	if c.keeps != nil {
		c.keeps.outside = true
		return
	}
	message := fmt.Sprintf("%s is %s, but %s is valid until %s only: copy what is kept", text, how, c.what, c.until)
	if key := fmt.Sprint(at, message); !c.reported[key] { // a variable may have the replies of several calls
		c.reported[key] = true
		c.pass.Report(analysis.Diagnostic{Pos: at, Message: message})
	}
}

func (c *checker) text(e ast.Expr) string { return types.ExprString(e) }

// local reports whether a variable is one of the function.
func (c *checker) local(object types.Object) bool {
	return c.locals[object] || c.body.Pos() <= object.Pos() && object.Pos() < c.body.End()
}
