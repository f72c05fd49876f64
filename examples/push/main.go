// Command push shows calls from the server to its clients, over the connections
// that the clients made: a handler asks its caller back before it answers, and the
// server notifies all connected clients.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/weftrpc/weft"
)

// The messages: a client wants to delete something and is asked whether it is sure.
type (
	File     struct{ Name string }
	Question struct{ Text string }
	Answer   struct{ Yes bool }
	Done     struct{ Text string }
	News     struct{ Text string }
)

// deleteFile is the server's method. It calls its caller before it answers.
func deleteFile(ctx context.Context, f *File) (*Done, error) {
	caller := weft.PeerFrom(ctx)
	answer, err := weft.Invoke[Answer](ctx, caller, "User.Confirm", &Question{"delete " + f.Name + "?"})
	if err != nil {
		return nil, err
	}
	if !answer.Yes {
		return nil, weft.Errorf(weft.Aborted, "the caller said no")
	}
	return &Done{f.Name + " is deleted"}, nil
}

func main() {
	log.SetFlags(0)
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	srv := weft.NewServer(nil)
	if err := weft.Handle(srv, "Files.Delete", deleteFile); err != nil {
		return err
	}
	l, err := srv.Listen(ctx, "tcp://127.0.0.1:0")
	if err != nil {
		return err
	}
	// This goroutine ends with Close.
	go srv.Serve(l)
	defer srv.Close()

	got := make(chan string, 3)
	for _, name := range []string{"ann", "bob", "cid"} {
		c, err := connect(ctx, l.Addr().String(), name, got)
		if err != nil {
			return err
		}
		defer c.Close()
		done, err := weft.Invoke[Done](ctx, c, "Files.Delete", &File{name + ".txt"})
		switch {
		case weft.CodeOf(err) == weft.Aborted && name == "bob":
			fmt.Println("  ", err)
		case err != nil:
			return err
		default:
			fmt.Println("  ", done.Text)
		}
	}
	return tellAll(ctx, srv, got)
}

// connect makes a client that can be called.
func connect(ctx context.Context, address, name string, got chan<- string) (*weft.Client, error) {
	services := weft.NewServices()
	if err := weft.Handle(services, "User.Confirm", func(ctx context.Context, q *Question) (*Answer, error) {
		fmt.Printf("%s is asked: %s\n", name, q.Text)
		return &Answer{Yes: name != "bob"}, nil
	}); err != nil {
		return nil, err
	}
	if err := weft.Handle(services, "User.Tell", func(ctx context.Context, n *News) (*struct{}, error) {
		got <- name + " got: " + n.Text
		return &struct{}{}, nil
	}); err != nil {
		return nil, err
	}
	return weft.Dial(ctx, address, &weft.ClientConfig{Services: services})
}

// tellAll notifies every client and waits until all have got the news.
func tellAll(ctx context.Context, srv *weft.Server, got <-chan string) error {
	peers := srv.Peers()
	fmt.Printf("the server tells all %d clients\n", len(peers))
	for _, p := range peers {
		if err := p.Notify(ctx, "User.Tell", &News{"maintenance at noon"}); err != nil {
			return err
		}
	}
	for range peers {
		select {
		case line := <-got:
			fmt.Println("  ", line)
		case <-time.After(5 * time.Second):
			return errors.New("a client has not got the news after 5 s")
		}
	}
	return nil
}
