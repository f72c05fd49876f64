package http2

import (
	"net"

	"github.com/weftrpc/weft/internal/socket"
)

// ends are how a connection is read and written: where it is a socket, by the system calls of package socket while the guard watches, and a
// timer is due within milliseconds. That timer wakes what interrupts handlers that compute for long.
type ends struct {
	watched socket.Timer
	in      net.Conn // of the goroutine that reads
	out     net.Conn // of the goroutine that has set busy
}

// resumable reports whether a write that has run out of time can be gone on with. TLS cannot.
func resumable(nc net.Conn) bool {
	switch nc.(type) {
	case *net.TCPConn, *net.UnixConn:
		return true
	}
	return false
}

// bottom is the connection under those that are known to stand on another one.
func bottom(nc net.Conn) net.Conn {
	for {
		switch over := nc.(type) {
		case interface{ WritesTo() net.Conn }:
			nc = over.WritesTo()
		case interface{ NetConn() net.Conn }:
			nc = over.NetConn()
		default:
			return nc
		}
	}
}

// writesTo finds what gets the bytes that are written as they are.
func (e *ends) writesTo(nc net.Conn) {
	if w, ok := nc.(interface{ WritesTo() net.Conn }); ok {
		nc = w.WritesTo()
	}
	e.out = socket.WithPulse(nc, e.watched)
}

// readsFrom finds what the rest of the connection is read from. The goroutine that reads calls it.
func (e *ends) readsFrom(nc net.Conn) {
	if r, ok := nc.(interface{ Rest() net.Conn }); ok {
		if rest := r.Rest(); rest != nil {
			nc = rest
		}
	}
	e.in = socket.WithPulse(nc, e.watched)
}
