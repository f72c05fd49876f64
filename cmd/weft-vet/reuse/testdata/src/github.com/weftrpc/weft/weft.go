// Package weft has the declarations that the analyzer knows.
package weft

import "context"

type Registrar interface{}

func HandleReuse[Req, Res any](r Registrar, name string, fn func(context.Context, *Req, *Res) error) error {
	return nil
}

type Reuse[Res any] struct{}

func (u *Reuse[Res]) Invoke(ctx context.Context, c any, method string, args any) (*Res, error) {
	return nil, nil
}

func Handle[Req, Res any](r Registrar, name string, fn func(context.Context, *Req, *Res) error) error {
	return nil
}
