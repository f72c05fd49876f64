package http2

import (
	"net"
	"sync/atomic"
	"testing"
)

// wrapped counts the operations that do not go to the socket itself.
type wrapped struct {
	net.Conn
	reads, writes atomic.Int64
}

func (w *wrapped) Read(p []byte) (int, error) {
	w.reads.Add(1)
	return w.Conn.Read(p)
}

func (w *wrapped) Write(p []byte) (int, error) {
	w.writes.Add(1)
	return w.Conn.Write(p)
}

func (w *wrapped) Rest() net.Conn { return w.Conn }

func (w *wrapped) WritesTo() net.Conn { return w.Conn }

// watching is a guard of which the test says whether it watches.
type watching struct {
	Guard
	known atomic.Bool
}

func (g *watching) Known() *atomic.Bool { return &g.known }

// TestSocketsWhileWatched reads from and writes to the socket itself as long as the guard watches: the Go scheduler, which is not told
// of that, may have its monitor sleep until the next timer is due.
func TestSocketsWhileWatched(t *testing.T) {
	w, guard := new(wrapped), new(watching)
	_, r := pairOn(t, func(nc net.Conn) net.Conn {
		w.Conn = nc
		return w
	}, func(c *Config) {
		of := c.Guard
		c.Guard = func(f func()) Guard {
			guard.Guard = of(f)
			return guard
		}
	})
	r.greet().get(1, "/", true).send().until(typeData, 1)
	if w.reads.Load() == 0 || w.writes.Load() == 0 {
		t.Errorf("%d reads and %d writes while the guard does not watch", w.reads.Load(), w.writes.Load())
	}
	guard.known.Store(true)
	r.get(3, "/", true).send().until(typeData, 3) // it is read as before
	reads, writes := w.reads.Load(), w.writes.Load()
	r.get(5, "/", true).send().until(typeData, 5)
	r.get(7, "/", true).send().until(typeData, 7)
	if w.reads.Load() != reads || w.writes.Load() != writes {
		t.Errorf("%d reads and %d writes while the guard watches", w.reads.Load()-reads, w.writes.Load()-writes)
	}
	guard.known.Store(false)
	r.get(9, "/", true).send().until(typeData, 9) // it is read as before
	r.get(11, "/", true).send().until(typeData, 11)
	if w.reads.Load() == reads || w.writes.Load() == writes {
		t.Error("the socket itself is used while the guard does not watch")
	}
}
