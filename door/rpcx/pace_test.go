package rpcx_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/rpcx"
)

// Pause is how long a handler takes.
type Pause struct {
	Number int64
	Busy   int64 // microseconds
	Idle   int64 // milliseconds
	Exit   bool  // the handler ends its goroutine
	Text   string
}

// TestPaces calls a method that is fast, short or slow from call to call, so that its calls move between
// the goroutine that reads, workers with others and workers of their own: each is answered, once, with its
// own request, also when a handler holds up the goroutine that reads or ends it.
func TestPaces(t *testing.T) {
	_, addr := serve(t, weft.ServerConfig{}, func(srv *weft.Server) error {
		return weft.Handle(srv, "Test.Pause", func(_ context.Context, p *Pause) (*Pause, error) {
			for end := time.Now().Add(time.Duration(p.Busy) * time.Microsecond); time.Now().Before(end); {
			}
			time.Sleep(time.Duration(p.Idle) * time.Millisecond)
			if p.Exit {
				runtime.Goexit()
			}
			return p, nil
		})
	})
	c := dial(t, addr, rpcx.Wire(nil), func(cfg *weft.ClientConfig) { cfg.MaxConns = 1 })
	for _, busy := range []int64{0, 30, 0, 100} {
		var wg sync.WaitGroup
		for i := range int64(32) {
			wg.Go(func() {
				for n := range int64(60) {
					in := &Pause{Number: i*1000 + n, Busy: busy, Text: strings.Repeat("x", int(n*i)%3000)}
					if n == 40 && i%8 == 0 {
						in.Idle = 30
					}
					if n == 45 && i%16 == 0 {
						in.Exit = true
					}
					out, err := weft.Invoke[Pause](t.Context(), c, "Test.Pause", in)
					switch {
					case in.Exit:
						if e, ok := errors.AsType[*weft.Error](err); !ok || e.Code != weft.Internal {
							t.Errorf("a handler that ended its goroutine: %v", err)
							return
						}
					case err != nil || *out != *in:
						t.Errorf("call %d came back as %v, %v", in.Number, out, err)
						return
					}
				}
			})
		}
		wg.Wait()
	}
}
