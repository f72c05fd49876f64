package grpc

import (
	"context"
	"strings"
	"testing"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/codec/gob"
)

// TestUnknownCodec calls with a codec that the server lacks: the answer has the names of those that it has.
func TestUnknownCodec(t *testing.T) {
	c := served(t, func(srv *weft.Server) error {
		return weft.Handle(srv, "Test.Pause", func(_ context.Context, p *Pause) (*Pause, error) { return p, nil })
	})
	err := c.Call(t.Context(), "Test.Pause", &Pause{}, nil, weft.WithCodec(gob.New()))
	e, ok := err.(*weft.Error)
	if !ok || e.Code != weft.Unimplemented || e.Outcome != weft.Refused || e.Reason != weft.ReasonNoCodec {
		t.Fatalf("%+v", err)
	}
	var names []string
	for _, c := range weft.DefaultCodecs() {
		names = append(names, c.Name())
	}
	if want := `there is no codec "gob" here; there are ` + strings.Join(names, ", "); e.Message != want {
		t.Errorf("the message is %q, want %q", e.Message, want)
	}
}
