package main

import (
	"context"
	"iter"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/examples/generate/internal/library"
)

// shelves is a Library in memory. It knows nothing of servers.
type shelves []*library.Book

var _ library.Library = shelves(nil)

func (s shelves) Find(_ context.Context, req *library.Query) (*library.Book, error) {
	for _, b := range s {
		if b.Title == req.Title {
			return b, nil
		}
	}
	return nil, weft.Errorf(weft.NotFound, "there is no book %q", req.Title)
}

func (s shelves) Count(_ context.Context, req *library.Query, res *library.Total) error {
	for _, b := range s {
		if b.Shelf == req.Shelf {
			res.Books++
		}
	}
	return nil
}

func (s shelves) List(_ context.Context, req *library.Query) iter.Seq2[*library.Book, error] {
	return func(yield func(*library.Book, error) bool) {
		for _, b := range s {
			if b.Shelf == req.Shelf && !yield(b, nil) {
				return
			}
		}
	}
}
