package socket

import (
	"net"
	"sync/atomic"
)

// Pulsed is a connection that makes the system calls of a Conn while the timer of a Pulse is set, and usual ones otherwise. As with a Conn, one
// goroutine at a time may call Read, and one Write.
type Pulsed struct {
	net.Conn
	pulse *Pulse
	own   atomic.Pointer[Conn] // made when operations are frequent for the first time: a short connection does without
}

// WithPulse returns a connection of TCP or of a Unix socket as a Pulsed, and any other as it is.
func WithPulse(conn net.Conn, pulse *Pulse) net.Conn {
	switch conn.(type) {
	case *net.TCPConn, *net.UnixConn:
		if available {
			return &Pulsed{Conn: conn, pulse: pulse}
		}
	}
	return conn
}

// most is the longest operation of which the scheduler is not told, in bytes. Copying more takes as long as waking the monitor, and the
// monitor does not sleep where so much comes at once.
const most = 16 << 10

// Read implements net.Conn.
func (c *Pulsed) Read(p []byte) (int, error) {
	own := c.untold(p)
	if own == nil {
		return c.Conn.Read(p)
	}
	n, err := own.Read(p)
	c.wake()
	return n, err
}

// Write implements net.Conn.
func (c *Pulsed) Write(p []byte) (int, error) {
	own := c.untold(p)
	if own == nil {
		return c.Conn.Write(p)
	}
	n, err := own.Write(p)
	c.wake()
	return n, err
}

// untold returns what makes an operation with p of which the scheduler is not told, nil if it is to be told.
func (c *Pulsed) untold(p []byte) *Conn {
	if len(p) > most || !c.pulse.Frequent() {
		return nil
	}
	if own := c.own.Load(); own != nil {
		return own
	}
	own := New(c.Conn)
	if own == nil || c.own.CompareAndSwap(nil, own) {
		return own
	}
	return c.own.Load()
}

// wake wakes the monitor when the timer was stopped during an operation.
func (c *Pulsed) wake() {
	if !c.pulse.set.Load() {
		WakeMonitor()
	}
}
