package exchange

import (
	"errors"
	"io"
	"os"
	"sync"
	"time"
)

// errGone is the error of a body whose client has left.
var errGone = errors.New("the client has left the request")

// body is the body of a request.
type body struct {
	x *exchange

	mu     sync.Mutex
	more   sync.Cond
	buf    []byte
	ended  bool // no more will come
	lost   bool // the client has left
	closed bool // the handler has returned
	late   bool // the deadline has passed
	due    *time.Timer
}

func (b *body) init(x *exchange, end bool) {
	b.x, b.ended = x, end
	b.more.L = &b.mu
}

// push takes a piece; false if the connection holds too much that was not read.
func (b *body) push(p []byte, end bool) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.lost || b.closed || b.ended {
		return true
	}
	if b.holdLocked(len(p)) > int64(b.x.s.Limits().MaxCallBytes) {
		b.holdLocked(-len(p))
		return false
	}
	b.buf = append(b.buf, p...)
	b.ended = end
	b.more.Broadcast()
	return true
}

// holdLocked counts n bytes more for the server, and returns how many the connection holds.
func (b *body) holdLocked(n int) int64 {
	b.x.s.Hold(n)
	return b.x.s.held.Add(int64(n))
}

// lose ends the body since the client has left.
func (b *body) lose() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lost = !b.ended
	b.dropLocked()
}

// close ends the body since the handler has returned.
func (b *body) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	if b.due != nil {
		b.due.Stop()
	}
	b.dropLocked()
}

func (b *body) dropLocked() {
	if b.lost || b.closed {
		b.holdLocked(-len(b.buf))
		b.buf = nil
	}
	b.more.Broadcast()
}

func (b *body) wake() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.more.Broadcast()
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	n, err := b.take(p)
	if n > 0 {
		b.x.conn.Give(b.x.st, n)
	}
	return n, err
}

func (b *body) take(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.buf) == 0 && !b.ended && !b.lost && !b.closed && !b.late && len(p) > 0 {
		b.more.Wait()
	}
	switch {
	case b.closed:
		return 0, os.ErrClosed
	case len(b.buf) > 0:
		n := copy(p, b.buf)
		if b.buf = b.buf[n:]; len(b.buf) == 0 {
			b.buf = nil
		}
		b.holdLocked(-n)
		return n, nil
	case b.lost:
		return 0, errGone
	case b.ended:
		return 0, io.EOF
	case b.late:
		return 0, os.ErrDeadlineExceeded
	}
	return 0, nil
}

// Close implements io.Closer. What comes still is read, up to the window.
func (b *body) Close() error { return nil }

// limit sets the time until which Read waits; zero: as long as it takes.
func (b *body) limit(t time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.due != nil {
		b.due.Stop()
		b.due = nil
	}
	b.late = false
	if t.IsZero() || b.closed {
		return
	}
	d := time.Until(t)
	if d <= 0 {
		b.late = true
		b.more.Broadcast()
		return
	}
	b.due = time.AfterFunc(d, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if at := t; !time.Now().Before(at) && b.due != nil {
			b.late = true
			b.more.Broadcast()
		}
	})
}
