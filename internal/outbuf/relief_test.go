package outbuf

import (
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrpc/weft/internal/leak"
	"github.com/weftrpc/weft/internal/polltest"
	"github.com/weftrpc/weft/internal/wire"
)

// A leader that is relieved returns, and another goroutine goes on where the write was interrupted.
func TestRelief(t *testing.T) {
	leak.Check(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	peer, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer peer.Close()
	w, _ := newWriter(c)
	c.(*net.TCPConn).SetWriteBuffer(64 << 10)
	peer.(*net.TCPConn).SetReadBuffer(64 << 10)
	const count = 1000 // more than the system holds
	for i := range count {
		put(w, i, wire.MaxPayload)
	}
	total := int64(count * (wire.HeaderSize + wire.MaxPayload))
	returned := make(chan struct{})
	go func() {
		defer close(returned)
		w.Lock()
		w.FlushCallAndUnlock(false, 1)
	}()
	polltest.True(t, time.Minute, "a write is under way", func() bool {
		w.Lock()
		defer w.Unlock()
		return w.WritingLocked()
	})
	polltest.True(t, time.Minute, "the leader was relieved", func() bool {
		w.Lock()
		w.RelieveLocked()
		w.Unlock()
		select {
		case <-returned:
			return true
		default:
			return false
		}
	})
	b, err := io.ReadAll(io.LimitReader(peer, total))
	if err != nil {
		t.Fatal(err)
	}
	heads, _ := parse(t, b)
	for i, h := range heads {
		if h.ID != uint32(i) {
			t.Fatalf("frame %d is that of number %d", i, h.ID)
		}
	}
	polltest.True(t, time.Minute, "all is written", func() bool {
		w.Lock()
		defer w.Unlock()
		return w.RestingLocked()
	})
}

// On a connection whose writes cannot be interrupted, a caller writes itself only what the connection takes at once.
func TestCautiousCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &fakeConn{gate: make(chan struct{})}
		w, _ := newWriter(c)
		put(w, 0, wire.MaxPayload)
		put(w, 1, 10)
		w.Lock()
		w.FlushCallAndUnlock(false, 1) // does not wait for the gate
		synctest.Wait()
		if c.count() != 1 {
			t.Errorf("%d writes have begun, want that of another goroutine", c.count())
		}
		close(c.gate)
		synctest.Wait()
		resting(t, w)

		w.Lock()
		w.PeerReadLocked(w.PositionLocked())
		w.PeerReadLocked(0)
		if w.mayBlockLocked() {
			t.Error("a write may wait for a peer that has read all")
		}
		w.Unlock()
	})
}
