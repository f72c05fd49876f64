// Package ends finds what the bytes of a connection are read from and written to.
package ends

import (
	"net"
	"sync/atomic"

	"github.com/weftrpc/weft/internal/socket"
)

// Ends are how a connection is read and written: where it is a socket, by the system calls of package socket while Watched is
// due within milliseconds. That timer wakes what interrupts handlers that compute for long.
type Ends struct {
	Watched socket.Timer
	In      net.Conn // of the goroutine that reads
	Out     net.Conn // of the goroutine that writes
}

// Source is a connection whose bytes are read as those of Ends.In, when what was read ahead for the doors has been read. One goroutine at a
// time reads.
type Source struct {
	net.Conn
	ends Ends
}

// NewSource returns the Source of a connection. watched tells whether its guard is watched, whose timer is due within milliseconds then.
func NewSource(nc net.Conn, watched *atomic.Bool) *Source {
	return &Source{nc, Ends{Watched: socket.While(watched)}}
}

// Read implements io.Reader.
func (s *Source) Read(p []byte) (int, error) {
	if s.ends.In != nil {
		return s.ends.In.Read(p)
	}
	n, err := s.Conn.Read(p)
	if ahead, ok := s.Conn.(interface{ Rest() net.Conn }); !ok || ahead.Rest() != nil {
		s.ends.ReadsFrom(s.Conn)
	}
	return n, err
}

// Resumable reports whether a write that has run out of time can be gone on with. TLS cannot.
func Resumable(nc net.Conn) bool {
	switch nc.(type) {
	case *net.TCPConn, *net.UnixConn:
		return true
	}
	return false
}

// Bottom is the connection under those that are known to stand on another one.
func Bottom(nc net.Conn) net.Conn {
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

// WritesTo finds what gets the bytes that are written as they are.
func (e *Ends) WritesTo(nc net.Conn) {
	if w, ok := nc.(interface{ WritesTo() net.Conn }); ok {
		nc = w.WritesTo()
	}
	e.Out = socket.WithPulse(nc, e.Watched)
}

// ReadsFrom finds what the rest of the connection is read from. The goroutine that reads calls it.
func (e *Ends) ReadsFrom(nc net.Conn) {
	if r, ok := nc.(interface{ Rest() net.Conn }); ok {
		if rest := r.Rest(); rest != nil {
			nc = rest
		}
	}
	e.In = socket.WithPulse(nc, e.Watched)
}
