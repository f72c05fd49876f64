package jsonrpc_test

import (
	"context"
	"log/slog"
	stock "net/rpc/jsonrpc"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/jsonrpc"
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
	srv := weft.NewServer(&weft.ServerConfig{Doors: []weft.Door{jsonrpc.Door(nil)}, Logger: slog.New(slog.DiscardHandler)})
	must(t, weft.Handle(srv, "Test.Pause", func(_ context.Context, p *Pause) (*Pause, error) {
		for end := time.Now().Add(time.Duration(p.Busy) * time.Microsecond); time.Now().Before(end); {
		}
		time.Sleep(time.Duration(p.Idle) * time.Millisecond)
		if p.Exit {
			runtime.Goexit()
		}
		return p, nil
	}))
	l, err := srv.Listen(t.Context(), "tcp://127.0.0.1:0")
	must(t, err)
	served := make(chan error, 1)
	go func() { served <- srv.Serve(l) }() // it ends with the server
	defer func() {
		srv.Close()
		<-served
	}()
	c, err := stock.Dial("tcp", l.Addr().String())
	must(t, err)
	defer c.Close()
	for _, busy := range []int64{0, 30, 0, 100} {
		var wg sync.WaitGroup
		for i := range int64(32) {
			wg.Go(func() {
				for n := range int64(60) {
					in := Pause{Number: i*1000 + n, Busy: busy, Text: strings.Repeat("x", int(n*i)%3000)}
					if n == 40 && i%8 == 0 {
						in.Idle = 30
					}
					if n == 45 && i%16 == 0 {
						in.Exit = true
					}
					var out Pause
					switch err := c.Call("Test.Pause", &in, &out); {
					case in.Exit:
						if err == nil || !strings.Contains(err.Error(), "Internal") {
							t.Errorf("a handler that ended its goroutine: %v", err)
							return
						}
					case err != nil || out != in:
						t.Errorf("call %d came back as %v, %v", in.Number, out, err)
						return
					}
				}
			})
		}
		wg.Wait()
	}
}
