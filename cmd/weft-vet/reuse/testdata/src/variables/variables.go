// Package variables has handlers that do not stand in the call of HandleReuse.
package variables

import (
	"context"
	"strings"

	"github.com/weftrpc/weft"
)

type message struct{ Name string }

type database struct{ last string }

type handler func(context.Context, *message, *message) error

var kept string

var global = func(_ context.Context, req, res *message) error {
	kept = req.Name // want `req.Name is stored in kept, but the request is valid until its handler returns only: copy what is kept`
	return nil
}

var byName = map[string]handler{
	"A.List": func(_ context.Context, req, res *message) error {
		kept = req.Name // want `req.Name is stored in kept`
		return nil
	},
	"A.Declared": declared,
}

// unused is no handler.
var unused = func(_ context.Context, req, res *message) error {
	kept = req.Name
	return nil
}

func declared(_ context.Context, req, res *message) error {
	kept = req.Name // want `req.Name is stored in kept`
	return nil
}

func register(r weft.Registrar, db *database) {
	_ = weft.HandleReuse(r, "A.Global", global)

	local := func(_ context.Context, req, res *message) error {
		kept = req.Name // want `req.Name is stored in kept`
		res.Name = req.Name
		return nil
	}
	_ = weft.HandleReuse(r, "A.Local", local)
	_ = weft.HandleReuse(r, "A.Again", local) // reported once

	var later func(context.Context, *message, *message) error
	if db != nil {
		later = func(_ context.Context, req, res *message) error {
			db.last = req.Name // want `req.Name is stored in db.last`
			return nil
		}
	} else {
		later = func(_ context.Context, req, res *message) error {
			db.last = strings.Clone(req.Name)
			return nil
		}
	}
	_ = weft.HandleReuse(r, "A.Later", later)
	_ = weft.HandleReuse(r, "A.Returned", newHandler(db))
	_ = weft.HandleReuse(r, "A.Method", db.handler())
	_ = weft.HandleReuse(r, "A.Converted", handler(converted))
	_ = weft.HandleReuse(r, "A.Itself", itself(3))

	other := func(_ context.Context, req, res *message) error { // it is registered with Handle
		kept = req.Name
		return nil
	}
	_ = weft.Handle(r, "A.Other", other)

	copying := func(_ context.Context, req, res *message) error {
		kept = strings.Clone(req.Name)
		mine := req.Name
		res.Name = mine
		return nil
	}
	_ = weft.HandleReuse(r, "A.Copying", copying)

	for name, fn := range byName {
		_ = weft.HandleReuse(r, name, fn)
	}
	_ = weft.HandleReuse(r, "A.List", byName["A.List"])
}

func converted(_ context.Context, req, res *message) error {
	kept = req.Name // want `req.Name is stored in kept`
	return nil
}

// newHandler returns handlers; what it has in variables is kept with them.
func newHandler(db *database) handler {
	var last string
	if db == nil {
		h := func(_ context.Context, req, res *message) error {
			res.Name = last
			last = req.Name // want `req.Name is stored in last`
			return nil
		}
		return h
	}
	each := func() func() string { return func() string { return last } }
	each()()
	return func(_ context.Context, req, res *message) error {
		db.last = req.Name // want `req.Name is stored in db.last`
		name := req.Name
		_ = name
		return nil
	}
}

func (db *database) handler() (h handler) {
	h = func(_ context.Context, req, res *message) error {
		db.last = req.Name // want `req.Name is stored in db.last`
		return nil
	}
	return
}

func itself(n int) handler {
	if n > 0 {
		return itself(n - 1)
	}
	h := handler(nil)
	h = h
	return h
}

// service has handlers in its fields.
type service[T any] struct {
	put, get handler
	other    handler
	more     T
}

func newService() *service[int] {
	s := &service[int]{
		put: func(_ context.Context, req, res *message) error {
			kept = req.Name // want `req.Name is stored in kept`
			return nil
		},
		other: func(_ context.Context, req, res *message) error { // it is registered with Handle
			kept = req.Name
			return nil
		},
	}
	s.get = func(_ context.Context, req, res *message) error {
		kept = req.Name // want `req.Name is stored in kept`
		return nil
	}
	return s
}

func (s *service[T]) register(r weft.Registrar) {
	_ = weft.HandleReuse(r, "S.Put", s.put)
	_ = weft.HandleReuse(r, "S.Get", s.get)
	_ = weft.Handle(r, "S.Other", s.other)
}

// table has handlers in a list of structs.
func table(r weft.Registrar) {
	for _, m := range []struct {
		name string
		fn   handler
	}{
		{"T.One", func(_ context.Context, req, res *message) error {
			kept = req.Name // want `req.Name is stored in kept`
			return nil
		}},
		{name: "T.Two", fn: func(_ context.Context, req, res *message) error {
			kept = req.Name // want `req.Name is stored in kept`
			return nil
		}},
	} {
		_ = weft.HandleReuse(r, m.name, m.fn)
	}
}

// offer gives a parameter to HandleReuse.
func offer[Req, Res any](r weft.Registrar, name string, fn func(context.Context, *Req, *Res) error, _ int) { // want offer:"2"
	_ = weft.HandleReuse(r, "A."+name, fn)
}

func offers(r weft.Registrar) {
	offer(r, "Offered", func(_ context.Context, req, res *message) error {
		kept = req.Name // want `req.Name is stored in kept`
		return nil
	}, 1)
}

// logged has a handler around another one.
func logged(name string, next handler) handler {
	return func(ctx context.Context, req, res *message) error {
		kept = name
		return next(ctx, req, res)
	}
}

// fresh gives its own copy to the handler.
func fresh(next handler) handler {
	return func(ctx context.Context, req, res *message) error {
		return next(ctx, &message{Name: strings.Clone(req.Name)}, res)
	}
}

func around(r weft.Registrar, db *database) {
	_ = weft.HandleReuse(r, "W.Logged", logged("x", db.put))
	_ = weft.HandleReuse(r, "W.Twice", logged("x", logged("y", db.get)))
	_ = weft.HandleReuse(r, "W.Fresh", fresh(db.keep))
}

func (db *database) put(_ context.Context, req, res *message) error {
	db.last = req.Name // want `req.Name is stored in db.last`
	return nil
}

func (db *database) get(_ context.Context, req, res *message) error {
	db.last = req.Name // want `req.Name is stored in db.last`
	return nil
}

func (db *database) keep(_ context.Context, req, res *message) error {
	db.last = req.Name
	return nil
}

// hook is called by a handler, and has no results.
var hook = func(_ context.Context, req, _ *message) {
	kept = req.Name // want `req.Name is stored in kept`
}

// makers yields functions that make handlers.
func makers(yield func(string, func() handler) bool) {
	if !yield("N.Maker", func() handler { return global }) {
		return
	}
}

func withoutResults(r weft.Registrar) {
	_ = weft.HandleReuse(r, "N.Hook", func(ctx context.Context, req, res *message) error {
		hook(ctx, req, res)
		return nil
	})
	for name, maker := range makers {
		_ = weft.HandleReuse(r, name, maker())
	}
}

// set returns a handler behind another function.
func set(db *database) (stop func(), put handler) {
	return func() {}, db.set
}

func named(db *database) (stop func(), put handler) {
	put = db.named
	return
}

func passed(db *database) (stop func(), put handler) { return set(db) }

func (db *database) set(_ context.Context, req, res *message) error {
	db.last = req.Name // want `req.Name is stored in db.last`
	return nil
}

func (db *database) named(_ context.Context, req, res *message) error {
	db.last = req.Name // want `req.Name is stored in db.last`
	return nil
}

func results(r weft.Registrar, db *database) {
	stop, put := passed(db)
	defer stop()
	_ = weft.HandleReuse(r, "R.Set", put)
	_, put = named(db)
	_ = weft.HandleReuse(r, "R.Named", put)
}
