package http2

import (
	"bytes"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weftrpc/weft/door/internal/ends"
	"github.com/weftrpc/weft/internal/replay"
	"github.com/weftrpc/weft/internal/socket"
)

// watching is a guard of which the test says whether it watches.
type watching struct {
	Guard
	known *atomic.Bool
}

func (g watching) Known() *atomic.Bool { return g.known }

// TestEnds has a connection of which some bytes were read ahead read from and written to the socket itself, while the guard watches and while
// it does not.
func TestEnds(t *testing.T) {
	const ahead = 7
	var known atomic.Bool
	e, r := pairOn(t, func(nc net.Conn) net.Conn { return replay.Conn(nc, []byte(Preface[:ahead])) }, func(c *Config) {
		of := c.Guard
		c.Guard = func(f func()) Guard { return watching{of(f), &known} }
	})
	r.greet().buf = r.buf[ahead:]
	id := uint32(1)
	for _, watches := range []bool{false, true, false} {
		known.Store(watches)
		for range 4 {
			r.get(id, "/", true).send().until(typeData, id)
			id += 2
		}
		for _, end := range []net.Conn{e.conn.ends.In, e.conn.ends.Out} {
			if p, ok := end.(*socket.Pulsed); !ok || e.conn.ends.Watched.Due() != watches {
				t.Errorf("an end is a %T, and a timer is due: %v, want %v", p, !watches, watches)
			}
		}
	}
}

// TestEndsOfAnother leaves a connection that is no socket as it is.
func TestEndsOfAnother(t *testing.T) {
	here, there := net.Pipe()
	defer here.Close()
	defer there.Close()
	e := ends.Ends{Watched: new(socket.Pulse)}
	nc := replay.Conn(here, []byte("ahead"))
	e.WritesTo(nc)
	e.ReadsFrom(nc)
	if e.Out != here || e.In != nc {
		t.Errorf("the ends are a %T and a %T", e.In, e.Out)
	}
	if _, err := io.ReadFull(e.In, make([]byte, len("ahead"))); err != nil {
		t.Error(err)
	}
}

// TestFlushSoon has a goroutine write that must not be held up, more than a peer takes that does not read: it returns, and all comes in order
// when the peer reads. It is so by system calls of both kinds.
func TestFlushSoon(t *testing.T) {
	for _, watches := range []bool{false, true} {
		var known atomic.Bool
		known.Store(watches)
		e, r := pair(t, func(c *Config) {
			c.Client = true
			of := c.Guard
			c.Guard = func(f func()) Guard { return watching{of(f), &known} }
		})
		r.server()
		<-e.conn.Settled()
		sent := make([]byte, 0, 16<<20)
		send := func(frames int) {
			e.conn.Lock()
			for range frames {
				sent = appendWindow(sent, 0, uint32(len(sent)))
				e.conn.buf = append(e.conn.buf, sent[len(sent)-headerSize-4:]...)
			}
			e.conn.FlushSoonAndUnlock(false)
		}
		for f, ok := r.next(); f.typ != typeSettings; f, ok = r.next() { // behind the update of the window
			if !ok {
				t.Fatal("the connection ended before it acknowledged settings")
			}
		}
		send(1)
		send((8 << 20) / (headerSize + 4))
		_ = r.conn.SetReadDeadline(time.Now().Add(patience))
		got := make([]byte, len(sent))
		if n, err := io.ReadFull(r.conn, got); err != nil || !bytes.Equal(got, sent) {
			t.Errorf("the guard watches is %v: %d of %d bytes came, or others: %v", watches, n, len(sent), err)
		}
	}
}
