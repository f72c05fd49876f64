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
