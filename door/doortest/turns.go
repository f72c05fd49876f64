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
	"github.com/weftrpc/weft/door/internal/holding"
	"github.com/weftrpc/weft/internal/polltest"
)

// RunTurns checks that large requests wait for their turns to be decoded, and small ones do not: that the door decodes by
// DoorCall.DecodeBody or DoorCall.DecodeInTurn.
func RunTurns(t *testing.T, k Kit) {
	w, all, let := takeTurns(t, k, nil)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer let() // before: the call of a failed test waits for its turn
	c, other := w.dial(), w.dial()
	done := async(&wg, c, "Test.Big", large())
	polltest.True(t, patience, "the call has come", func() bool { return w.srv.Stats().InFlight == all+1 || w.big.Load() > 0 })
	for i := range 20 {
		echo(t, other, Message{"small", i})
	}
	if w.big.Load() != 0 {
		t.Error("a large request was decoded while as many as may be were")
	}
	let()
	if err := within(t, done, "the call"); err != nil {
		t.Errorf("the call that waited: %v", err)
	}
}

// RunStreamTurns checks the same of messages of streams: that the door receives them by DoorCall.DecodeBody, and restores them by
// DoorCall.Restoring. cfg is that of a client of the door, which may compress.
func RunStreamTurns(t *testing.T, k Kit, cfg *weft.ClientConfig) {
	w, _, let := takeTurns(t, k, cfg)
	defer let()
	var received atomic.Int32 // large messages
	must(t, weft.HandleStream(w.srv, "Test.Chat", func(_ context.Context, s *weft.Stream[Message, Message]) error {
		for m, err := range s.All() {
			if err != nil {
				return err
			}
			if len(m.Text) > 100 {
				received.Add(1)
			}
			if err := s.Send(&Message{N: len(m.Text)}); err != nil {
				return err
			}
		}
		return nil
	}))
	c, err := weft.Dial(t.Context(), k.Scheme+"://"+w.addr, cfg)
	must(t, err)
	defer c.Close()
	chat := func() (say func(m *Message), hear func(n int)) {
		s, err := weft.OpenStream[Message, Message](t.Context(), c, "Test.Chat")
		must(t, err)
		t.Cleanup(func() { s.Close() })
		return func(m *Message) {
				t.Helper()
				must(t, s.Send(m))
			}, func(n int) {
				t.Helper()
				m, err := s.Recv()
				must(t, err)
				if m.N != n {
					t.Errorf("a message of %d bytes was received, want %d", m.N, n)
				}
			}
	}
	say, hear := chat()
	sayOther, hearOther := chat()
	say(&Message{Text: "small"})
	hear(5)
	say(large())
	// It may come by a connection of its own: this is time enough for it to come, be received, and be answered.
	for end := time.Now().Add(200 * time.Millisecond); time.Now().Before(end); {
		sayOther(&Message{Text: "small"})
		hearOther(5)
	}
	if received.Load() != 0 {
		t.Error("a large message was decoded while as many as may be were")
	}
	let()
	hear(len(large().Text))
	say(&Message{Text: "again"})
	hear(5)
}

func large() *Message { return &Message{Text: strings.Repeat("x", 128<<10)} }

// takeTurns starts a server of which all turns are taken until let is called. client is the configuration of one more client; nil: there
// is none.
func takeTurns(t *testing.T, k Kit, client *weft.ClientConfig) (w *world, all int, let func()) {
	h := holding.New()
	cfg := &weft.ServerConfig{Codecs: append(weft.DefaultCodecs(), h), Overload: weft.Overload{Off: true}, Timeout: -1}
	if client != nil {
		cfg.Compressors = client.Compressors
	}
	w = start(t, k, cfg)
	ready := false
	defer func() {
		if !ready {
			h.Let() // the test has failed
		}
	}()
	all = max(1, runtime.GOMAXPROCS(0)-1)
	for range all { // connections of weft's own wire, which take all turns of the server
		c, err := weft.Dial(t.Context(), "tcp://"+w.addr, &weft.ClientConfig{Codec: h, Timeout: -1})
		must(t, err)
		done := make(chan struct{})
		t.Cleanup(func() {
			<-done
			c.Close()
		})
		go func() { // it ends when it is let go
			defer close(done)
			if err := c.Call(context.Background(), "Test.Echo", large(), new(Message)); err != nil {
				t.Errorf("a call that holds a turn: %v", err)
			}
		}()
	}
	polltest.True(t, patience, "all turns are taken", func() bool { return h.Waiting() == all })
	ready = true
	return w, all, h.Let
}
