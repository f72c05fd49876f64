package grpc

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/weftrpc/weft"
)

// A stream of a method that does not exist is answered though its caller may still send.
func TestMissingStream(t *testing.T) {
	c := served(t, func(srv *weft.Server) error {
		return weft.Handle(srv, "Test.Pause", func(_ context.Context, p *Pause) (*Pause, error) { return p, nil })
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	s, err := weft.OpenStream[Pause, Pause](ctx, c, "Test.Missing")
	if err != nil {
		t.Fatal(err)
	}
	_ = s.Send(&Pause{Number: 1}) // which may find the answer
	var e *weft.Error
	if _, err := s.Recv(); !errors.As(err, &e) || e.Code != weft.Unimplemented || e.Outcome != weft.Refused {
		t.Errorf("%v, want Unimplemented, Refused", err)
	}
	if _, err := weft.Invoke[Pause](ctx, c, "Test.Pause", &Pause{}); err != nil {
		t.Errorf("the connection is of no use behind it: %v", err)
	}
}
