package reuse

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"

	"golang.org/x/tools/go/analysis"
)

// source is the package that is looked at.
type source struct {
	pass      *analysis.Pass
	functions map[types.Object]*ast.FuncDecl
	values    map[types.Object][]ast.Expr // what is assigned to a variable or a field, anywhere in the package
	handled   map[*ast.BlockStmt]bool     // the handlers that were looked at
	known     map[*types.Func][]keeping   // what functions do with their parameters
	reported  map[string]bool             // positions with what was found there
}

// function is one with a body: it is declared, or a literal.
type function struct {
	typ  *ast.FuncType
	body *ast.BlockStmt
}

func newSource(pass *analysis.Pass) *source {
	s := &source{
		pass:      pass,
		functions: make(map[types.Object]*ast.FuncDecl),
		values:    make(map[types.Object][]ast.Expr),
		handled:   make(map[*ast.BlockStmt]bool),
		known:     make(map[*types.Func][]keeping),
		reported:  make(map[string]bool),
	}
	for _, f := range pass.Files {
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil {
				object := pass.TypesInfo.Defs[fn.Name]
				s.functions[object] = fn
				if r := registersOf(pass.TypesInfo, fn); len(r.Methods) > 0 || len(r.Handlers) > 0 {
					pass.ExportObjectFact(object, r)
				}
			}
		}
	}
	for _, f := range pass.Files {
		ast.Inspect(f, func(n ast.Node) bool {
			s.assigned(n)
			return true
		})
	}
	return s
}

// found reports something once: a variable may have the replies of several calls.
func (s *source) found(at token.Pos, message string) {
	if key := fmt.Sprint(at, message); !s.reported[key] {
		s.reported[key] = true
		s.pass.Report(analysis.Diagnostic{Pos: at, Message: message})
	}
}

// assigned notes what a statement, a declaration or a literal of a struct assigns.
func (s *source) assigned(n ast.Node) {
	switch n := n.(type) {
	case *ast.AssignStmt, *ast.ValueSpec:
		i := 0
		for left, right := range assignments(n) {
			if call, ok := ast.Unparen(right).(*ast.CallExpr); ok && i > 0 && s.hasResults(call) {
				right = &result{call, i}
			}
			s.assign(variable(s.pass.TypesInfo, left), right)
			i++
		}
	case *ast.RangeStmt:
		if n.Value != nil {
			s.assign(variable(s.pass.TypesInfo, n.Value), &ast.IndexExpr{X: n.X}) // one of the elements
		}
	case *ast.CompositeLit:
		s.fields(n)
	case *ast.CallExpr:
		s.functionArguments(n)
	}
}

// result is one of several results of a call, behind the first.
type result struct {
	*ast.CallExpr
	index int
}

// hasResults reports whether a call has several results.
func (s *source) hasResults(call *ast.CallExpr) bool {
	_, several := s.pass.TypesInfo.TypeOf(call).(*types.Tuple)
	return several
}

// functionArguments notes the functions that a call of a function of the package gives to it.
func (s *source) functionArguments(call *ast.CallExpr) {
	f := callee(s.pass.TypesInfo, call.Fun)
	if s.functions[f] == nil {
		return
	}
	for i := range min(f.Signature().Params().Len(), len(call.Args)) {
		param := f.Signature().Params().At(i)
		if _, ok := param.Type().Underlying().(*types.Signature); ok {
			s.assign(param, call.Args[i])
		}
	}
}

// fields notes what a literal of a struct assigns to the fields.
func (s *source) fields(literal *ast.CompositeLit) {
	t := s.pass.TypesInfo.TypeOf(literal)
	if p, ok := t.Underlying().(*types.Pointer); ok { // an element &T{} of a list, without its type
		t = p.Elem()
	}
	u, ok := t.Underlying().(*types.Struct)
	if !ok {
		return
	}
	for i, value := range literal.Elts {
		if pair, ok := value.(*ast.KeyValueExpr); ok {
			s.assign(variable(s.pass.TypesInfo, pair.Key), pair.Value)
		} else {
			s.assign(u.Field(i).Origin(), value)
		}
	}
}

func (s *source) assign(v *types.Var, value ast.Expr) {
	if v != nil {
		s.values[v] = append(s.values[v], value)
	}
}

// variable returns the variable or the field that an expression names, or nil. A field of an instantiated type is the one that is declared.
func variable(info *types.Info, e ast.Expr) *types.Var {
	var object types.Object
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		object = objectOf(info, e)
	case *ast.SelectorExpr:
		object = info.Uses[e.Sel]
	}
	if v, ok := object.(*types.Var); ok {
		return v.Origin()
	}
	return nil
}

// functionsOf returns the functions of the package that an expression may be.
func (s *source) functionsOf(e ast.Expr) []function {
	return (&resolver{source: s, seen: make(map[any]bool)}).functions(e)
}

// resolver finds what an expression may be.
type resolver struct {
	*source
	seen map[any]bool // variables, and bodies whose results were looked for
}

func (r *resolver) functions(e ast.Expr) []function {
	e = ast.Unparen(e)
	if literal, ok := e.(*ast.FuncLit); ok {
		return []function{{literal.Type, literal.Body}}
	}
	if f := callee(r.pass.TypesInfo, e); f != nil {
		if fn := r.source.functions[f]; fn != nil { // else it is of another package
			return []function{{fn.Type, fn.Body}}
		}
		return nil
	}
	switch e := e.(type) {
	case *ast.CallExpr:
		return r.called(e, 0)
	case *result:
		return r.called(e.CallExpr, e.index)
	case *ast.IndexExpr:
		return r.elements(e.X)
	}
	return r.held(e, r.functions)
}

// held looks at what is assigned to the variable or the field that an expression names.
func (r *resolver) held(e ast.Expr, look func(ast.Expr) []function) (found []function) {
	v := variable(r.pass.TypesInfo, e)
	if v == nil || r.seen[v] {
		return nil
	}
	r.seen[v] = true
	for _, value := range r.values[v] {
		found = append(found, look(value)...)
	}
	return found
}

// elements returns the functions that may be elements of a list or a map.
func (r *resolver) elements(e ast.Expr) (found []function) {
	literal, ok := ast.Unparen(e).(*ast.CompositeLit)
	if !ok {
		return r.held(e, r.elements)
	}
	for _, element := range literal.Elts {
		if pair, ok := element.(*ast.KeyValueExpr); ok {
			element = pair.Value
		}
		found = append(found, r.functions(element)...)
	}
	return found
}

// called returns the functions that a result of a call may be.
func (r *resolver) called(call *ast.CallExpr, index int) (found []function) {
	if r.pass.TypesInfo.Types[call.Fun].IsType() { // a conversion
		return r.functions(call.Args[0])
	}
	for _, fn := range r.functions(call.Fun) {
		if r.seen[fn.body] {
			continue
		}
		r.seen[fn.body] = true
		ast.Inspect(fn.body, func(n ast.Node) bool {
			if _, ok := n.(*ast.FuncLit); ok {
				return false // what it returns is its own
			}
			if ret, ok := n.(*ast.ReturnStmt); ok {
				found = append(found, r.returned(fn, ret, index)...)
			}
			return true
		})
	}
	return found
}

// returned returns the functions that a result of a return statement may be.
func (r *resolver) returned(fn function, ret *ast.ReturnStmt, index int) []function {
	if index < len(ret.Results) {
		return r.functions(ret.Results[index])
	}
	if len(ret.Results) == 1 { // a call with several results
		if call, ok := ast.Unparen(ret.Results[0]).(*ast.CallExpr); ok {
			return r.called(call, index)
		}
	}
	if len(ret.Results) > 0 || fn.typ.Results == nil { // fn is an iterator, whose elements are called
		return nil
	}
	for _, field := range fn.typ.Results.List {
		if index < len(field.Names) {
			return r.functions(field.Names[index])
		}
		index -= len(field.Names)
	}
	return nil
}
