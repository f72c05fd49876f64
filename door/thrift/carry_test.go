package thrift_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/thrift"
)

// TestUncarried: messages of types that have no form in Thrift are found before a call is sent.
func TestUncarried(t *testing.T) {
	var ran atomic.Int32
	addr := start(t, nil, func(srv *weft.Server) error {
		return weft.Handle(srv, "Demo.Text", func(_ context.Context, text *string) (*string, error) {
			ran.Add(1)
			return text, nil
		})
	})
	c, err := weft.Dial(t.Context(), "thrift://"+addr, &weft.ClientConfig{Wires: []weft.Wire{thrift.Wire(nil)}, Logger: slog.New(slog.DiscardHandler)})
	must(t, err)
	defer c.Close()
	text := "text"
	for what, messages := range map[string][2]any{
		"cannot carry a request of type *struct { A interface {} }": {&struct{ A any }{}, new(string)},
		"cannot carry a reply of type *struct { C chan int }":       {&text, &struct{ C chan int }{}},
		"cannot carry a reply of type *interface {}":                {&text, new(any)},
	} {
		err := c.Call(t.Context(), "Demo.Text", messages[0], messages[1])
		e, ok := errors.AsType[*weft.Error](err)
		if !ok || e.Code != weft.InvalidArgument || e.Outcome != weft.NotSent || !strings.Contains(err.Error(), what) {
			t.Errorf("%v, want NotSent and %q", err, what)
		}
	}
	if n := ran.Load(); n != 0 {
		t.Errorf("%d handlers have run", n)
	}
	must(t, c.Call(t.Context(), "Demo.Text", &text, new(string)))
}
