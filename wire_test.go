package weft_test

import (
	"context"
	"io"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/transport/mem"
)

// fakeWire is a wire whose connections answer nothing by themselves.
type fakeWire struct {
	call   func(ctx context.Context, c *weft.WireCall) error
	stream func(ctx context.Context) weft.RawStream
}

func (fakeWire) Scheme() string      { return "fake" }
func (fakeWire) Protocols() []string { return nil }
func (w fakeWire) Dial(ctx context.Context, cfg weft.WireConfig) (weft.WireConn, error) {
	conn, err := cfg.Dial(ctx)
	if err != nil {
		return nil, err
	}
	return &fakeConn{fakeWire: w, conn: conn, done: make(chan struct{})}, nil
}

type fakeConn struct {
	fakeWire
	conn net.Conn
	once sync.Once
	done chan struct{}
}

func (c *fakeConn) Conn() net.Conn        { return c.conn }
func (c *fakeConn) Done() <-chan struct{} { return c.done }
func (c *fakeConn) Err() error            { return weft.Errorf(weft.Unavailable, "the connection was closed") }
func (c *fakeConn) Close() error {
	c.once.Do(func() { close(c.done) })
	return c.conn.Close()
}
func (c *fakeConn) Call(ctx context.Context, call *weft.WireCall) error { return c.call(ctx, call) }
func (c *fakeConn) OpenStream(ctx context.Context, _ *weft.WireCall) (weft.RawStream, error) {
	return c.stream(ctx), nil
}

// fakeStream is a stream whose server has ended the call after one message.
type fakeStream struct {
	ctx  context.Context
	left int
}

func (s *fakeStream) Send(any) error { return io.EOF }
func (s *fakeStream) Recv(any) error {
	if err := s.ctx.Err(); err != nil {
		return err
	}
	if s.left--; s.left < 0 {
		return io.EOF
	}
	return nil
}
func (s *fakeStream) CloseSend() error         { return nil }
func (s *fakeStream) Close() error             { return nil }
func (s *fakeStream) Context() context.Context { return s.ctx }

// dialFake makes a client of a fake wire, of a server that accepts connections alone.
func dialFake(t *testing.T, w fakeWire, hooks ...any) *weft.Client {
	t.Helper()
	network := mem.New()
	l, err := network.Listen(t.Context(), "server")
	must(t, err)
	t.Cleanup(func() { l.Close() })
	return dialQuiet(t, "fake+mem://server", &weft.ClientConfig{Transports: transports(network), Wires: []weft.Wire{w}, Hooks: hooks,
		Backoff: time.Millisecond})
}

func dialQuiet(t *testing.T, addr string, cfg *weft.ClientConfig) *weft.Client {
	t.Helper()
	cfg.Lazy = true
	c, err := weft.Dial(t.Context(), addr, cfg)
	must(t, err)
	t.Cleanup(func() { c.Close() })
	return c
}

// ends fails the test if f does not return.
func ends(t *testing.T, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { // it ends with f
		defer close(done)
		f()
	}()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Fatalf("%s does not return", what)
	}
}

func TestForeignStreamThatIsAbandoned(t *testing.T) {
	w := fakeWire{stream: func(ctx context.Context) weft.RawStream { return &fakeStream{ctx, 1} }}
	t.Run("close", func(t *testing.T) {
		c := dialFake(t, w)
		_, err := weft.OpenStream[Args, Product](t.Context(), c, "A.B")
		must(t, err)
		ends(t, "Close", func() { c.Close() })
	})
	t.Run("context", func(t *testing.T) {
		c := dialFake(t, w)
		ctx, cancel := context.WithCancel(t.Context())
		_, err := weft.OpenStream[Args, Product](ctx, c, "A.B")
		must(t, err)
		cancel()
		ends(t, "Shutdown", func() { must(t, c.Shutdown(context.Background())) })
	})
	t.Run("time", func(t *testing.T) {
		c := dialFake(t, w)
		_, err := weft.OpenStream[Args, Product](t.Context(), c, "A.B")
		must(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		ends(t, "Shutdown", func() {
			if err := c.Shutdown(ctx); weft.CodeOf(err) != weft.DeadlineExceeded {
				t.Errorf("Shutdown: %v", err)
			}
		})
	})
}

// TestForeignStreamIsReceivedAfterItsEnd sends to a call that has ended well: what the server
// sent before must still come.
func TestForeignStreamIsReceivedAfterItsEnd(t *testing.T) {
	c := dialFake(t, fakeWire{stream: func(ctx context.Context) weft.RawStream { return &fakeStream{ctx, 2} }})
	s, err := weft.Subscribe[Product](t.Context(), c, "A.B", &Args{}, weft.WithTimeout(time.Minute))
	must(t, err)
	n := 0
	for _, err := range s.All() {
		must(t, err)
		n++
	}
	if n != 2 {
		t.Errorf("%d messages came, want 2", n)
	}
	ends(t, "Shutdown", func() { must(t, c.Shutdown(context.Background())) })
}

// exitOnce is a hook that ends the goroutine of the first connection.
type exitOnce struct{ met atomic.Bool }

func (h *exitOnce) ConnOpened(*weft.Peer) {
	if !h.met.Swap(true) {
		runtime.Goexit()
	}
}

func TestHookThatEndsGoroutineOfForeignConnection(t *testing.T) {
	c := dialFake(t, fakeWire{call: func(context.Context, *weft.WireCall) error { return nil }}, new(exitOnce))
	ends(t, "the call", func() {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		must(t, c.Call(ctx, "A.B", &Args{}, nil))
	})
}

// TestDeadlineOfForeignCall compares what a wire gets with what was asked for.
func TestDeadlineOfForeignCall(t *testing.T) {
	for name, k := range map[string]struct {
		ctx, option, want time.Duration
	}{
		"configured":             {0, 0, weft.DefaultTimeout},
		"context":                {time.Hour, 0, time.Hour},
		"option":                 {0, time.Minute, time.Minute},
		"context is earlier":     {time.Minute, time.Hour, time.Minute},
		"option is earlier":      {time.Hour, time.Minute, time.Minute},
		"none":                   {0, -1, 0},
		"none but the context's": {time.Hour, -1, time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var left time.Duration
				c := dialFake(t, fakeWire{call: func(ctx context.Context, _ *weft.WireCall) error {
					if at, ok := ctx.Deadline(); ok {
						left = time.Until(at)
					}
					return nil
				}})
				ctx := t.Context()
				if k.ctx > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, k.ctx)
					defer cancel()
				}
				var opts []weft.CallOption
				if k.option != 0 {
					opts = append(opts, weft.WithTimeout(k.option))
				}
				must(t, c.Call(ctx, "A.B", &Args{}, nil, opts...))
				if left != k.want {
					t.Errorf("the wire got %v, want %v", left, k.want)
				}
			})
		})
	}
}

// TestMemoryOfForeignCalls has the memory of calls that went well used again, with nothing of them left, and that of a call that failed not:
// its wire may still refer to it.
func TestMemoryOfForeignCalls(t *testing.T) {
	var seen []*weft.WireCall
	fails := false
	c := dialFake(t, fakeWire{call: func(_ context.Context, call *weft.WireCall) error {
		if call.Received != 0 || call.Sent != 0 || call.Oneway || call.ReplyMetadata.Len() != 0 {
			t.Errorf("a call begins as %+v", call)
		}
		call.Sent, call.Received, call.ReplyMetadata = 1, 2, weft.NewMetadata("key", "value")
		seen = append(seen, call)
		if fails {
			return weft.Errorf(weft.Aborted, "as you wish")
		}
		return nil
	}})
	call := func(ctx context.Context) error { return c.Call(ctx, "Test.Call", &Args{7, 8}, new(Product)) }
	must(t, call(weft.WithMetadata(t.Context(), "key", "value")))
	must(t, call(t.Context()))
	fails = true
	if err := call(t.Context()); weft.CodeOf(err) != weft.Aborted {
		t.Errorf("the call failed with %v", err)
	}
	if got := seen[2].Metadata.Len(); got != 0 {
		t.Errorf("a call without metadata has %d pairs", got)
	}
	fails = false
	must(t, call(t.Context()))
	if seen[3] == seen[2] {
		t.Error("the memory of a call that failed is that of another one")
	}
}
