package reuse

import (
	"go/ast"
	"go/types"

	"golang.org/x/tools/go/analysis"
)

// registers is what is known of a function that gives methods of its parameters, which are interfaces, to HandleReuse.
type registers struct {
	Methods map[int][]string // by the index of the parameter
}

// AFact makes the type a fact.
func (*registers) AFact() {}

// registersOf finds the calls of HandleReuse in a function with methods of its parameters.
func registersOf(info *types.Info, fn *ast.FuncDecl) *registers {
	params := make(map[types.Object]int)
	for _, field := range fn.Type.Params.List {
		for _, name := range field.Names {
			params[info.Defs[name]] = len(params)
		}
	}
	found := &registers{Methods: make(map[int][]string)}
	ast.Inspect(fn.Body, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || len(call.Args) < 3 || !isWeft(info, call.Fun, "HandleReuse") {
			return true
		}
		method, ok := ast.Unparen(call.Args[2]).(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if id, ok := ast.Unparen(method.X).(*ast.Ident); ok {
			if i, ok := params[info.Uses[id]]; ok && types.IsInterface(info.Uses[id].Type()) {
				found.Methods[i] = append(found.Methods[i], method.Sel.Name)
			}
		}
		return true
	})
	return found
}

// registered returns the methods of the arguments of a call that become handlers by it.
func registered(pass *analysis.Pass, call *ast.CallExpr) (methods []types.Object) {
	var r registers
	if f := callee(pass.TypesInfo, call.Fun); f == nil || !pass.ImportObjectFact(f, &r) {
		return nil
	}
	for i, names := range r.Methods {
		if i >= len(call.Args) {
			continue
		}
		for _, name := range names {
			m, _, _ := types.LookupFieldOrMethod(pass.TypesInfo.TypeOf(call.Args[i]), true, pass.Pkg, name)
			if f := originOf(m); f != nil {
				methods = append(methods, f)
			}
		}
	}
	return methods
}

// handler looks at the function that is given to HandleReuse.
func handler(pass *analysis.Pass, functions map[types.Object]*ast.FuncDecl, checked map[*ast.FuncDecl]bool, fn ast.Expr) {
	if literal, ok := ast.Unparen(fn).(*ast.FuncLit); ok {
		handles(pass, literal.Type, literal.Body)
	} else if f := callee(pass.TypesInfo, fn); f != nil && functions[f] != nil && !checked[functions[f]] { // else it is of another package
		checked[functions[f]] = true
		handles(pass, functions[f].Type, functions[f].Body)
	}
}

// handles looks at a function that is a handler.
func handles(pass *analysis.Pass, typ *ast.FuncType, body *ast.BlockStmt) {
	var params []types.Object
	for _, field := range typ.Params.List {
		for _, name := range field.Names {
			params = append(params, pass.TypesInfo.Defs[name])
		}
	}
	if len(params) != 3 {
		return // without names
	}
	c := &checker{pass: pass, body: body, what: "the request", until: "its handler returns", lent: map[types.Object]bool{params[1]: true}, reply: params[2]}
	if params[2] != nil {
		c.locals = map[types.Object]bool{params[2]: true}
	}
	c.check()
}
