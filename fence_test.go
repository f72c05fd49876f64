package weft_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrpc/weft"
)

// Of many panics of a method one is logged with its stack in a second, and the number of the
// others afterwards.
func TestPanicsAreLoggedSparsely(t *testing.T) {
	for name, around := range map[string][]weft.UnaryInterceptor{
		"plain": nil,
		"intercepted": {func(ctx context.Context, info *weft.CallInfo, req any, next weft.UnaryFunc) (any, error) {
			return next(ctx, info, req)
		}},
		"interceptor": {func(_ context.Context, info *weft.CallInfo, _ any, _ weft.UnaryFunc) (any, error) {
			panic("no " + info.Method)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var logged log
				w := start(t, &weft.ServerConfig{Logger: logged.logger(), Interceptors: around}, func(s *weft.Server) error {
					return weft.Handle(s, "Panic.Unary", func(context.Context, *Args) (*Product, error) { panic("no Panic.Unary") })
				})
				c := w.dial(nil)
				const calls = 500
				for range calls {
					wantError(t, c.Call(t.Context(), "Panic.Unary", &Args{}, nil), weft.Internal, weft.Executed, "panicked")
				}
				time.Sleep(3 * time.Second)
				synctest.Wait()
				text := logged.String()
				if n := strings.Count(text, "stack="); n != 1 {
					t.Errorf("%d panics made %d stacks, want 1", calls, n)
				}
				wantText(t, text, "method=Panic.Unary", "no Panic.Unary", "fence_test.go:", "times=499")
			})
		})
	}
}

// The error of an unknown method tells what there is, but not to a caller that asks for one
// unknown method after the other: looking for it takes time that grows with the number of methods.
func TestHintsAreFew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, nil, nil).dial(nil)
		hints := func() (n int) {
			for range 200 {
				err := c.Call(t.Context(), "Arith.Add", &Args{}, nil)
				wantError(t, err, weft.Unimplemented, weft.Refused, "there is no method Arith.Add")
				if strings.Contains(err.Error(), "the service has Arith.Div, Arith.Mul") {
					n++
				}
			}
			return n
		}
		for range 2 {
			if n := hints(); n == 0 || n > 20 {
				t.Errorf("%d of 200 errors tell what there is, want a few", n)
			}
			time.Sleep(2 * time.Second)
		}
	})
}
