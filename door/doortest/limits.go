package doortest

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/internal/polltest"
)

// testLimits opens more calls than a connection may have.
func testLimits(t *testing.T, k Kit) {
	if k.OneCall {
		return // a client cannot open two calls
	}
	const most = 8
	w := start(t, k, &weft.ServerConfig{Limits: weft.Limits{MaxCalls: most}})
	c := w.dial()
	var wg sync.WaitGroup
	var open []<-chan error
	for range most {
		open = append(open, async(&wg, c, "Test.Wait", &Message{}))
	}
	for range most {
		within(t, w.entered, "the calls that are allowed run")
	}
	wantError(t, c.Call("Test.Echo", &Message{}, new(Message)), "Limits.MaxCalls")
	close(w.release)
	for _, done := range open {
		must(t, within(t, done, "a call that was open"))
	}
	wg.Wait()
	polltest.True(t, patience, "there is room again", func() bool { return c.Call("Test.Echo", &Message{}, new(Message)) == nil })
	if n := w.srv.Stats().Refused[weft.ReasonTooManyCalls]; n == 0 {
		t.Error("no refusal was counted")
	}
}

// testTooLarge sends a request beyond the limit: it is refused, or its connection ended.
func testTooLarge(t *testing.T, k Kit) {
	w := start(t, k, &weft.ServerConfig{Limits: weft.Limits{MaxMessage: 64 << 10}})
	c := w.dial()
	echo(t, c, Message{strings.Repeat("x", 32<<10), 1})
	if err := c.Call("Test.Echo", &Message{Text: strings.Repeat("x", 1<<20)}, new(Message)); err == nil {
		t.Error("a request of 1 MiB was taken, MaxMessage is 64 KiB")
	}
	echo(t, w.dial(), Message{"another connection", 1})
}

// testTimeout makes a call without a deadline.
func testTimeout(t *testing.T, k Kit) {
	w := start(t, k, &weft.ServerConfig{Timeout: 50 * time.Millisecond})
	c := w.dial()
	if err := c.Call("Test.Wait", &Message{}, new(Message)); err == nil {
		t.Error("the call went well")
	}
	if err := within(t, w.ended, "the handler's context ends"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("it ended with %v", err)
	}
	// A call may need longer than that on a busy machine.
	polltest.True(t, patience, "calls go on", func() bool { return c.Call("Test.Echo", &Message{}, new(Message)) == nil })
}

// testDisconnect loses the client while calls run.
func testDisconnect(t *testing.T, k Kit) {
	w := start(t, k, nil)
	c := w.dial()
	var wg sync.WaitGroup
	done := async(&wg, c, "Test.Wait", &Message{})
	within(t, w.entered, "the call runs")
	must(t, c.Close())
	if err := within(t, w.ended, "the handler's context ends"); !errors.Is(err, context.Canceled) {
		t.Errorf("it ended with %v", err)
	}
	if within(t, done, "the call ends") == nil {
		t.Error("a call on a closed connection went well")
	}
	wg.Wait()
}

// testDrain shuts the server down while calls run: they end well.
func testDrain(t *testing.T, k Kit) {
	w := start(t, k, nil)
	echo(t, w.dial(), Message{"idle", 1})
	var wg sync.WaitGroup
	var open []<-chan error
	each := 5
	if k.OneCall {
		each = 1
	}
	for range 3 {
		c := w.dial()
		for range each {
			open = append(open, async(&wg, c, "Test.Wait", &Message{}))
		}
	}
	for range open {
		within(t, w.entered, "the calls run")
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	shut := make(chan error, 2)
	for range 2 { // at once
		wg.Go(func() { shut <- w.srv.Shutdown(ctx) })
	}
	polltest.True(t, patience, "the idle connection ends", func() bool { return len(w.srv.Peers()) == 3 })
	close(w.release)
	for _, done := range open {
		if err := within(t, done, "a call that was open"); err != nil {
			t.Errorf("a call was lost: %v", err)
		}
	}
	for range 2 {
		if err := within(t, shut, "Shutdown"); err != nil {
			t.Errorf("Shutdown: %v", err)
		}
	}
	wg.Wait()
}

// testCut shuts the server down with no time for calls that do not end.
func testCut(t *testing.T, k Kit) {
	w := start(t, k, nil)
	c := w.dial()
	var wg sync.WaitGroup
	done := async(&wg, c, "Test.Wait", &Message{})
	within(t, w.entered, "the call runs")
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	wantError(t, w.srv.Shutdown(ctx), "1 calls were still running")
	if err := within(t, w.ended, "the handler's context ends"); !errors.Is(err, context.Canceled) {
		t.Errorf("it ended with %v", err)
	}
	if within(t, done, "the call ends") == nil {
		t.Error("a call that was cut off went well")
	}
	wg.Wait()
}

// testClose ends the server at once.
func testClose(t *testing.T, k Kit) {
	w := start(t, k, nil)
	c := w.dial()
	var wg sync.WaitGroup
	done := async(&wg, c, "Test.Wait", &Message{})
	within(t, w.entered, "the call runs")
	must(t, w.srv.Close())
	if within(t, done, "the call ends") == nil {
		t.Error("a call on a closed connection went well")
	}
	wg.Wait()
}
