// Command async makes many calls at once from one goroutine, as Go of net/rpc does,
// and takes the replies as they come.
package main

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/weftrpc/weft"
)

// Task asks for a square after a while, Result is the answer.
type (
	Task   struct{ N, Millis int }
	Result struct{ Square int }
)

func square(ctx context.Context, t *Task) (*Result, error) {
	select {
	case <-time.After(time.Duration(t.Millis) * time.Millisecond):
		return &Result{t.N * t.N}, nil
	case <-ctx.Done(): // the call was cancelled, its deadline passed or the connection was lost
		return nil, ctx.Err()
	}
}

func main() {
	log.SetFlags(0)
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	srv := weft.NewServer(nil)
	if err := weft.Handle(srv, "Math.Square", square); err != nil {
		return err
	}
	l, err := srv.Listen(ctx, "tcp://127.0.0.1:0")
	if err != nil {
		return err
	}
	// This goroutine ends with Close.
	go srv.Serve(l)
	defer srv.Close()

	c, err := weft.Dial(ctx, l.Addr().String(), nil)
	if err != nil {
		return err
	}
	defer c.Close()
	return callAll(ctx, c)
}

// callAll begins ten calls, the slowest first, and waits for all of them.
func callAll(ctx context.Context, c *weft.Client) error {
	const calls = 10
	began := time.Now()
	done := make(chan *weft.Call, calls) // room for all: a full channel loses results
	for n := calls; n > 0; n-- {
		c.Go(ctx, "Math.Square", &Task{N: n, Millis: 20 * n}, new(Result), done)
	}
	fmt.Printf("%d calls under way\n", calls)
	for range calls {
		call := <-done
		if call.Error != nil {
			return call.Error
		}
		fmt.Printf("%2d² = %3d\n", call.Args.(*Task).N, call.Reply.(*Result).Square)
	}
	took := time.Since(began)
	fmt.Println("all together they took as long as the slowest:", took.Round(20*time.Millisecond))
	if took > time.Second {
		return fmt.Errorf("ten calls took %v, one after the other would be 1.1s", took)
	}
	return nil
}
