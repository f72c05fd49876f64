package outbuf

import (
	"net"
	"sync"
	"testing"
	"time"

	"github.com/weftrpc/weft/internal/backlog"
	"github.com/weftrpc/weft/internal/bulk"
	"github.com/weftrpc/weft/internal/wire"
)

// fakeConn keeps what is written to it. A write waits while the gate is not nil and not closed.
type fakeConn struct {
	net.Conn // nil: nothing else is called
	gate     chan struct{}
	during   func(n int) // called in the n-th write, from 1

	mu     sync.Mutex
	writes [][]byte
	fails  error
}

func (c *fakeConn) Write(b []byte) (int, error) {
	c.mu.Lock()
	c.writes = append(c.writes, append([]byte(nil), b...))
	n, err := len(c.writes), c.fails
	c.mu.Unlock()
	if c.during != nil {
		c.during(n)
	}
	if c.gate != nil {
		<-c.gate
	}
	if err != nil {
		return 0, err
	}
	return len(b), nil
}

func (c *fakeConn) SetDeadline(time.Time) error { return nil }

// count is how many writes have begun.
func (c *fakeConn) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.writes)
}

// frames are the frames of the n-th write, from 0.
func (c *fakeConn) frames(t *testing.T, n int) (heads []wire.Header, payloads [][]byte) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if n >= len(c.writes) {
		t.Fatalf("there are %d writes, want more than %d", len(c.writes), n)
	}
	return parse(t, c.writes[n])
}

// all are the frames of all writes.
func (c *fakeConn) all(t *testing.T) (heads []wire.Header, payloads [][]byte) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	var b []byte
	for _, w := range c.writes {
		b = append(b, w...)
	}
	return parse(t, b)
}

// parse cuts bytes into frames, of which the last must be whole.
func parse(t *testing.T, b []byte) (heads []wire.Header, payloads [][]byte) {
	t.Helper()
	for len(b) > 0 {
		if len(b) < wire.HeaderSize {
			t.Fatalf("%d bytes are left behind %d frames", len(b), len(heads))
		}
		h := wire.ParseHeader(b)
		n := wire.HeaderSize + int(h.Length)
		if len(b) < n {
			t.Fatalf("frame %+v has %d bytes", h, len(b)-wire.HeaderSize)
		}
		heads, payloads, b = append(heads, h), append(payloads, b[wire.HeaderSize:n]), b[n:]
	}
	return heads, payloads
}

// fakeOwner notes what its Writer tells it.
type fakeOwner struct {
	w    *Writer
	open int
	hold bool // work is kept

	mu     sync.Mutex
	work   []func()
	failed []failure
}

type failure struct {
	err   error
	ended *wire.Status
}

func (o *fakeOwner) OpenLocked() int { return o.open }

func (o *fakeOwner) BindLocked(m *bulk.Message) {
	m.Head.Code = 3
	o.w.FrameLocked(wire.Header{Type: wire.TypeBind, Code: 3}, nil)
}

func (o *fakeOwner) WriteFailed(err error, ended *wire.Status) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.failed = append(o.failed, failure{err, ended})
}

func (o *fakeOwner) Go(f func()) {
	if !o.hold {
		// It ends with f, which the test waits for.
		go f()
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.work = append(o.work, f)
}

// failures are the calls of WriteFailed.
func (o *fakeOwner) failures() []failure {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.failed
}

// newWriter returns a Writer to conn with room for a megabyte.
func newWriter(conn net.Conn) (*Writer, *fakeOwner) {
	w := new(Writer)
	o := &fakeOwner{w: w}
	w.Init(conn, o, 1<<20, new(backlog.Backlog))
	return w, o
}

// put appends a frame with a number and so many bytes.
func put(w *Writer, id, size int) {
	w.Lock()
	defer w.Unlock()
	w.FrameLocked(wire.Header{Type: wire.TypeData, ID: uint32(id)}, make([]byte, size))
}

// resting fails the test unless nothing waits and there is no leader.
func resting(t *testing.T, w *Writer) {
	t.Helper()
	w.Lock()
	defer w.Unlock()
	if !w.RestingLocked() || w.room.waiting != 0 || len(w.under.rest) != 0 {
		t.Errorf("mode %d, %d bytes and %d large ones wait, %d goroutines wait for room", w.mode, len(w.buf), w.Large.Size(), w.room.waiting)
	}
}
