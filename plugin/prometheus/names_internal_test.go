package prometheus

import (
	"context"
	"testing"
	"time"
	"unsafe"

	client "github.com/prometheus/client_golang/prometheus"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/internal/polltest"
)

// The exemplars of a call are kept by a name of their own, also those of a stream that ends when the memory of its name is used again.
func TestNamesInMemoryUsedAgain(t *testing.T) {
	for name, want := range map[string]string{"Svc.Mul": "Svc/Mul", "Mul": "Mul"} {
		c := New(nil)
		p := c.Exemplars("x", func(context.Context) client.Labels { return client.Labels{"a": "b"} })
		memory := []byte(name)
		method := unsafe.String(&memory[0], len(memory))
		_, _ = p.Client(t.Context(), &weft.CallInfo{Method: method}, nil, func(context.Context, *weft.CallInfo, any) (any, error) { return nil, nil })
		clear(memory)
		copy(memory, name)
		ctx, cancel := context.WithCancel(t.Context())
		_, _ = p.ClientStream(ctx, &weft.CallInfo{Method: method, Stream: true}, func(context.Context, *weft.CallInfo) (weft.RawStream, error) { return opened{}, nil })
		clear(memory)
		cancel()
		polltest.True(t, time.Minute, "the stream is counted", func() bool { return c.exemplars.n.Load() == 2 })
		for s := range c.exemplars.all.Range {
			if got := s.(series).method; got != want {
				t.Errorf("an exemplar of %s is kept for %q", name, got)
			}
		}
	}
}

// opened is a stream that ends with its context.
type opened struct{ weft.RawStream }
