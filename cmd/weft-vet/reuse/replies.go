package reuse

import (
	"go/ast"
	"go/token"
	"go/types"
)

// replies looks at the replies that a function gets by Invoke of a Reuse.
func (s *source) replies(body *ast.BlockStmt) {
	ast.PreorderStack(body, nil, func(n ast.Node, stack []ast.Node) bool {
		for left, right := range assignments(n) {
			if call, ok := ast.Unparen(right).(*ast.CallExpr); ok && isInvoke(s.pass.TypesInfo, call) {
				s.reply(body, left, call, stack)
				break // the error is the second result
			}
		}
		return true
	})
}

// reply looks at one that is assigned.
func (s *source) reply(body *ast.BlockStmt, left ast.Expr, call *ast.CallExpr, stack []ast.Node) {
	c := &checker{carriers: carriers{source: s, body: body}, what: "the reply", until: "the next call", calls: s.callsOf(body, call, stack)}
	c.store(left, "the reply", "", c.storing(left, call))
	if id, ok := left.(*ast.Ident); ok {
		if object := objectOf(s.pass.TypesInfo, id); object != nil {
			c.calls.reply = object
			c.lent = map[types.Object][]token.Pos{object: {id.Pos()}}
			c.check()
		}
	}
}

// isInvoke reports whether a call is Invoke of a weft.Reuse.
func isInvoke(info *types.Info, call *ast.CallExpr) bool {
	f := callee(info, call.Fun)
	if f == nil || f.Name() != "Invoke" || f.Signature().Recv() == nil {
		return false
	}
	t := f.Signature().Recv().Type()
	if p, ok := t.(*types.Pointer); ok {
		t = p.Elem()
	}
	n, ok := t.(*types.Named)
	return ok && n.Obj().Name() == "Reuse" && n.Obj().Pkg().Path() == weftPath
}
