// Package library is a service as a Go interface. "weft generate -codec", run in this
// folder, has written library_weft.go: a client that is a Library itself, the function that
// registers one, and code that encodes and decodes the messages.
package library

import (
	"context"
	"iter"
)

// Library lends books.
//
//weft:service
type Library interface {
	// Find returns the book with a title.
	//
	//weft:idempotent
	Find(ctx context.Context, req *Query) (*Book, error)

	// Count fills in how many books are on a shelf. Its messages are used again for
	// later calls: what is kept of them must be copied.
	//
	//weft:reuse
	Count(ctx context.Context, req *Query, res *Total) error

	// List sends the books on a shelf.
	List(ctx context.Context, req *Query) iter.Seq2[*Book, error]
}

// Query asks for books.
type Query struct {
	Title string `weft:"1"`
	Shelf int32  `weft:"2"`
}

// Book is what is lent.
type Book struct {
	Title   string   `weft:"1"`
	Authors []string `weft:"2"`
	Shelf   int32    `weft:"3"`
}

// Total is a number of books.
type Total struct {
	Books int64 `weft:"1"`
}
