package jwt

import (
	"context"
	"fmt"
)

// contained calls a function that fetches, and makes an error of its panic: it is called on goroutines of this package, where
// a panic would end the program.
func contained[T any](ctx context.Context, fetch func(context.Context) (T, error)) (v T, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the function that fetches panicked: %v", p)
		}
	}()
	return fetch(ctx)
}
