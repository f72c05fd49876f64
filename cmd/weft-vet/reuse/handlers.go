package reuse

import (
	"go/ast"
	"go/token"
	"go/types"
)

// registers is what is known of a function that gives its parameters, or methods of those that are interfaces, to HandleReuse.
type registers struct {
	Methods  map[int][]string // by the index of the parameter
	Handlers []int            // indexes of parameters that are handlers
}

// AFact makes the type a fact.
func (*registers) AFact() {}

// registersOf finds the calls of HandleReuse in a function with its parameters or methods of them.
func registersOf(info *types.Info, fn *ast.FuncDecl) *registers {
	params := make(map[types.Object]int)
	for i, param := range parameters(info, fn.Type) {
		params[param] = i
	}
	found := &registers{Methods: make(map[int][]string)}
	ast.Inspect(fn.Body, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || len(call.Args) < 3 || !isWeft(info, call.Fun, "HandleReuse") {
			return true
		}
		switch handler := ast.Unparen(call.Args[2]).(type) {
		case *ast.Ident:
			if i, ok := params[info.Uses[handler]]; ok {
				found.Handlers = append(found.Handlers, i)
			}
		case *ast.SelectorExpr:
			if id, ok := ast.Unparen(handler.X).(*ast.Ident); ok {
				if i, ok := params[info.Uses[id]]; ok && types.IsInterface(info.Uses[id].Type()) {
					found.Methods[i] = append(found.Methods[i], handler.Sel.Name)
				}
			}
		}
		return true
	})
	return found
}

// parameters returns those of a function, in their order; nil: one has no name.
func parameters(info *types.Info, typ *ast.FuncType) (params []types.Object) {
	for _, field := range typ.Params.List {
		if len(field.Names) == 0 {
			params = append(params, nil)
		}
		for _, name := range field.Names {
			params = append(params, info.Defs[name])
		}
	}
	return params
}

// handlers returns the functions of the package that become handlers by a call.
func (s *source) handlers(call *ast.CallExpr) (found []function) {
	if isWeft(s.pass.TypesInfo, call.Fun, "HandleReuse") && len(call.Args) >= 3 {
		return s.functionsOf(call.Args[2])
	}
	var r registers
	if f := callee(s.pass.TypesInfo, call.Fun); f == nil || !s.pass.ImportObjectFact(f, &r) {
		return nil
	}
	for _, i := range r.Handlers {
		if i < len(call.Args) {
			found = append(found, s.functionsOf(call.Args[i])...)
		}
	}
	for i, names := range r.Methods {
		if i >= len(call.Args) {
			continue
		}
		for _, name := range names {
			m, _, _ := types.LookupFieldOrMethod(s.pass.TypesInfo.TypeOf(call.Args[i]), true, s.pass.Pkg, name)
			if f := originOf(m); f != nil && s.functions[f] != nil {
				found = append(found, function{s.functions[f].Type, s.functions[f].Body})
			}
		}
	}
	return found
}

// handles looks at a function that is a handler.
func (s *source) handles(fn function) {
	params := parameters(s.pass.TypesInfo, fn.typ)
	if len(params) != 3 || s.handled[fn.body] {
		return
	}
	s.handled[fn.body] = true
	locals := map[types.Object]bool{params[0]: true, params[1]: true, params[2]: true}
	if fn.typ.Results != nil { // a function that handlers call may have none
		for _, field := range fn.typ.Results.List {
			for _, name := range field.Names {
				locals[s.pass.TypesInfo.Defs[name]] = true
			}
		}
	}
	request := &checker{carriers: carriers{reply: params[2]}, what: "the request"}
	reply := &checker{carriers: carriers{foreign: true}, what: "the reply"}
	for i, c := range []*checker{request, reply} {
		if param := params[i+1]; param != nil {
			c.source, c.body, c.locals, c.until = s, fn.body, locals, "its handler returns"
			c.lent = map[types.Object][]token.Pos{param: {param.Pos()}}
			c.check()
		}
	}
}

// around looks at the handler that another one around it calls with the request, by a variable.
func (c *checker) around(call *ast.CallExpr) {
	if c.reply == nil || c.calls != nil || len(call.Args) != 3 || !c.lends(call.Args[1]) || callee(c.pass.TypesInfo, call.Fun) != nil {
		return
	}
	for _, fn := range c.functionsOf(call.Fun) {
		if !encloses(c.body, fn.body.Pos()) {
			c.handles(fn)
		}
	}
}
