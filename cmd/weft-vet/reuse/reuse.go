// Package reuse is an analyzer that finds messages which are kept longer than they are
// valid: requests of weft.HandleReuse, and replies of weft.Reuse.
//
// It finds the handlers first: functions, methods and function literals that are given to weft.HandleReuse, also by variables and
// fields, by functions that return them, and by functions that hand a parameter, or methods of one, to weft.HandleReuse, as those that
// "weft generate" writes do.
//
// It follows a message, and what is taken out of it, through the variables of a function, and reports where it is stored in a
// variable outside of the function, also as the key of a map or in a function literal, sent on a channel that the function has not made, or given to a goroutine.
// A function of the same package that is called with it is looked at too, as to what it stores; tables tell which functions of the
// standard library store an argument, and which return a part of it. Any other function is taken not to keep it, and what it returns,
// such as strings.Clone, is taken to be a copy. A reply of weft.Reuse is also reported where a loop collects it over several calls.
//
// It also reports an element of a list that is removed with append or copy, where the list then has two parts in one memory.
//
// What it does not see is in docs/guide/codecs.md.
package reuse

import (
	"go/ast"
	"go/types"

	"golang.org/x/tools/go/analysis"
)

const weftPath = "github.com/weftrpc/weft"

// New returns the analyzer, which is named "weftreuse".
func New() *analysis.Analyzer {
	return &analysis.Analyzer{
		Name:      "weftreuse",
		Doc:       "find messages of weft.HandleReuse and weft.Reuse that are kept longer than they are valid",
		Run:       run,
		FactTypes: []analysis.Fact{new(registers)},
	}
}

func run(pass *analysis.Pass) (any, error) {
	s := newSource(pass)
	for _, f := range pass.Files {
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				for _, handler := range s.handlers(n) {
					s.handles(handler)
				}
			case *ast.FuncDecl:
				if n.Body != nil {
					s.replies(n)
				}
			}
			return true
		})
	}
	return nil, nil
}

// isWeft reports whether an expression is a function of package weft with that name.
func isWeft(info *types.Info, e ast.Expr, name string) bool {
	f := callee(info, e)
	return f != nil && f.Name() == name && f.Pkg() != nil && f.Pkg().Path() == weftPath && f.Signature().Recv() == nil
}

// callee returns the function that an expression names, or nil. A method of an instantiated type is the one that is declared.
func callee(info *types.Info, e ast.Expr) *types.Func {
	switch e := ast.Unparen(e).(type) {
	case *ast.IndexExpr:
		return callee(info, e.X)
	case *ast.IndexListExpr:
		return callee(info, e.X)
	case *ast.Ident:
		return originOf(info.Uses[e])
	case *ast.SelectorExpr:
		return originOf(info.Uses[e.Sel])
	}
	return nil
}

// originOf returns the declared function that an object is, or is an instance of; nil: it is none.
func originOf(object types.Object) *types.Func {
	if f, ok := object.(*types.Func); ok {
		return f.Origin()
	}
	return nil
}

func objectOf(info *types.Info, id *ast.Ident) types.Object {
	if object := info.Defs[id]; object != nil {
		return object
	}
	return info.Uses[id]
}
