// Package c implements a service of another package.
package c

import (
	"context"
	"strings"

	"b"

	"github.com/weftrpc/weft"
)

type store struct{ names map[string]bool }

func (s *store) Put(_ context.Context, req, res *b.Order) error {
	s.names[req.Name] = true // want `req.Name is stored in s.names, but the request is valid until its handler returns only`
	s.names[strings.Clone(req.Name)] = true
	return nil
}

func (s *store) Get(_ context.Context, req, res *b.Order) error { // it is registered with Handle
	s.names[req.Name] = true
	return nil
}

func serve() error { return b.RegisterOrders(nil, &store{}) }

// ordered is a generic type, whose methods are others where it is instantiated.
type ordered[K comparable] struct {
	names map[string]K
	one   K
	last  string
}

func (o *ordered[K]) Put(_ context.Context, req, res *b.Order) error {
	o.names[req.Name] = o.one // want `req.Name is stored in o.names, but the request is valid until its handler returns only`
	return nil
}

func (o *ordered[K]) Get(_ context.Context, req, res *b.Order) error { // it is registered with Handle
	o.names[req.Name] = o.one
	return nil
}

func (o *ordered[K]) Take(_ context.Context, req, res *b.Order) error {
	o.last = req.Name // want `req.Name is stored in o.last, but the request is valid until its handler returns only`
	return nil
}

func serveOrdered() error {
	o := &ordered[bool]{}
	if err := weft.HandleReuse(nil, "Orders.Take", o.Take); err != nil {
		return err
	}
	return b.RegisterOrders(nil, o)
}
