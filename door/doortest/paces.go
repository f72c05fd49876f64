package doortest

import (
	"context"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weftrpc/weft"
)

// testPaces calls a method that is fast, short or slow from call to call, so that a door may run its calls on the goroutine that
// reads, with others on a worker, or each on its own: each is answered, once, with its own request, also when a handler holds up
// its goroutine or ends it.
func testPaces(t *testing.T, k Kit) {
	callers, calls := 32, 60
	if k.OneCall {
		callers = 1
	}
	const ends = "the handler ended its goroutine"
	w := start(t, k, &weft.ServerConfig{Overload: weft.Overload{Off: true}}) // a busy machine makes calls late
	var busy atomic.Int64
	must(t, weft.Handle(w.srv, "Test.Pause", func(_ context.Context, m *Message) (*Message, error) {
		for end := time.Now().Add(time.Duration(busy.Load())); time.Now().Before(end); {
		}
		if m.N%8000 == 40 {
			time.Sleep(30 * time.Millisecond)
		}
		if m.Text == ends {
			runtime.Goexit()
		}
		return m, nil
	}))
	c := w.dial()
	for _, pause := range []time.Duration{0, 30 * time.Microsecond, 0, 100 * time.Microsecond} {
		busy.Store(int64(pause))
		var wg sync.WaitGroup
		for i := range callers {
			wg.Go(func() {
				for n := range calls {
					in, out := Message{strings.Repeat("x", n*i%3000), i*1000 + n}, Message{}
					if n == 45 && i%16 == 15 {
						in.Text = ends
					}
					switch err := c.Call("Test.Pause", &in, &out); {
					case in.Text == ends:
						if err == nil || !strings.Contains(err.Error(), ends) {
							t.Errorf("a handler that ended its goroutine: %v", err)
							return
						}
					case err != nil || out != in:
						t.Errorf("call %d of %d bytes came back as call %d of %d bytes: %v", in.N, len(in.Text), out.N, len(out.Text), err)
						return
					}
				}
			})
		}
		wg.Wait()
	}
	if k.OneCall { // the connection may end with its goroutine
		wantError(t, c.Call("Test.Pause", &Message{Text: ends}, new(Message)), ends)
		echo(t, w.dial(), Message{"afterwards", 1})
	}
}
