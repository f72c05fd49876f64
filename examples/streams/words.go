package main

import (
	"context"
	"strings"

	"github.com/weftrpc/weft"
)

// The messages of the service.
type (
	Range struct{ From, To int }
	Num   struct{ N int }
	Total struct{ Sum, Count int }
	Line  struct{ Text string }
)

// Words has one method of each kind. Register tells the kinds by the types.
type Words struct{}

// Count sends every number of a range.
func (Words) Count(ctx context.Context, r *Range, out *weft.Sender[Num]) error {
	for n := r.From; n <= r.To; n++ {
		if err := out.Send(&Num{n}); err != nil {
			return err // the call was cancelled or the connection was lost
		}
	}
	return nil
}

// Sum adds up what it gets.
func (Words) Sum(ctx context.Context, in *weft.Receiver[Num]) (*Total, error) {
	var total Total
	for num, err := range in.All() {
		if err != nil {
			return nil, err
		}
		total.Sum += num.N
		total.Count++
	}
	return &total, nil
}

// Shout sends every line back in capitals, as soon as it comes.
func (Words) Shout(ctx context.Context, s *weft.Stream[Line, Line]) error {
	for line, err := range s.All() {
		if err != nil {
			return err
		}
		if err := s.Send(&Line{strings.ToUpper(line.Text)}); err != nil {
			return err
		}
	}
	return nil
}
