// Command interceptors shows code around calls: a log of every call on the server, a
// limit that refuses calls before their handler, a trace ID that the client adds, and
// a count of the messages of streams. The interceptors that belong together are one
// value, a weft.Plugin, which any number of servers and clients can share.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/weftrpc/weft"
)

// The messages.
type (
	Word  struct{ Text string }
	Range struct{ To int }
	Num   struct{ N int }
)

func echo(_ context.Context, w *Word) (*Word, error) { return w, nil }

func count(_ context.Context, r *Range, out *weft.Sender[Num]) error {
	for n := range r.To {
		if err := out.Send(&Num{n + 1}); err != nil {
			return err
		}
	}
	return nil
}

func main() {
	log.SetFlags(0)
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	j := newJournal()
	srv := weft.NewServer(&weft.ServerConfig{
		Plugins:      []weft.Plugin{j.plugin()},                 // the journal is outermost
		Interceptors: []weft.UnaryInterceptor{refuseLonger(10)}, // then the limit, then the handler
		Hooks:        []any{opened{}},                           // a hook sees one event and has no next
	})
	if err := errors.Join(weft.Handle(srv, "Words.Echo", echo), weft.HandleServerStream(srv, "Words.Count", count)); err != nil {
		return err
	}
	l, err := srv.Listen(ctx, "tcp://127.0.0.1:0")
	if err != nil {
		return err
	}
	// This goroutine ends with Close.
	go srv.Serve(l)
	defer srv.Close()

	c, err := weft.Dial(ctx, l.Addr().String(), &weft.ClientConfig{Interceptors: []weft.UnaryInterceptor{addTrace("trace-7")}})
	if err != nil {
		return err
	}
	defer c.Close()
	return use(ctx, c, j)
}

// use makes a call that is answered, one that the limit refuses, and a stream.
func use(ctx context.Context, c *weft.Client, j *journal) error {
	if _, err := weft.Invoke[Word](ctx, c, "Words.Echo", &Word{"weft"}); err != nil {
		return err
	}
	fmt.Println(<-j.lines)
	_, err := weft.Invoke[Word](ctx, c, "Words.Echo", &Word{"a word that is too long"})
	if !errors.Is(err, weft.InvalidArgument) {
		return fmt.Errorf("the long word returned %v", err)
	}
	fmt.Println(<-j.lines)
	numbers, err := weft.Subscribe[Num](ctx, c, "Words.Count", &Range{To: 3})
	if err != nil {
		return err
	}
	for _, err := range numbers.All() {
		if err != nil {
			return err
		}
	}
	fmt.Println(<-j.lines)
	return nil
}
