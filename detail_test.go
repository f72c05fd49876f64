package weft_test

import (
	"context"
	"testing"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/weftrpc/weft"
)

// Shortage is a detail of an error.
type Shortage struct {
	Item    string
	Missing int
}

// Details of errors are typed: Go values and protobuf messages arrive as they were sent.
func TestDetails(t *testing.T) {
	w := start(t, nil, func(s *weft.Server) error {
		return weft.Handle(s, "Shop.Order", func(context.Context, *Args) (*Product, error) {
			return nil, weft.Errorf(weft.FailedPrecondition, "not in stock").
				With(&Shortage{"tea", 3}).With(durationpb.New(90e9)).With(&Shortage{"milk", 1}).With(make(chan int))
		})
	})
	err := w.dial(nil).Call(t.Context(), "Shop.Order", &Args{}, nil)
	wantError(t, err, weft.FailedPrecondition, weft.Executed, "not in stock", "detail of type chan int")
	all := weft.Details[Shortage](err)
	if len(all) != 2 || *all[0] != (Shortage{"tea", 3}) || *all[1] != (Shortage{"milk", 1}) {
		t.Errorf("%+v", all)
	}
	if d := weft.Details[durationpb.Duration](err); len(d) != 1 || d[0].GetSeconds() != 90 {
		t.Errorf("%v", d)
	}
	if weft.Details[Args](err) != nil || weft.Details[Shortage](context.Canceled) != nil {
		t.Error("details that are not there")
	}
}
