// Package replay gives bytes of a connection that were read already to its next reader.
package replay

import "net"

// Conn is conn, from which prefix, that was read already, is read once more.
func Conn(conn net.Conn, prefix []byte) net.Conn {
	if len(prefix) == 0 {
		return conn
	}
	return &replayed{Conn: conn, prefix: prefix}
}

// replayed is a connection of which some bytes were read already. One goroutine reads.
type replayed struct {
	net.Conn
	prefix []byte
}

func (r *replayed) Read(p []byte) (int, error) {
	if len(r.prefix) == 0 {
		return r.Conn.Read(p)
	}
	n := copy(p, r.prefix)
	r.prefix = r.prefix[n:]
	return n, nil
}

// WritesTo is the connection underneath, which gets what is written as it is.
func (r *replayed) WritesTo() net.Conn { return r.Conn }

// Rest is the connection underneath when the prefix was read, and nil before. It is for the goroutine that reads.
func (r *replayed) Rest() net.Conn {
	if len(r.prefix) > 0 {
		return nil
	}
	return r.Conn
}

// CloseWrite closes the sending direction, if the connection can do that.
func (r *replayed) CloseWrite() error {
	if c, ok := r.Conn.(interface{ CloseWrite() error }); ok {
		return c.CloseWrite()
	}
	return nil
}
