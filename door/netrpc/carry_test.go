package netrpc_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/netrpc"
)

// TestUncarried: messages of types that gob never carries are found before a call is sent.
func TestUncarried(t *testing.T) {
	var ran atomic.Int32
	srv := weft.NewServer(&weft.ServerConfig{Doors: []weft.Door{netrpc.Door()}, Logger: slog.New(slog.DiscardHandler)})
	must(t, weft.Handle(srv, "Test.Text", func(_ context.Context, text *string) (*string, error) {
		ran.Add(1)
		return text, nil
	}))
	l, err := srv.Listen(t.Context(), "tcp://127.0.0.1:0")
	must(t, err)
	var served sync.WaitGroup
	served.Go(func() { _ = srv.Serve(l) })
	defer served.Wait()
	defer srv.Close()
	c, err := weft.Dial(t.Context(), "netrpc://"+l.Addr().String(), &weft.ClientConfig{Wires: []weft.Wire{netrpc.Wire()}, Logger: slog.New(slog.DiscardHandler)})
	must(t, err)
	defer c.Close()
	text := "text"
	for what, messages := range map[string][2]any{
		"cannot carry a request of type *struct { a int }": {&struct{ a int }{}, new(string)},
		"cannot carry a reply of type *struct { a int }":   {&text, &struct{ a int }{}},
		"cannot carry a reply of type *[]chan int":         {&text, new([]chan int)},
	} {
		err := c.Call(t.Context(), "Test.Text", messages[0], messages[1])
		e, ok := errors.AsType[*weft.Error](err)
		if !ok || e.Code != weft.InvalidArgument || e.Outcome != weft.NotSent || !strings.Contains(err.Error(), what) {
			t.Errorf("%v, want NotSent and %q", err, what)
		}
	}
	if n := ran.Load(); n != 0 {
		t.Errorf("%d handlers have run", n)
	}
	must(t, c.Call(t.Context(), "Test.Text", &text, new(string)))
}
