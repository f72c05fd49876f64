package reuse

import (
	"go/ast"
	"go/token"
	"go/types"
)

// replies looks at the replies that a function gets by Invoke of a Reuse.
func (s *source) replies(fn *ast.FuncDecl) {
	ast.PreorderStack(fn.Body, nil, func(n ast.Node, stack []ast.Node) bool {
		for left, right := range assignments(n) {
			if call, ok := ast.Unparen(right).(*ast.CallExpr); ok && isInvoke(s.pass.TypesInfo, call) {
				s.reply(fn, left, call, stack)
				break // the error is the second result
			}
		}
		return true
	})
}

// reply looks at one that is assigned.
func (s *source) reply(fn *ast.FuncDecl, left ast.Expr, call *ast.CallExpr, stack []ast.Node) {
	c := &checker{carriers: carriers{source: s, body: fn.Body}, what: "the reply", until: "the next call", calls: s.callsOf(fn.Body, call, stack)}
	if answer := s.answer(fn); answer != nil && c.calls.own && !c.calls.again() { // it is encoded before another function makes a call
		c.locals, c.carriers.reply = map[types.Object]bool{answer: true}, answer
	}
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

// answer returns the parameter for the reply of a function that can be a handler; nil: it can be none.
func (s *source) answer(fn *ast.FuncDecl) types.Object {
	params := parameters(s.pass.TypesInfo, fn.Type)
	if len(params) != 3 || params[0] == nil || params[2] == nil || params[0].Type().String() != "context.Context" {
		return nil
	}
	if _, pointer := params[2].Type().(*types.Pointer); !pointer {
		return nil
	}
	return params[2]
}
