package main

import (
	"context"
	"errors"

	"github.com/weftrpc/weft/generate"
)

// generate writes clients and register functions for services.
func (p *program) generate(ctx context.Context, args []string) error {
	err := generate.Command(ctx, args, p.out, p.log)
	if errors.Is(err, generate.ErrFlags) {
		return errFlag
	}
	return err
}
