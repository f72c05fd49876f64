package socket

import (
	"net"
	"time"
)

// Attempt writes to a socket what it takes at once, and does not wait for the peer to read. One goroutine at a time may call Write.
type Attempt struct {
	conn  net.Conn
	timer Timer // nil: there is none
	tried bool  // a write of which the scheduler is not told was about to be made
	once
}

// NewAttempt returns an Attempt for a connection of TCP or of a Unix socket. For any other it returns nil: it is not known whether a write that has
// ended early may go on there.
func NewAttempt(conn net.Conn) *Attempt {
	switch conn.(type) {
	case *net.TCPConn, *net.UnixConn:
		if a := (&Attempt{conn: conn}); a.init(conn) {
			return a
		}
	}
	return nil
}

// While has the scheduler not be told of writes while a timer is due, as that of a Pulsed. It is called before anything is written.
func (a *Attempt) While(timer Timer) { a.timer = timer }

// Write writes as much of p as the socket takes, n bytes. until is the deadline of writes that the connection has, which Write leaves as it is: a system
// without such calls needs another one meanwhile.
func (a *Attempt) Write(p []byte, until time.Time) (n int, err error) {
	untold := available && a.timer != nil && len(p) <= most && a.timer.Frequent()
	if untold && !a.tried {
		if a.tried = true; a.blocks() {
			a.timer, untold = nil, false
		}
	}
	n, err = a.write(a.conn, p, until, untold)
	if untold && !a.timer.Due() {
		wakeMonitor()
	}
	if err != nil {
		err = opError("write", a.conn, err)
	}
	return n, err
}
