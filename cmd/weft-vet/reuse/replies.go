package reuse

import (
	"go/ast"
	"go/token"
	"go/types"

	"golang.org/x/tools/go/analysis"
)

// replies looks at a function that calls Invoke of a Reuse.
func replies(pass *analysis.Pass, body *ast.BlockStmt) {
	c := &checker{pass: pass, body: body, what: "the reply", until: "the next call", lent: make(map[types.Object][]token.Pos)}
	ast.Inspect(body, func(n ast.Node) bool {
		a, ok := n.(*ast.AssignStmt)
		if !ok || len(a.Rhs) != 1 || len(a.Lhs) == 0 {
			return true
		}
		if call, ok := ast.Unparen(a.Rhs[0]).(*ast.CallExpr); ok && isInvoke(pass.TypesInfo, call) {
			c.store(a.Lhs[0], "the reply")
			if id, ok := a.Lhs[0].(*ast.Ident); ok {
				if object := objectOf(pass.TypesInfo, id); object != nil {
					c.lent[object] = append(c.lent[object], id.Pos())
				}
			}
		}
		return true
	})
	if len(c.lent) > 0 {
		c.check()
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
