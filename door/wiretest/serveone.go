package wiretest

import (
	"net"
	"sync"
)

// ServeOne has a server serve one connection, and returns when both have ended: for the Serve of a Kit. serve is the
// server's own Serve, such as that of a weft.Server or an http.Server, which ends when its listener fails.
func ServeOne(conn net.Conn, serve func(l net.Listener) error) {
	l := &one{conn: make(chan net.Conn, 1), addr: conn.LocalAddr(), over: make(chan struct{})}
	l.conn <- &noted{Conn: conn, l: l}
	_ = serve(l) // the error is that of the listener
}

// one is a listener of one connection, which fails when that has been closed.
type one struct {
	conn chan net.Conn
	addr net.Addr
	over chan struct{}
	once sync.Once
}

func (l *one) Accept() (net.Conn, error) {
	select {
	case c := <-l.conn:
		return c, nil
	case <-l.over:
		return nil, net.ErrClosed
	}
}

func (l *one) Close() error {
	l.once.Do(func() { close(l.over) })
	return nil
}

func (l *one) Addr() net.Addr { return l.addr }

// noted is a connection that tells its listener when it is closed.
type noted struct {
	net.Conn
	l *one
}

func (c *noted) Close() error {
	err := c.Conn.Close()
	_ = c.l.Close()
	return err
}
