package reuse

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
)

// keeping is what a function of the package does with a parameter, or its receiver, that it stores.
type keeping struct {
	param   int   // the index, or receiver
	into    []int // parameters in whose memory it is stored
	outside bool  // it is stored elsewhere
}

// keepings returns the parameters that a function stores, also by functions that it calls. Goroutines are not looked at: the
// function may wait for them.
func (s *source) keepings(f *types.Func) []keeping {
	fn := s.functions[f]
	if fn == nil {
		return nil
	}
	if found, ok := s.known[f]; ok {
		return found
	}
	s.known[f] = nil // while it is looked at: it may call itself
	locals := make(map[types.Object]bool)
	params := make(map[types.Object]int)
	for i, param := range parameters(s.pass.TypesInfo, fn.Type) {
		params[param] = i
	}
	if r := f.Signature().Recv(); r != nil {
		params[r] = receiver
	}
	for param := range params {
		locals[param] = true
	}
	for result := range f.Signature().Results().Variables() {
		locals[result] = true
	}
	var found []keeping
	for param, i := range params {
		if param == nil || !holds(param.Type()) {
			continue
		}
		k := keeping{param: i}
		lent := map[types.Object][]token.Pos{param: {param.Pos()}}
		c := &checker{carriers: carriers{source: s, body: fn.Body, lent: lent, locals: locals, params: params}, keeps: &k}
		c.check()
		if k.outside || len(k.into) > 0 {
			found = append(found, k)
		}
	}
	slices.SortFunc(found, func(a, b keeping) int { return a.param - b.param })
	s.known[f] = found
	return found
}

// helped calls yield with the parts of the message that a function of the package stores, and in what; nil: it does not lie among
// the arguments of the call. It returns false when yield did.
func (c *carriers) helped(call *ast.CallExpr, yield func(into, arg ast.Expr) bool) bool {
	f := callee(c.pass.TypesInfo, call.Fun)
	if f == nil || c.foreign {
		return true
	}
	for _, k := range c.keepings(f) {
		for _, arg := range arguments(call, f, k.param) {
			if !c.lends(arg) {
				continue
			}
			for _, i := range k.into {
				for _, into := range arguments(call, f, i) {
					if !yield(into, arg) {
						return false
					}
				}
			}
			if k.outside && !yield(nil, arg) {
				return false
			}
		}
	}
	return true
}

// arguments returns those of a call for a parameter, or the receiver.
func arguments(call *ast.CallExpr, f *types.Func, param int) (found []ast.Expr) {
	if param == receiver {
		if method, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr); ok {
			found = append(found, method.X)
		}
		return found
	}
	last := f.Signature().Params().Len() - 1 // more arguments are for a parameter with dots
	for i, arg := range call.Args {
		if min(i, last) == param {
			found = append(found, arg)
		}
	}
	return found
}

// storedIn notes that a part of the parameter is stored in memory of another one.
func (c *checker) storedIn(v *types.Var, left ast.Expr, how storing) {
	if i, ok := c.params[v]; ok && c.lent[v] == nil && reaches(c.pass.TypesInfo, left, how) && !slices.Contains(c.keeps.into, i) {
		c.keeps.into = append(c.keeps.into, i)
	}
}

// reaches reports whether what is stored in an expression is stored in memory to which a parameter refers: an assignment to a
// parameter, or to a field of one that is a struct, is not seen by the caller.
func reaches(info *types.Info, e ast.Expr, how storing) bool {
	for in := outer(e); in != nil; e, in = in, outer(in) {
		if refers(info.TypeOf(in)) {
			return true
		}
	}
	return how == puts && refers(info.TypeOf(e))
}

// refers reports whether a value of a type refers to memory in which something can be stored.
func refers(t types.Type) bool {
	switch t.Underlying().(type) {
	case *types.Pointer, *types.Slice, *types.Map, *types.Chan:
		return true
	}
	return false
}

// passed notes the parameters of a function literal of the function that get parts of the message by a call.
func (c *carriers) passed(call *ast.CallExpr) {
	if callee(c.pass.TypesInfo, call.Fun) != nil || !slices.ContainsFunc(call.Args, c.lends) {
		return
	}
	for _, fn := range c.functionsOf(call.Fun) {
		for i, param := range parameters(c.pass.TypesInfo, fn.typ) {
			if i < len(call.Args) && param != nil && c.lends(call.Args[i]) {
				c.lend(param, param.Pos())
			}
		}
	}
}
