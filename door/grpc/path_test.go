package grpc

import (
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/weftrpc/weft"
)

// TestPath registers methods with paths that a client of gRPC could never ask for.
func TestPath(t *testing.T) {
	srv := weft.NewServer(&weft.ServerConfig{Doors: []weft.Door{Door(nil)}, Logger: slog.New(slog.DiscardHandler)})
	defer srv.Close()
	handle := func(name, path string) error {
		return weft.Handle(srv, name, func(_ context.Context, p *Pause) (*Pause, error) { return p, nil }, Path(path))
	}
	for _, path := range []string{"", "/", "//", "h.G/NoSlash", "/NoMethod", "/h.G/", "//Method", "/h.G/A/B"} {
		if err := handle("Test.Pause", path); weft.CodeOf(err) != weft.InvalidArgument || !strings.Contains(err.Error(), "/pkg.Service/Method") {
			t.Errorf("path %q: %v", path, err)
		}
	}
	if err := handle("Test.Pause", "/h.G/Method"); err != nil {
		t.Error(err)
	}
}

// TestPathOfChanges registers methods of a path while a client of gRPC calls it: each call is answered by the method that has the path at that
// moment.
func TestPathOfChanges(t *testing.T) {
	var srv *weft.Server
	c := served(t, func(s *weft.Server) error {
		srv = s
		return nil
	})
	want := func(number int64) {
		t.Helper()
		p, err := weft.Invoke[Pause](t.Context(), c, "h.G.Method", &Pause{})
		switch {
		case number == 0 && weft.CodeOf(err) != weft.Unimplemented:
			t.Errorf("%v, %v; want Unimplemented", p, err)
		case number != 0 && (err != nil || p.Number != number):
			t.Errorf("%v, %v; want %d", p, err, number)
		}
	}
	register := func(name string, number int64, opts ...weft.MethodOption) {
		t.Helper()
		err := weft.Handle(srv, name, func(context.Context, *Pause) (*Pause, error) { return &Pause{Number: number}, nil }, opts...)
		if err != nil {
			t.Fatal(err)
		}
	}
	unregister := func(service string) {
		t.Helper()
		if err := srv.Unregister(service); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		want(0)
		want(0)
		register("One.Method", 1, Path("/h.G/Method"))
		want(1)
		unregister("One")
		want(0)
		register("Two.Method", 2, Path("/h.G/Method"))
		want(2)
		unregister("Two")
		register("Three.Method", 3, Path("/h.G/Method"))
		want(3)
		unregister("Three")
		register("h.G.Method", 4)
		want(4)
		unregister("h.G")
	}
}
