// Package reuse is an analyzer that finds messages which are kept longer than they are
// valid: requests of weft.HandleReuse, and replies of weft.Reuse.
//
// It follows such a message, and what is taken out of it, through the variables of a
// function, and reports where it is stored in a variable outside of the function, also as the key of
// a map or in a function literal, sent on a channel, or given to a goroutine. A function that is called with it is taken not to keep
// it, and what a function returns, such as strings.Clone, is taken to be a copy.
//
// Handlers are also the methods of a value that is given to a function such as those that "weft generate" writes, which gives
// methods of one of its parameters to weft.HandleReuse.
//
// It also reports an element of a list that is removed with append, where the list then has two parts in one memory.
package reuse

import (
	"go/ast"
	"go/token"
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

// registers is what is known of a function that gives methods of its parameters, which are interfaces, to HandleReuse.
type registers struct {
	Methods map[int][]string // by the index of the parameter
}

// AFact makes the type a fact.
func (*registers) AFact() {}

func run(pass *analysis.Pass) (any, error) {
	functions := make(map[types.Object]*ast.FuncDecl)
	for _, f := range pass.Files {
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil {
				object := pass.TypesInfo.Defs[fn.Name]
				functions[object] = fn
				if r := registersOf(pass.TypesInfo, fn); len(r.Methods) > 0 {
					pass.ExportObjectFact(object, r)
				}
			}
		}
	}
	checked := make(map[*ast.FuncDecl]bool)
	for _, f := range pass.Files {
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				if isWeft(pass.TypesInfo, n.Fun, "HandleReuse") && len(n.Args) >= 3 {
					handler(pass, functions, checked, n.Args[2])
				}
				for _, m := range registered(pass, n) {
					if fn := functions[m]; fn != nil && !checked[fn] {
						checked[fn] = true
						handles(pass, fn.Type, fn.Body)
					}
				}
			case *ast.FuncDecl:
				if n.Body != nil {
					replies(pass, n.Body)
				}
			}
			return true
		})
	}
	return nil, nil
}

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

// replies looks at a function that calls Invoke of a Reuse.
func replies(pass *analysis.Pass, body *ast.BlockStmt) {
	c := &checker{pass: pass, body: body, what: "the reply", until: "the next call", lent: make(map[types.Object]bool)}
	ast.Inspect(body, func(n ast.Node) bool {
		a, ok := n.(*ast.AssignStmt)
		if !ok || len(a.Rhs) != 1 || len(a.Lhs) == 0 {
			return true
		}
		if call, ok := ast.Unparen(a.Rhs[0]).(*ast.CallExpr); ok && isInvoke(pass.TypesInfo, call) {
			c.store(a.Lhs[0], "the reply")
			if id, ok := a.Lhs[0].(*ast.Ident); ok {
				if object := objectOf(pass.TypesInfo, id); object != nil {
					c.lent[object] = true
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

// checker follows what is lent to a function for some time.
type checker struct {
	pass        *analysis.Pass
	body        *ast.BlockStmt
	what, until string
	lent        map[types.Object]bool // variables with the message, or with parts of it
	locals      map[types.Object]bool // what may hold parts of it, beside variables of the function
	reply       types.Object
}

// check finds the variables that hold parts of the message, and then what leaves.
func (c *checker) check() {
	for before := -1; before != len(c.lent); {
		before = len(c.lent)
		ast.Inspect(c.body, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.AssignStmt:
				for i, left := range n.Lhs {
					if len(n.Rhs) == len(n.Lhs) && c.lends(n.Rhs[i]) {
						c.spread(left)
					}
				}
			case *ast.ValueSpec:
				for i, name := range n.Names {
					if i < len(n.Values) && c.lends(n.Values[i]) {
						c.spread(name)
					}
				}
			case *ast.RangeStmt:
				if c.lends(n.X) {
					c.spread(n.Key)
					c.spread(n.Value)
				}
			}
			return true
		})
	}
	ast.Inspect(c.body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for i, left := range n.Lhs {
				if len(n.Rhs) == len(n.Lhs) && c.lends(n.Rhs[i]) {
					c.store(left, c.text(n.Rhs[i]))
				}
				c.keys(left)
			}
		case *ast.IncDecStmt:
			c.keys(n.X)
		case *ast.SendStmt:
			if c.lends(n.Value) {
				c.report(n.Value.Pos(), c.text(n.Value), "sent on a channel")
			}
		case *ast.CallExpr:
			c.removal(n)
		case *ast.GoStmt:
			c.goroutine(n.Call)
			return false
		}
		return true
	})
}

// removal reports append(list[:i], list[k:]...) for a list of the message whose elements have memory that is used again: it
// leaves the last elements twice.
func (c *checker) removal(call *ast.CallExpr) {
	id, ok := ast.Unparen(call.Fun).(*ast.Ident)
	if _, builtin := c.pass.TypesInfo.Uses[id].(*types.Builtin); !ok || !builtin || id.Name != "append" || len(call.Args) != 2 || !call.Ellipsis.IsValid() {
		return
	}
	first, ok := ast.Unparen(call.Args[0]).(*ast.SliceExpr)
	if !ok || !c.lends(first.X) {
		return
	}
	rest, ok := ast.Unparen(call.Args[1]).(*ast.SliceExpr)
	if !ok || c.text(first.X) != c.text(rest.X) {
		return
	}
	if s, ok := c.pass.TypesInfo.TypeOf(first.X).Underlying().(*types.Slice); ok && usedAgain(s.Elem(), make(map[types.Type]bool)) {
		c.pass.Reportf(call.Pos(), "append leaves the last elements of %s behind its end too, where the next message is decoded: use slices.Delete", c.text(first.X))
	}
}

// spread notes that a variable of the function holds a part of the message.
func (c *checker) spread(left ast.Expr) {
	for {
		switch e := left.(type) {
		case *ast.Ident:
			if object := objectOf(c.pass.TypesInfo, e); object != nil && c.local(object) && object != c.reply && holds(object.Type()) {
				c.lent[object] = true
			}
			return
		case *ast.SelectorExpr: // a field of a struct that is a variable
			left = e.X
		case *ast.IndexExpr:
			left = e.X
		case *ast.ParenExpr:
			left = e.X
		default:
			return
		}
	}
}

// store reports a part of the message that is stored in what outlives it.
func (c *checker) store(left ast.Expr, text string) {
	root := left
	for {
		switch e := root.(type) {
		case *ast.SelectorExpr:
			if _, ok := c.pass.TypesInfo.Uses[e.Sel].(*types.Var); ok && c.pass.TypesInfo.Selections[e] == nil {
				c.report(left.Pos(), text, "stored in "+types.ExprString(left)) // a variable of another package
				return
			}
			root = e.X
			continue
		case *ast.IndexExpr:
			root = e.X
			continue
		case *ast.StarExpr:
			root = e.X
			continue
		case *ast.ParenExpr:
			root = e.X
			continue
		case *ast.Ident:
			if object, ok := objectOf(c.pass.TypesInfo, e).(*types.Var); ok && !c.local(object) && !c.lent[object] {
				c.report(left.Pos(), text, "stored in "+types.ExprString(left))
			}
		}
		return
	}
}

// keys reports parts of the message that become keys of a map that outlives it, where left is set.
func (c *checker) keys(left ast.Expr) {
	for {
		switch e := left.(type) {
		case *ast.SelectorExpr:
			left = e.X
		case *ast.StarExpr:
			left = e.X
		case *ast.ParenExpr:
			left = e.X
		case *ast.IndexExpr:
			if _, ok := c.pass.TypesInfo.TypeOf(e.X).Underlying().(*types.Map); ok && c.lends(e.Index) {
				c.store(e.X, c.text(e.Index))
			}
			left = e.X
		default:
			return
		}
	}
}

// goroutine reports parts of the message that a goroutine gets.
func (c *checker) goroutine(call *ast.CallExpr) {
	for _, arg := range call.Args {
		if c.lends(arg) {
			c.report(arg.Pos(), c.text(arg), "given to a goroutine")
		}
	}
	literal, ok := ast.Unparen(call.Fun).(*ast.FuncLit)
	if !ok {
		if c.lends(call.Fun) { // a method of the message, or a function literal that uses it
			c.report(call.Fun.Pos(), c.text(call.Fun), "given to a goroutine")
		}
		return
	}
	for _, id := range c.uses(literal) {
		c.report(id.Pos(), id.Name, "used by a goroutine")
	}
}

// uses returns where a function literal first uses each variable with a part of the message.
func (c *checker) uses(literal *ast.FuncLit) (first []*ast.Ident) {
	seen := make(map[types.Object]bool)
	ast.Inspect(literal.Body, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			if object := c.pass.TypesInfo.Uses[id]; object != nil && c.lent[object] && !seen[object] {
				seen[object] = true
				first = append(first, id)
			}
		}
		return true
	})
	return first
}

// report reports that text, a part of the message, is kept.
func (c *checker) report(at token.Pos, text, how string) {
	c.pass.Reportf(at, "%s is %s, but %s is valid until %s only: copy what is kept", text, how, c.what, c.until)
}

func (c *checker) text(e ast.Expr) string { return types.ExprString(e) }

// local reports whether a variable is one of the function.
func (c *checker) local(object types.Object) bool {
	return c.locals[object] || c.body.Pos() <= object.Pos() && object.Pos() < c.body.End()
}

// lends reports whether an expression is the message, or refers to memory of it.
func (c *checker) lends(e ast.Expr) bool {
	if t := c.pass.TypesInfo.TypeOf(e); t == nil || !holds(t) {
		return false
	}
	switch e := e.(type) {
	case *ast.Ident:
		object := objectOf(c.pass.TypesInfo, e)
		return object != nil && c.lent[object]
	case *ast.SelectorExpr:
		return c.lends(e.X)
	case *ast.IndexExpr:
		return c.lends(e.X)
	case *ast.SliceExpr:
		return c.lends(e.X)
	case *ast.StarExpr:
		return c.lends(e.X)
	case *ast.ParenExpr:
		return c.lends(e.X)
	case *ast.TypeAssertExpr:
		return c.lends(e.X)
	case *ast.UnaryExpr:
		return e.Op == token.AND && c.lends(e.X)
	case *ast.BinaryExpr:
		return false // s + t is a new string
	case *ast.CompositeLit:
		for _, part := range e.Elts {
			if pair, ok := part.(*ast.KeyValueExpr); ok {
				part = pair.Value
			}
			if c.lends(part) {
				return true
			}
		}
	case *ast.CallExpr:
		return c.callLends(e)
	case *ast.FuncLit:
		return len(c.uses(e)) > 0
	}
	return false
}

// callLends reports whether what a call returns refers to memory of the message: that of a
// conversion that does not copy, and of append.
func (c *checker) callLends(call *ast.CallExpr) bool {
	info := c.pass.TypesInfo
	if info.Types[call.Fun].IsType() && len(call.Args) == 1 {
		from, to := info.TypeOf(call.Args[0]).Underlying(), info.TypeOf(call.Fun).Underlying()
		_, fromSlice := from.(*types.Slice)
		_, toSlice := to.(*types.Slice)
		return fromSlice == toSlice && c.lends(call.Args[0]) // []byte(s) and string(b) copy
	}
	id, ok := ast.Unparen(call.Fun).(*ast.Ident)
	if _, builtin := info.Uses[id].(*types.Builtin); !ok || !builtin || id.Name != "append" {
		return false
	}
	for i, arg := range call.Args {
		if i > 0 && call.Ellipsis.IsValid() {
			// The elements are copied; those of strings and numbers are whole then.
			if s, ok := info.TypeOf(arg).Underlying().(*types.Slice); !ok || !holds(s.Elem()) {
				continue
			}
		}
		if c.lends(arg) {
			return true
		}
	}
	return false
}

func objectOf(info *types.Info, id *ast.Ident) types.Object {
	if object := info.Defs[id]; object != nil {
		return object
	}
	return info.Uses[id]
}

// usedAgain reports whether values of a type have pointers, lists or maps in them, whose memory is used for the next message.
func usedAgain(t types.Type, seen map[types.Type]bool) bool {
	if seen[t] {
		return false
	}
	seen[t] = true
	switch u := t.Underlying().(type) {
	case *types.Pointer, *types.Map:
		return true
	case *types.Slice: // bytes are parts of the body
		return !types.Identical(types.Unalias(u.Elem()), types.Typ[types.Uint8])
	case *types.Array:
		return usedAgain(u.Elem(), seen)
	case *types.Struct:
		for i := range u.NumFields() {
			if usedAgain(u.Field(i).Type(), seen) {
				return true
			}
		}
	}
	return false
}

// holds reports whether values of a type refer to memory.
func holds(t types.Type) bool { return holdsIn(t, make(map[types.Type]bool)) }

func holdsIn(t types.Type, seen map[types.Type]bool) bool {
	if seen[t] {
		return false
	}
	seen[t] = true
	switch u := t.Underlying().(type) {
	case *types.Basic:
		return u.Info()&types.IsString != 0 || u.Kind() == types.UnsafePointer
	case *types.Array:
		return holdsIn(u.Elem(), seen)
	case *types.Struct:
		for i := range u.NumFields() {
			if holdsIn(u.Field(i).Type(), seen) {
				return true
			}
		}
		return false
	}
	return true
}
