package cluster

import (
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/weftrpc/weft/cluster/internal/verdict"
	"github.com/weftrpc/weft/registry/memory"
)

// A server that was reached before, and goes down and comes up all the time, is waited for at every
// moment.
func TestNeverHopelessWhileItComesUp(t *testing.T) {
	reg, err := memory.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer reg.Close()
	c, err := New(&Config{Registry: reg, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	s := newServer(c, "tcp://127.0.0.1:1", 0)
	defer s.leave()
	l := s.link.Load()
	s.cameUp(l)
	var ended atomic.Bool
	var wg sync.WaitGroup
	wg.Go(func() {
		defer ended.Store(true)
		for range 300_000 {
			s.follow(l, verdict.Verdict{Gone: "it cannot be reached", Unreached: true})
			s.cameUp(l)
		}
	})
	for !ended.Load() {
		if s.hopeless(c.now()) {
			t.Error("a call to a server that just comes up is given up")
			break
		}
	}
	wg.Wait()
}
