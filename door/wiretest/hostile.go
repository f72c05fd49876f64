package wiretest

import (
	"context"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weftrpc/weft"
)

// testLate makes a call whose time has passed before the wire gets it.
func testLate(t *testing.T, k Kit) {
	w := start(t, k)
	c := w.dial(func(cfg *weft.ClientConfig) {
		cfg.Plugins = []weft.Plugin{{Name: "slow", Client: func(ctx context.Context, info *weft.CallInfo, req any, next weft.UnaryFunc) (any, error) {
			time.Sleep(5 * time.Millisecond)
			return next(ctx, info, req)
		}}}
	})
	for range 20 {
		err := c.Call(t.Context(), "Test.Echo", &Message{}, new(Message), weft.WithTimeout(time.Millisecond))
		wantError(t, err, weft.DeadlineExceeded, weft.NotSent, "")
	}
}

// testDeaf calls a server that reads nothing: every call ends at its deadline, also one that
// waits to be written, and Close does not wait for the server.
func testDeaf(t *testing.T, k Kit) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer l.Close()
	var wg sync.WaitGroup
	var mu sync.Mutex
	var conns []net.Conn
	wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			conns = append(conns, conn)
			mu.Unlock()
		}
	})
	cfg := k.config()
	cfg.Limits.WriteTimeout, cfg.Limits.HandshakeTimeout = 10*patience, time.Second
	cfg.Limits.WriteBuffer = 1 << 20
	c, err := weft.Dial(t.Context(), k.Wire().Scheme()+"://"+l.Addr().String(), cfg)
	if err == nil { // a wire with a handshake has failed
		text := strings.Repeat("x", 3<<20)
		done := make(chan error, 8)
		for range cap(done) {
			wg.Go(func() {
				done <- c.Call(t.Context(), "Test.Echo", &Message{Text: text}, new(Message), weft.WithTimeout(100*time.Millisecond))
			})
		}
		for range cap(done) {
			if err := within(t, done, "a call of a server that reads nothing"); weft.CodeOf(err) != weft.DeadlineExceeded {
				t.Errorf("%v, want DeadlineExceeded", err)
			}
		}
		closed := make(chan struct{})
		wg.Go(func() {
			c.Close()
			close(closed)
		})
		within(t, closed, "Close")
	}
	l.Close()
	mu.Lock()
	for _, conn := range conns {
		conn.Close()
	}
	mu.Unlock()
	wg.Wait()
}

// testOnewayShutdown shuts the client down behind one-way calls: none is lost.
func testOnewayShutdown(t *testing.T, k Kit) {
	const calls = 300
	w := start(t, k)
	c := w.dial(nil)
	w.letGo()
	text := strings.Repeat("x", 4<<10)
	for range calls {
		must(t, c.Notify(t.Context(), "Test.Wait", &Message{Text: text}))
	}
	must(t, c.Shutdown(t.Context()))
	for range calls {
		within(t, w.h.entered, "a one-way call runs")
	}
}
