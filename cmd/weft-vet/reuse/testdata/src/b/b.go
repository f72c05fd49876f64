// Package b has a service and the function that registers it, as "weft generate" writes it.
package b

import (
	"context"

	"github.com/weftrpc/weft"
)

type Order struct{ Name string }

type Orders interface {
	Put(ctx context.Context, req, res *Order) error
	Get(ctx context.Context, req, res *Order) error
}

func RegisterOrders(r weft.Registrar, s Orders) error { // want RegisterOrders:"Put"
	if err := weft.HandleReuse(r, "Orders.Put", s.Put); err != nil {
		return err
	}
	return nil
}
