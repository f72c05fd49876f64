package transfer

import (
	"net"
	"time"
)

// Stream is the server's end of a stream of rpcx: a connection that ends when its handler returns. Reads and writes fail when the
// context of the handler has ended. A write that makes no progress for Limits.WriteTimeout fails, unless
// the handler has set a deadline.
type Stream struct {
	// Meta is what the client has sent with its call.
	Meta map[string]string

	s *second
}

var _ net.Conn = (*Stream)(nil)

// Read implements net.Conn.
func (s *Stream) Read(p []byte) (int, error) { return s.s.read(p, 0) }

// Write implements net.Conn.
func (s *Stream) Write(p []byte) (int, error) { return s.s.write(p) }

// CloseWrite ends what the client reads; the client may go on to send.
func (s *Stream) CloseWrite() error {
	c, ok := s.s.conn.(interface{ CloseWrite() error })
	if !ok {
		return nil
	}
	if err := s.s.usable(); err != nil {
		return err
	}
	return c.CloseWrite()
}

// Close implements net.Conn: reads and writes fail from now on, those under way too. The connection itself ends when the handler returns,
// with a reset if that is with an error. A handler need not call Close.
func (s *Stream) Close() error { return s.s.close() }

// LocalAddr implements net.Conn.
func (s *Stream) LocalAddr() net.Addr { return s.s.conn.LocalAddr() }

// RemoteAddr implements net.Conn.
func (s *Stream) RemoteAddr() net.Addr { return s.s.conn.RemoteAddr() }

// SetDeadline implements net.Conn.
func (s *Stream) SetDeadline(t time.Time) error {
	return s.s.deadlines(func() error {
		s.s.own = !t.IsZero()
		return s.s.conn.SetDeadline(t)
	})
}

// SetReadDeadline implements net.Conn.
func (s *Stream) SetReadDeadline(t time.Time) error {
	return s.s.deadlines(func() error { return s.s.conn.SetReadDeadline(t) })
}

// SetWriteDeadline implements net.Conn.
func (s *Stream) SetWriteDeadline(t time.Time) error {
	return s.s.deadlines(func() error {
		s.s.own = !t.IsZero()
		return s.s.conn.SetWriteDeadline(t)
	})
}
