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
