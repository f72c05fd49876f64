package netrpc

import (
	"net"

	"github.com/weftrpc/weft/door/internal/stackroom"
)

// source is what requests are read from. It tells the goroutine that reads before that may wait for bytes, and counts those of a
// request that is not whole.
type source struct {
	net.Conn
	before func()
	hold   func(n int) // n bytes more are held for the client, or fewer if n is below zero

	came int // bytes, since the last request was whole
	held int // those of them that hold was told of
}

// much is how many bytes count at once.
const much = 64 << 10

// Read implements io.Reader.
func (s *source) Read(p []byte) (int, error) {
	s.before()
	n, err := stackroom.Read(s.Conn, p)
	s.came += n
	if more := s.came - s.held; more >= much {
		s.held += more
		s.hold(more)
	}
	return n, err
}

// whole says that a request is whole, which counts by itself from now on.
func (s *source) whole() {
	if s.held > 0 {
		s.hold(-s.held)
	}
	s.came, s.held = 0, 0
}
