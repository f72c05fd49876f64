package http

import (
	"errors"
	"net"
	nethttp "net/http"
	"os"
	"sync"
	"time"
)

// writePiece is how many bytes are written with one deadline: a client that reads slowly is not
// one that does not read.
const writePiece = 64 << 10

// conn is a connection as net/http serves it. It gives writes their deadlines, and ends without
// closing the connection underneath, which the server closes so that no answer is lost.
type conn struct {
	net.Conn
	timeout time.Duration // of a write

	mu       sync.Mutex
	closed   bool
	idle     bool // no request is under way
	came     bool // bytes were read since then
	draining bool
	hijacked bool
	over     chan struct{} // closed when nothing uses the connection any more
	ended    sync.Once
}

func newConn(c net.Conn, timeout time.Duration) *conn {
	return &conn{Conn: c, timeout: timeout, over: make(chan struct{})}
}

func (c *conn) Read(p []byte) (int, error) {
	if c.isClosed() {
		return 0, net.ErrClosed
	}
	n, err := c.Conn.Read(p)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return 0, net.ErrClosed
	}
	c.came = c.came || n > 0
	if err != nil {
		c.failedLocked(err)
	}
	return n, err
}

func (c *conn) Write(p []byte) (written int, err error) {
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

// limitWrite sets the deadline of the next write.
func (c *conn) limitWrite() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return net.ErrClosed
	}
	return c.Conn.SetWriteDeadline(time.Now().Add(c.timeout))
}

// failedLocked notes an error of the connection underneath. A handler that has taken the
// connection over may not notice it.
func (c *conn) failedLocked(err error) {
	if c.hijacked && !errors.Is(err, os.ErrDeadlineExceeded) {
		c.endLocked()
	}
}

func (c *conn) isClosed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closed
}

// SetReadDeadline sets the deadline of reads, unless the connection is closed.
func (c *conn) SetReadDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return net.ErrClosed
	}
	return c.Conn.SetReadDeadline(t)
}

// SetDeadline is SetReadDeadline: writes have deadlines of their own.
func (c *conn) SetDeadline(t time.Time) error { return c.SetReadDeadline(t) }

// SetWriteDeadline does nothing: writes have deadlines of their own.
func (c *conn) SetWriteDeadline(time.Time) error { return nil }

// Close ends reads and writes.
func (c *conn) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closeLocked()
	return nil
}

func (c *conn) closeLocked() {
	if c.closed {
		return
	}
	c.closed = true
	c.Conn.SetReadDeadline(time.Unix(1, 0))
	if c.hijacked {
		c.endLocked()
	}
}

func (c *conn) endLocked() { c.ended.Do(func() { close(c.over) }) }

// state is told by net/http what the connection does.
func (c *conn) state(_ net.Conn, s nethttp.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.idle = s == nethttp.StateIdle
	switch s {
	case nethttp.StateIdle:
		c.came = false
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

// drain has the connection end when no request is under way.
func (c *conn) drain() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.draining = true
	if c.idle && !c.came {
		c.closeLocked()
	}
}

// CloseWrite ends the writing, if the connection can do that: a client that sends a request which
// is too large gets to read the answer then.
func (c *conn) CloseWrite() error {
	if h, ok := c.Conn.(interface{ CloseWrite() error }); ok && c.limitWrite() == nil {
		return h.CloseWrite()
	}
	return nil
}
