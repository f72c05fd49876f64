package carriers

import (
	"errors"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/internal/polltest"
)

// TestEndWhileDialing: a caller that may make a new connection while the last one ends gets to keep it. The waits let the mutex go
// to the goroutines in their order; what is wanted does not depend on it.
func TestEndWhileDialing(t *testing.T) {
	for range 10 {
		here, there := net.Pipe()
		cc, err := Options{}.clientConn(t.Context(), here, "127.0.0.1:80", func() {})
		if err != nil {
			t.Fatal(err)
		}
		there.Close()
		polltest.True(t, time.Minute, "the connection has ended", func() bool { return cc.Err() != nil })
		x := &Carrier{ClientConn: cc, under: here}
		c := &Conns{o: Options{MaxConns: 2}, conns: []*Carrier{x}, done: make(chan struct{}), freed: make(chan struct{})}
		c.mu.Lock()
		may := false
		var both sync.WaitGroup
		both.Go(func() { c.changed(x) })
		time.Sleep(2 * time.Millisecond)
		both.Go(func() { may = c.mayDial() })
		time.Sleep(2 * time.Millisecond)
		c.mu.Unlock()
		c.mu.Lock() // a goroutine that is woken in vain gets the mutex next
		time.Sleep(2 * time.Millisecond)
		c.mu.Unlock()
		both.Wait()
		if why := c.Err(); may != (why == nil) {
			t.Fatalf("a connection may be made: %v; all have ended: %v", may, why)
		}
	}
}

// TestLostBeforeAnnounced: the server is lost when a connection ends without a word, also if one that it has announced to close is noticed to
// have ended later.
func TestLostBeforeAnnounced(t *testing.T) {
	announced, silent := &Carrier{closes: true}, &Carrier{}
	c := &Conns{o: Options{MaxConns: 2}, conns: []*Carrier{announced}, done: make(chan struct{}), freed: make(chan struct{})}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lookLocked(silent)
	if c.err != nil {
		t.Fatalf("it has ended with a connection left: %v", c.err)
	}
	c.conns = nil
	c.lookLocked(announced)
	if c.err == nil {
		t.Error("it has not ended with its last connection")
	}
}

// TestLostOutcome: whether a request ran whose answer did not come is unknown, unless the server refused its stream.
func TestLostOutcome(t *testing.T) {
	for text, want := range map[string]weft.Outcome{
		"stream error: stream ID 3; REFUSED_STREAM; received from peer":    weft.Refused,
		"stream error: stream ID 3; ENHANCE_YOUR_CALM; received from peer": weft.OutcomeUnknown,
		"read: connection reset by peer":                                   weft.OutcomeUnknown,
	} {
		if e := new(Conns).Lost(t.Context(), errors.New(text)); e.Outcome != want {
			t.Errorf("%s: %v, want %v", text, e.Outcome, want)
		}
	}
}
