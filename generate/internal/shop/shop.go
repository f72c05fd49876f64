// Package shop has a service and messages of all kinds, for the tests of package generate.
package shop

import (
	"context"
	"iter"
	"time"
)

//go:generate go run ../../cmd/weft-generate -codec

// Orders keeps orders.
//
//weft:service
type Orders interface {
	// Put stores an order and returns it with its number.
	// It may be called again.
	//
	//weft:idempotent
	Put(ctx context.Context, req *Order) (*Order, error)
	// Fill fills the reply in.
	//
	//weft:reuse
	Fill(ctx context.Context, req *Order, res *Order) error
	Copy(ctx context.Context, req, res *Order) error
	// List sends all orders.
	List(ctx context.Context, req *Query) iter.Seq2[*Order, error]
	// When has messages of other packages.
	When(ctx context.Context, req *time.Time) (*time.Duration, error)
}

// Flows takes streams of orders.
//
//weft:service
type Flows interface {
	// PutAll stores many orders.
	PutAll(ctx context.Context, in iter.Seq2[*Order, error]) (*Query, error)
	// Swap answers each order.
	Swap(ctx context.Context, in iter.Seq2[*Order, error]) iter.Seq2[*Order, error]
}

// Named has a name of its own on the wire.
//
//weft:service shop.v1.Named
type Named interface {
	Get(context.Context, *Query) (*Query, error)
}
