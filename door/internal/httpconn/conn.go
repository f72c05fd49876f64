// Package httpconn is the connection of a door as the server of net/http uses it: with deadlines that cost little,
// and with an end that cancels the call under way.
package httpconn

import (
	"errors"
	"math"
	"net"
	nethttp "net/http"
	"os"
	"sync"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/internal/stackroom"
)

// writePiece is how many bytes are written with one deadline: a client that reads slowly is not
// one that does not read.
const writePiece = 64 << 10

// Conn is a connection as net/http serves it. It gives writes their deadlines, and ends without
// closing the connection underneath, which the server closes so that no answer is lost.
type Conn struct {
	net.Conn
	timeout time.Duration // of a write
	over    chan struct{} // closed when nothing uses the connection any more
	ended   sync.Once

	mu       sync.Mutex
	closed   bool
	idle     bool // no request is under way
	came     bool // bytes were read since then
	draining bool
	hijacked bool

	reading int         // reads of the connection underneath that are under way
	due     time.Time   // the deadline of reads that net/http has set; zero: none
	late    bool        // due has passed
	timer   *time.Timer // calls timeUp
	at      time.Time   // when it does; zero: it does not
	cut     bool        // reads of the connection underneath end at once: SetReadDeadline has passed, and not one that the server has set underneath
	until   time.Time   // the deadline of writes that the connection underneath has

	last request        // that net/http has read
	gone bool           // reading has failed: the client has left
	call *weft.DoorCall // is canceled then; nil: there is none
}

// New returns a connection whose writes may take timeout each, or a quarter more, as far as that is a time.Duration.
func New(c net.Conn, timeout time.Duration) *Conn {
	return &Conn{Conn: c, timeout: min(timeout, math.MaxInt64/2), over: make(chan struct{})}
}

// Over is closed when nothing uses the connection any more.
func (c *Conn) Over() <-chan struct{} { return c.over }

// Read implements net.Conn.
func (c *Conn) Read(p []byte) (int, error) {
	c.mu.Lock()
	for {
		if err := c.readyLocked(); err != nil {
			c.mu.Unlock()
			return 0, err
		}
		c.reading++
		c.mu.Unlock()
		n, err := c.read(p)
		c.mu.Lock()
		c.reading--
		c.came = c.came || n > 0
		timeout := err != nil && isTimeout(err)
		switch {
		case c.closed:
			c.mu.Unlock()
			return 0, net.ErrClosed
		case err == nil || n > 0 && timeout:
			c.mu.Unlock()
			return n, nil
		case timeout && c.cut: // by net/http, which may have set another deadline since
			continue
		}
		c.failedLocked(err)
		c.gone = true
		call := c.call
		c.mu.Unlock()
		if call != nil {
			call.Cancel()
		}
		return n, err
	}
}

// read reads from the connection underneath. A read of one byte is that of a goroutine which net/http starts for each request, to notice that
// the client has gone.
func (c *Conn) read(p []byte) (int, error) {
	if len(p) == 1 {
		return c.Conn.Read(p)
	}
	return stackroom.Read(c.Conn, p)
}

func isTimeout(err error) bool {
	ne, ok := errors.AsType[net.Error](err)
	return ok && ne.Timeout()
}

// readyLocked readies the connection underneath for a read.
func (c *Conn) readyLocked() error {
	switch {
	case c.closed:
		return net.ErrClosed
	case c.late:
		return os.ErrDeadlineExceeded
	case c.cut:
		c.cut = false
		return c.Conn.SetReadDeadline(time.Time{})
	}
	return nil
}

// SetReadDeadline sets the deadline of reads, unless the connection is closed. net/http sets several for each request, most of
// them later than the one before: the timer is left as it is then, and set anew when it has fired.
func (c *Conn) SetReadDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return net.ErrClosed
	}
	c.due, c.late = t, false
	if !t.IsZero() && (c.at.IsZero() || t.Before(c.at)) {
		return c.timeLocked()
	}
	return nil
}

// timeLocked sets the timer, unless the deadline of reads has passed, which ends those under way.
func (c *Conn) timeLocked() error {
	left := time.Until(c.due)
	if left > 0 {
		if c.at = c.due; c.timer == nil {
			c.timer = time.AfterFunc(left, c.timeUp)
		} else {
			c.timer.Reset(left)
		}
		return nil
	}
	c.late = true
	if c.reading == 0 || c.cut {
		return nil
	}
	c.cut = true
	return c.Conn.SetReadDeadline(time.Unix(1, 0))
}

// timeUp is called by the timer.
func (c *Conn) timeUp() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = time.Time{}
	if !c.closed && !c.due.IsZero() {
		_ = c.timeLocked() // an error is that of the connection
	}
}

// SetDeadline is SetReadDeadline: writes have deadlines of their own.
func (c *Conn) SetDeadline(t time.Time) error { return c.SetReadDeadline(t) }

// SetWriteDeadline does nothing: writes have deadlines of their own.
func (c *Conn) SetWriteDeadline(time.Time) error { return nil }

// Write implements net.Conn.
func (c *Conn) Write(p []byte) (written int, err error) {
	for len(p) > 0 {
		piece := p[:min(len(p), writePiece)]
		if err := c.limitWrite(); err != nil {
			return written, err
		}
		n, err := c.Conn.Write(piece)
		written += n
		if err != nil {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.failedLocked(err)
			return written, err
		}
		p = p[n:]
	}
	return written, nil
}

// limitWrite sets the deadline of the next write, unless the one before left enough time.
func (c *Conn) limitWrite() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return net.ErrClosed
	}
	now := time.Now()
	if c.until.Sub(now) >= c.timeout {
		return nil
	}
	c.until = now.Add(c.timeout + c.timeout/4)
	return c.Conn.SetWriteDeadline(c.until)
}

// failedLocked notes an error of the connection underneath. A handler that has taken the
// connection over may not notice it.
func (c *Conn) failedLocked(err error) {
	if c.hijacked && !errors.Is(err, os.ErrDeadlineExceeded) {
		c.endLocked()
	}
}

// Close ends reads and writes.
func (c *Conn) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closeLocked()
	return nil
}

func (c *Conn) closeLocked() {
	if c.closed {
		return
	}
	c.closed = true
	if c.timer != nil {
		c.timer.Stop()
	}
	c.Conn.SetReadDeadline(time.Unix(1, 0))
	if c.hijacked {
		c.endLocked()
	}
}

func (c *Conn) endLocked() { c.ended.Do(func() { close(c.over) }) }

// State is told by net/http what the connection does.
func (c *Conn) State(_ net.Conn, s nethttp.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.idle = s == nethttp.StateIdle
	switch s {
	case nethttp.StateIdle:
		c.came = false
		c.last = request{}
		if c.draining {
			c.closeLocked()
		}
	case nethttp.StateHijacked:
		if c.hijacked = true; c.closed {
			c.endLocked()
		}
	case nethttp.StateClosed:
		c.endLocked()
	}
}

// Drain has the connection end when no request is under way.
func (c *Conn) Drain() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.draining = true
	if c.idle && !c.came {
		c.closeLocked()
	}
}

// CloseWrite ends the writing, if the connection can do that: a client that sends a request which
// is too large gets to read the answer then.
func (c *Conn) CloseWrite() error {
	if h, ok := c.Conn.(interface{ CloseWrite() error }); ok && c.limitWrite() == nil {
		return h.CloseWrite()
	}
	return nil
}
