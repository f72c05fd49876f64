// Command generate uses a service through the code that "weft generate" has made of its
// interface: the same function works with the service itself and with a client of it, so
// that a test needs neither a server nor a mock.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/examples/generate/internal/library"
)

func main() {
	log.SetFlags(0)
	if err := run(context.Background()); err != nil {
		log.Fatalf("generate: %v", err)
	}
}

func run(ctx context.Context) error {
	books := shelves{
		{Title: "Weaving", Authors: []string{"Ann", "Bob"}, Shelf: 1},
		{Title: "Warp and weft", Authors: []string{"Cid"}, Shelf: 1},
		{Title: "Looms", Shelf: 2},
	}
	if err := visit(ctx, "in this process", books); err != nil {
		return err
	}
	server := weft.NewServer(nil)
	defer server.Close()
	if err := library.RegisterLibrary(server, books); err != nil {
		return err
	}
	listener, err := server.Listen(ctx, "tcp://127.0.0.1:0")
	if err != nil {
		return err
	}
	go server.Serve(listener) // ends when the server is closed
	client, err := weft.Dial(ctx, "tcp://"+listener.Addr().String(), nil)
	if err != nil {
		return err
	}
	defer client.Close()
	return visit(ctx, "over the network", library.NewLibraryClient(client))
}

// visit uses a library, wherever it is.
func visit(ctx context.Context, where string, l library.Library) error {
	book, err := l.Find(ctx, &library.Query{Title: "Weaving"})
	if err != nil {
		return err
	}
	fmt.Printf("%s: %s, by %d authors\n", where, book.Title, len(book.Authors))
	if _, err := l.Find(ctx, &library.Query{Title: "Knots"}); weft.CodeOf(err) != weft.NotFound {
		return fmt.Errorf("a book that is not there: %v", err)
	}
	var total library.Total
	if err := l.Count(ctx, &library.Query{Shelf: 1}, &total); err != nil {
		return err
	}
	fmt.Printf("%s: %d books on shelf 1\n", where, total.Books)
	for book, err := range l.List(ctx, &library.Query{Shelf: 1}) {
		if err != nil {
			return err
		}
		fmt.Printf("%s: %s\n", where, book.Title)
	}
	return nil
}
