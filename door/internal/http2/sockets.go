package http2

import (
	"net"

	"github.com/weftrpc/weft/internal/socket"
)

// sockets are how a connection is read and written: by the system calls of package socket while the guard watches, and a timer is due
// within milliseconds. That timer wakes what interrupts handlers that compute for long.
type sockets struct {
	nc      net.Conn
	guard   Guard
	in, out *socket.Conn // nil: none
}

// writesTo finds the socket that gets what is written as it is.
func (s *sockets) writesTo() {
	nc := s.nc
	if w, ok := nc.(interface{ WritesTo() net.Conn }); ok {
		nc = w.WritesTo()
	}
	s.out = socket.New(nc)
}

// readsFrom finds the socket that the rest of the connection is read from. The goroutine that reads calls it.
func (s *sockets) readsFrom() {
	nc := s.nc
	if r, ok := nc.(interface{ Rest() net.Conn }); ok {
		nc = r.Rest()
	}
	s.in = socket.New(nc)
}

// read reads once, by the goroutine that reads.
func (s *sockets) read(p []byte) (int, error) {
	known := s.guard.Known()
	if s.in == nil || !known.Load() {
		return s.nc.Read(p)
	}
	n, err := s.in.Read(p)
	if !known.Load() { // the guard has ceased to watch while nothing came
		socket.WakeMonitor()
	}
	return n, err
}

// mostUntold is the longest write of which the scheduler is not told.
const mostUntold = 64 << 10

// write writes p, by the goroutine that has set busy.
func (s *sockets) write(p []byte) (int, error) {
	known := s.guard.Known()
	if s.out == nil || len(p) > mostUntold || !known.Load() {
		return s.nc.Write(p)
	}
	n, err := s.out.Write(p)
	if !known.Load() { // as in read, while the peer took nothing
		socket.WakeMonitor()
	}
	return n, err
}
