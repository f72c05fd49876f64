package reuse

import (
	"go/ast"
	"go/token"
	"go/types"
	"iter"
	"slices"
)

// assignments returns what a statement or a declaration assigns, and to what. An expression with several results, such as a call
// or v, ok := m[k], stands for each of them.
func assignments(n ast.Node) iter.Seq2[ast.Expr, ast.Expr] {
	return func(yield func(left, right ast.Expr) bool) {
		var lefts, rights []ast.Expr
		switch n := n.(type) {
		case *ast.AssignStmt:
			lefts, rights = n.Lhs, n.Rhs
		case *ast.ValueSpec:
			for _, name := range n.Names {
				lefts = append(lefts, name)
			}
			rights = n.Values
		}
		for i, left := range lefts {
			if len(rights) > 0 && !yield(left, rights[min(i, len(rights)-1)]) {
				return
			}
		}
	}
}

// assignment is one to a variable.
type assignment struct {
	statement *ast.AssignStmt
	block     ast.Node // with the statement in its list: if it runs, so does the statement
}

// assignmentsOf finds the assignments to each variable of a function.
func assignmentsOf(info *types.Info, body *ast.BlockStmt) map[types.Object][]assignment {
	found := make(map[types.Object][]assignment)
	add := func(block ast.Node, list []ast.Stmt) {
		for _, statement := range list {
			a, ok := statement.(*ast.AssignStmt)
			if !ok || a.Tok != token.ASSIGN && a.Tok != token.DEFINE {
				continue
			}
			for _, left := range a.Lhs {
				if id, ok := left.(*ast.Ident); ok && info.Uses[id] != nil {
					found[info.Uses[id]] = append(found[info.Uses[id]], assignment{a, block})
				}
			}
		}
	}
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BlockStmt:
			add(n, n.List)
		case *ast.CaseClause:
			add(n, n.Body)
		case *ast.CommClause:
			add(n, n.Body)
		}
		return true
	})
	return found
}

// storing tells how an assignment stores parts of the message.
func (c *checker) storing(left, right ast.Expr) storing {
	for e := left; e != nil; e = outer(e) {
		if _, ok := e.(*ast.IndexExpr); ok {
			return puts
		}
	}
	call, ok := ast.Unparen(right).(*ast.CallExpr)
	if ok && len(call.Args) > 1 && text(call.Args[0]) == text(left) && slices.ContainsFunc(call.Args[1:], c.lends) {
		return appends
	}
	return replaces
}

// root returns the variable in which an expression of fields and variables begins, or nil.
func root(info *types.Info, e ast.Expr) types.Object {
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		return objectOf(info, e)
	case *ast.SelectorExpr:
		return root(info, e.X)
	case *ast.StarExpr:
		return root(info, e.X)
	}
	return nil
}

// sameVariable reports whether two expressions name one variable, or one field of it.
func sameVariable(info *types.Info, a, b ast.Expr) bool {
	object := root(info, a)
	return object != nil && object == root(info, b) && types.ExprString(a) == types.ExprString(b)
}
