package accesslog_test

import (
	"context"
	"log/slog"
	"testing"
	"time"
	"unsafe"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/internal/polltest"
	"github.com/weftrpc/weft/plugin/accesslog"
)

// later is a handler that writes records when it is asked to.
type later chan slog.Record

func (later) Enabled(context.Context, slog.Level) bool { return true }
func (l later) Handle(_ context.Context, r slog.Record) error {
	l <- r.Clone()
	return nil
}
func (l later) WithAttrs([]slog.Attr) slog.Handler { return l }
func (l later) WithGroup(string) slog.Handler      { return l }

// opened is a stream that ends with its context.
type opened struct{ weft.RawStream }

// A record has a name of its own: that of the call may be in memory that is used again when the record is written, or when a stream ends.
func TestNamesInMemoryUsedAgain(t *testing.T) {
	l := make(later, 2)
	p, err := accesslog.New(&accesslog.Config{Logger: slog.New(l)})
	if err != nil {
		t.Fatal(err)
	}
	memory := []byte("Arith.Mul")
	method := unsafe.String(&memory[0], len(memory))
	_, _ = p.Client(t.Context(), &weft.CallInfo{Method: method}, nil, func(context.Context, *weft.CallInfo, any) (any, error) { return nil, nil })
	ctx, cancel := context.WithCancel(t.Context())
	_, _ = p.ClientStream(ctx, &weft.CallInfo{Method: method, Stream: true}, func(context.Context, *weft.CallInfo) (weft.RawStream, error) { return opened{}, nil })
	clear(memory)
	cancel()
	polltest.True(t, time.Minute, "both are logged", func() bool { return len(l) == 2 })
	for range 2 {
		r := <-l
		for a := range r.Attrs {
			if a.Key == "method" && a.Value.String() != "Arith.Mul" {
				t.Errorf("logged is a call of %q", a.Value)
			}
		}
	}
}
