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
	ended  bool        // no more will come
	lost   bool        // the client has left
	closed bool        // the handler has returned
	late   bool        // the deadline has passed
	due    time.Time   // the deadline; zero: none
	timer  *time.Timer // calls timeUp
	at     time.Time   // when it does; zero: it does not
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
	if b.timer != nil {
		b.timer.Stop()
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

// limit sets the time until which Read waits; zero: as long as it takes. A request has several, most of them later than the one
// before: the timer is left as it is then, and set anew when it has fired.
func (b *body) limit(t time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.due, b.late = t, false
	if !b.closed && !t.IsZero() && (b.at.IsZero() || t.Before(b.at)) {
		b.timeLocked()
	}
}

// timeLocked sets the timer, unless the deadline has passed.
func (b *body) timeLocked() {
	left := time.Until(b.due)
	if left <= 0 {
		b.late = true
		b.more.Broadcast()
		return
	}
	if b.at = b.due; b.timer == nil {
		b.timer = time.AfterFunc(left, b.timeUp)
	} else {
		b.timer.Reset(left)
	}
}

// timeUp is called by the timer.
func (b *body) timeUp() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.at = time.Time{}
	if !b.closed && !b.due.IsZero() {
		b.timeLocked()
	}
}
