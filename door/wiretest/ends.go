package wiretest

import (
	"bytes"
	"context"
	"errors"
	mrand "math/rand/v2"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/internal/polltest"
)

func testPing(t *testing.T, k Kit) {
	w := start(t, k)
	c := w.dial(nil)
	must(t, c.Ping(t.Context()))
}

func testNoServer(t *testing.T, k Kit) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	address := k.Wire().Scheme() + "://" + l.Addr().String()
	l.Close()
	if _, err := weft.Dial(t.Context(), address, k.config()); err == nil {
		t.Error("Dial reached a server that is not there")
	}
	cfg := k.config()
	cfg.Lazy, cfg.NoWaitForReady = true, true
	c, err := weft.Dial(t.Context(), address, cfg)
	must(t, err)
	defer c.Close()
	wantError(t, c.Call(t.Context(), "Test.Echo", &Message{}, nil), weft.Unavailable, weft.NotSent, "connect")
}

// testLost loses the connection under open calls: whether they ran is not known, and the
// next call gets a new connection.
func testLost(t *testing.T, k Kit) {
	w := start(t, k)
	c := w.dial(nil)
	var wg sync.WaitGroup
	var open []<-chan error
	for range 5 {
		open = append(open, w.async(t.Context(), &wg, c))
	}
	w.cut()
	for _, done := range open {
		wantError(t, within(t, done, "the call ends"), weft.Unavailable, weft.OutcomeUnknown, "")
	}
	wg.Wait()
	echo(t, c, Message{"on a new connection", 1})
}

// testShutdown lets open calls end.
func testShutdown(t *testing.T, k Kit) {
	w := start(t, k)
	c := w.dial(nil)
	var wg sync.WaitGroup
	done := w.async(t.Context(), &wg, c)
	shut := make(chan error, 1)
	wg.Go(func() { shut <- c.Shutdown(context.Background()) })
	polltest.True(t, patience, "new calls are refused", func() bool {
		return errors.Is(c.Call(t.Context(), "Test.Echo", &Message{}, nil), weft.ErrClientClosed)
	})
	w.letGo()
	must(t, within(t, done, "the open call ends"))
	must(t, within(t, shut, "Shutdown"))
	wg.Wait()
}

func testClose(t *testing.T, k Kit) {
	w := start(t, k)
	c := w.dial(nil)
	var wg sync.WaitGroup
	done := w.async(t.Context(), &wg, c)
	must(t, c.Close())
	err := within(t, done, "the open call ends")
	wantError(t, err, weft.Canceled, weft.OutcomeUnknown, "")
	if !errors.Is(err, weft.ErrClientClosed) {
		t.Errorf("%v is no ErrClientClosed", err)
	}
	wg.Wait()
}

// testTooLarge sends and receives more than the client's limit.
func testTooLarge(t *testing.T, k Kit) {
	w := start(t, k)
	c := w.dial(func(cfg *weft.ClientConfig) { cfg.Limits.MaxMessage = 64 << 10 })
	err := c.Call(t.Context(), "Test.Echo", &Message{Text: strings.Repeat("x", 1<<20)}, new(Message))
	wantError(t, err, weft.ResourceExhausted, weft.NotSent, "Limits.MaxMessage")
	echo(t, c, Message{"after", 1})
}

// record is what the server answers to a call of Test.Echo.
func (w *world) record() []byte {
	w.t.Helper()
	c := w.dial(nil)
	echo(w.t, c, Message{"recorded", 1})
	w.mu.Lock()
	defer w.mu.Unlock()
	return bytes.Clone(w.sent)
}

// testCutBytes gets answers that end too early.
func testCutBytes(t *testing.T, k Kit) {
	// Without the white space that some wires have behind a message, which is whole without it.
	answer := bytes.TrimRight(start(t, k).record(), "\n")
	for n := range answer {
		l := answering(t, answer[:n])
		once(t, k, l, func(err error) {
			if e, ok := errors.AsType[*weft.Error](err); !ok || e.Code != weft.Unavailable && e.Code != weft.DeadlineExceeded {
				t.Errorf("an answer cut at %d of %d: %v", n, len(answer), err)
			}
		})
		l.Close()
	}
}

// testChangedBytes gets answers with wrong bytes: the call ends, well or badly.
func testChangedBytes(t *testing.T, k Kit) {
	answer := start(t, k).record()
	random := mrand.New(mrand.NewPCG(3, 4))
	for range 100 {
		changed := bytes.Clone(answer)
		for range 1 + random.IntN(4) {
			changed[random.IntN(len(changed))] = byte(random.Uint32())
		}
		l := answering(t, changed)
		once(t, k, l, func(error) {})
		l.Close()
	}
}

// once makes one call to a server of nonsense.
func once(t *testing.T, k Kit, l net.Listener, check func(error)) {
	t.Helper()
	c, err := weft.Dial(t.Context(), k.Wire().Scheme()+"://"+l.Addr().String(), k.config())
	if err != nil {
		return // wires with a handshake may notice at once
	}
	defer c.Close()
	ended := make(chan error, 1)
	var wg sync.WaitGroup
	wg.Go(func() {
		ended <- c.Call(t.Context(), "Test.Echo", &Message{"recorded", 1}, new(Message), weft.WithTimeout(300*time.Millisecond))
	})
	check(within(t, ended, "a call whose answer is nonsense"))
	wg.Wait()
}
