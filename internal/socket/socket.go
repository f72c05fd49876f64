// Package socket reads and writes sockets by system calls of which the Go scheduler is not told.
//
// The scheduler lends the processor of a goroutine in a system call to another one, and wakes its monitor thread for that where all
// processors were idle. On a socket that does not block the call takes some microseconds, and waking the monitor for it twice as much:
// where a server has one caller at a time, that is a third of the processor time of a call.
//
// A scheduler whose monitor sleeps interrupts no goroutine that computes for long, until a timer is due that was set before the monitor
// went to sleep. So such calls are for times at which a timer is due within milliseconds: see [Pulsed].
//
// The writes of an [Attempt] are usual system calls, which do not wait for the peer.
package socket

import (
	"errors"
	"net"
)

// direct is a connection whose methods Read and Write make such system calls. Unlike other connections it does not queue operations: one goroutine
// at a time may call Read, and one Write. All that use it have one reader, and one writer that others leave their bytes to.
type direct struct {
	net.Conn
	in, out transfer
}

// Read implements net.Conn.
func (c *direct) Read(p []byte) (int, error) { return c.in.read(c.Conn, p) }

// Write implements net.Conn.
func (c *direct) Write(p []byte) (int, error) { return c.out.write(c.Conn, p) }

// opError is the error of an operation as that of the connection itself would have it.
func opError(op string, conn net.Conn, err error) error {
	if known, ok := errors.AsType[*net.OpError](err); ok {
		err = known.Err
	}
	return &net.OpError{Op: op, Net: conn.RemoteAddr().Network(), Source: conn.LocalAddr(), Addr: conn.RemoteAddr(), Err: err}
}
