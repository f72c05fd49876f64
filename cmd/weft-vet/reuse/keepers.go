package reuse

import (
	"go/ast"
	"go/types"
	"iter"
	"slices"
)

// keeper is a function that stores some of its arguments.
type keeper struct {
	into     int   // the index of the argument in which they are stored, or receiver
	kept     []int // indexes
	elements bool  // it stores the elements of these, which are whole where they refer to no memory
}

// receiver stands for the value whose method a function is.
const receiver = -1

// keepers has functions of the standard library that store arguments.
var keepers = map[string]keeper{
	"(*container/list.List).InsertAfter":       {into: receiver, kept: []int{0}},
	"(*container/list.List).InsertBefore":      {into: receiver, kept: []int{0}},
	"(*container/list.List).PushBack":          {into: receiver, kept: []int{0}},
	"(*container/list.List).PushBackList":      {into: receiver, kept: []int{0}},
	"(*container/list.List).PushFront":         {into: receiver, kept: []int{0}},
	"(*container/list.List).PushFrontList":     {into: receiver, kept: []int{0}},
	"(*expvar.Map).Add":                        {into: receiver, kept: []int{0}},
	"(*expvar.Map).AddFloat":                   {into: receiver, kept: []int{0}},
	"(*expvar.Map).Set":                        {into: receiver, kept: []int{0, 1}},
	"(*expvar.String).Set":                     {into: receiver, kept: []int{0}},
	"(*sync.Map).CompareAndSwap":               {into: receiver, kept: []int{0, 2}},
	"(*sync.Map).LoadOrStore":                  {into: receiver, kept: []int{0, 1}},
	"(*sync.Map).Store":                        {into: receiver, kept: []int{0, 1}},
	"(*sync.Map).Swap":                         {into: receiver, kept: []int{0, 1}},
	"(*sync.Pool).Put":                         {into: receiver, kept: []int{0}},
	"(*sync/atomic.Pointer[T]).CompareAndSwap": {into: receiver, kept: []int{1}},
	"(*sync/atomic.Pointer[T]).Store":          {into: receiver, kept: []int{0}},
	"(*sync/atomic.Pointer[T]).Swap":           {into: receiver, kept: []int{0}},
	"(*sync/atomic.Value).CompareAndSwap":      {into: receiver, kept: []int{1}},
	"(*sync/atomic.Value).Store":               {into: receiver, kept: []int{0}},
	"(*sync/atomic.Value).Swap":                {into: receiver, kept: []int{0}},
	"(net/http.Header).Add":                    {into: receiver, kept: []int{0, 1}},
	"(net/http.Header).Set":                    {into: receiver, kept: []int{0, 1}},
	"(net/url.Values).Add":                     {into: receiver, kept: []int{0, 1}},
	"(net/url.Values).Set":                     {into: receiver, kept: []int{0, 1}},
	"container/heap.Push":                      {into: 0, kept: []int{1}},
	"copy":                                     {into: 0, kept: []int{1}, elements: true},
	"maps.Copy":                                {into: 0, kept: []int{1}, elements: true},
	"maps.Insert":                              {into: 0, kept: []int{1}, elements: true},
	"sync/atomic.CompareAndSwapPointer":        {into: 0, kept: []int{2}},
	"sync/atomic.StorePointer":                 {into: 0, kept: []int{1}},
	"sync/atomic.SwapPointer":                  {into: 0, kept: []int{1}},
}

// kept returns the arguments of a call that have parts of the message and are stored, and in what.
func (c *carriers) kept(call *ast.CallExpr) iter.Seq2[ast.Expr, ast.Expr] {
	return func(yield func(into, arg ast.Expr) bool) {
		if !c.helped(call, yield) {
			return
		}
		k, into := keeperOf(c.pass.TypesInfo, call)
		if into == nil || k.elements && !elementsHold(c.pass.TypesInfo.TypeOf(into)) {
			return
		}
		for i, arg := range call.Args {
			if slices.Contains(k.kept, i) && c.lends(arg) && !yield(into, arg) {
				return
			}
		}
	}
}

// keeperOf returns what is known of the function that is called, and in what it stores arguments; nil: it is no keeper.
func keeperOf(info *types.Info, call *ast.CallExpr) (k keeper, into ast.Expr) {
	name := builtin(info, call)
	if f := callee(info, call.Fun); f != nil {
		name = f.FullName()
	}
	k, ok := keepers[name]
	if !ok {
		return k, nil
	}
	if k.into != receiver {
		return k, call.Args[k.into]
	}
	if method, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr); ok {
		return k, method.X
	}
	return k, nil
}
