// Command client calls a server of JSON-RPC over HTTP that is not of weft. The argument is its address. It prints one line for each thing
// that it tries.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/jsonrpc"
)

// Args are the operands of mul and div.
type Args struct {
	A int `json:"a"`
	B int `json:"b"`
}

func main() {
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "client:", err)
		os.Exit(1)
	}
}

func run(address string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c, err := weft.Dial(ctx, address, &weft.ClientConfig{Logger: slog.New(slog.DiscardHandler), Wires: []weft.Wire{jsonrpc.WireHTTP(&jsonrpc.HTTPConfig{Service: "shop"})}})
	if err != nil {
		return err
	}
	defer c.Close()
	named, err := weft.Invoke[int](ctx, c, "shop.mul", &Args{7, 8})
	if err != nil {
		return err
	}
	listed, err := weft.Invoke[int](ctx, c, "shop.mul", &[]int{7, 9})
	if err != nil {
		return err
	}
	dotted, err := weft.Invoke[int](ctx, c, "Arith.Mul", &Args{7, 10})
	if err != nil {
		return err
	}
	fmt.Println(*named, *listed, *dotted)
	for _, method := range []string{"shop.div", "shop.none"} {
		err := c.Call(ctx, method, &Args{1, 0}, nil)
		e, ok := errors.AsType[*weft.Error](err)
		if !ok {
			return fmt.Errorf("%s: %w", method, err)
		}
		code, _, _ := jsonrpc.Caught(err)
		fmt.Println(method, code, e.Code, e.Outcome)
	}
	if err := many(ctx, c); err != nil {
		return err
	}
	for range 5 {
		if err := c.Notify(ctx, "shop.note", &[]string{"a line"}); err != nil {
			return err
		}
	}
	return c.Shutdown(ctx)
}

// many makes calls at the same time.
func many(ctx context.Context, c *weft.Client) error {
	const calls = 100
	failed := make([]error, calls)
	var wg sync.WaitGroup
	for i := range calls {
		wg.Go(func() {
			n, err := weft.Invoke[int](ctx, c, "shop.mul", &Args{i, 3})
			if err == nil && *n != 3*i {
				err = fmt.Errorf("3 times %d is %d", i, *n)
			}
			failed[i] = err
		})
	}
	wg.Wait()
	return errors.Join(failed...)
}
