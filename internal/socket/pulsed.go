package socket

import (
	"net"
	"sync/atomic"
)

// Timer tells when a timer is due within milliseconds. A Pulse is one.
type Timer interface {
	// Frequent notes that a Pulsed has made some operations, and reports whether a timer is due.
	Frequent() bool
	// Due reports whether one is due.
	Due() bool
}

// While is a Timer that is due while a variable is set.
func While(set *atomic.Bool) Timer { return while{set} }

type while struct{ set *atomic.Bool }

func (w while) Frequent() bool { return w.set.Load() }

func (w while) Due() bool { return w.set.Load() }

// Pulsed is a connection that makes such system calls while a Timer is due, and usual ones otherwise. It does not queue operations: one goroutine
// at a time may call Read, and one Write.
type Pulsed struct {
	net.Conn
	timer Timer
	own   atomic.Pointer[direct] // made when operations are frequent for the first time: a short connection does without

	reads, writes uint32 // those before that, and those while no timer is due
}

// WithPulse returns a connection of TCP or of a Unix socket as a Pulsed, and any other as it is.
func WithPulse(conn net.Conn, timer Timer) net.Conn {
	switch conn.(type) {
	case *net.TCPConn, *net.UnixConn:
		if available {
			return &Pulsed{Conn: conn, timer: timer}
		}
	}
	return conn
}

// NetConn is the connection itself.
func (c *Pulsed) NetConn() net.Conn { return c.Conn }

// most is the longest operation of which the scheduler is not told, in bytes: copying it takes less than the 20 µs after which the scheduler
// lends a processor to another goroutine.
const most = 64 << 10

// together is how many operations of one direction are noted together: noting them takes the clock, and is part of what a call costs where
// calls are rare.
const together = 4

// Read implements net.Conn.
func (c *Pulsed) Read(p []byte) (int, error) {
	own := c.untold(p, &c.reads)
	if own == nil {
		return c.Conn.Read(p)
	}
	n, err := own.Read(p)
	c.wake()
	return n, err
}

// Write implements net.Conn.
func (c *Pulsed) Write(p []byte) (int, error) {
	own := c.untold(p, &c.writes)
	if own == nil {
		return c.Conn.Write(p)
	}
	n, err := own.Write(p)
	c.wake()
	return n, err
}

// untold returns what makes an operation with p of which the scheduler is not told, nil if it is to be told. made counts the operations of
// its direction.
func (c *Pulsed) untold(p []byte, made *uint32) *direct {
	if len(p) > most {
		return nil
	}
	own := c.own.Load()
	if own == nil || !c.timer.Due() {
		if *made++; *made%together != 0 {
			return nil
		}
	}
	if !c.timer.Frequent() {
		return nil
	}
	if own != nil {
		return own
	}
	own = newDirect(c.Conn)
	if own == nil || c.own.CompareAndSwap(nil, own) {
		return own
	}
	return c.own.Load()
}

// wake wakes the monitor when the timer was stopped during an operation.
func (c *Pulsed) wake() {
	if !c.timer.Due() {
		wakeMonitor()
	}
}
