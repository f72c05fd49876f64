// Command streams shows the three kinds of streaming calls: the server sends many
// messages, the client sends many, and both do. The server's side is in words.go.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/weftrpc/weft"
)

func main() {
	log.SetFlags(0)
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // ends every stream that was not received from until its end
	srv := weft.NewServer(nil)
	if err := srv.Register(Words{}); err != nil {
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
	return errors.Join(count(ctx, c), sum(ctx, c), shout(ctx, c))
}

func count(ctx context.Context, c *weft.Client) error {
	nums, err := weft.Subscribe[Num](ctx, c, "Words.Count", &Range{From: 1, To: 5})
	if err != nil {
		return err
	}
	fmt.Print("from the server:")
	for num, err := range nums.All() {
		if err != nil {
			return err
		}
		fmt.Print(" ", num.N)
	}
	fmt.Println()
	return nil
}

func sum(ctx context.Context, c *weft.Client) error {
	s, err := weft.OpenStream[Num, Total](ctx, c, "Words.Sum")
	if err != nil {
		return err
	}
	for n := range 1000 {
		if err := s.Send(&Num{n + 1}); err != nil {
			return err
		}
	}
	if err := s.CloseSend(); err != nil {
		return err
	}
	total, err := s.Recv()
	if err != nil {
		return err
	}
	fmt.Printf("from the client: the sum of %d numbers is %d\n", total.Count, total.Sum)
	return nil
}

func shout(ctx context.Context, c *weft.Client) error {
	s, err := weft.OpenStream[Line, Line](ctx, c, "Words.Shout")
	if err != nil {
		return err
	}
	for _, text := range []string{"warp", "weft", "cloth"} {
		if err := s.Send(&Line{text}); err != nil {
			return err
		}
		answer, err := s.Recv()
		if err != nil {
			return err
		}
		fmt.Printf("both ways: %s, %s\n", text, answer.Text)
	}
	return s.CloseSend()
}
