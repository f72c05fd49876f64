package mem

import (
	"io"
	"net"
	"time"
)

// DefaultBuffer is how many bytes a direction holds that were written and not yet
// read: 64 KiB, like a socket.
const DefaultBuffer = 64 << 10

// PipeConfig tunes a [Pipe]. The zero value is ready for use.
type PipeConfig struct {
	// Buffer is how many bytes each direction holds before a Write waits. Zero
	// or less means [DefaultBuffer].
	Buffer int
}

// Pipe returns the two ends of a connection. A nil cfg means the defaults.
func Pipe(cfg *PipeConfig) (client, server *Conn) {
	size := DefaultBuffer
	if cfg != nil && cfg.Buffer > 0 {
		size = cfg.Buffer
	}
	return pipe("client", "server", size)
}

func pipe(clientAddr, serverAddr Addr, size int) (client, server *Conn) {
	up, down := newDirection(size), newDirection(size)
	up.opposite, down.opposite = down, up
	return &Conn{in: down, out: up, local: clientAddr, remote: serverAddr},
		&Conn{in: up, out: down, local: serverAddr, remote: clientAddr}
}

// Conn is one end of a connection in memory. It is a [net.Conn]: all methods may be
// called from many goroutines, concurrent writes do not mix, and the caller owns
// its slices again when Read or Write returns.
//
// Errors are of type [*net.OpError], apart from [io.EOF], and wrap net.ErrClosed
// after the own Close, os.ErrDeadlineExceeded after a deadline, syscall.EPIPE when
// writing to an end that has closed, syscall.ECONNRESET after a cut.
type Conn struct {
	in, out       *Direction
	local, remote Addr
}

// In is the direction this end reads from, the other end's Out.
func (c *Conn) In() *Direction { return c.in }

// Out is the direction this end writes to, the other end's In.
func (c *Conn) Out() *Direction { return c.out }

// Read reads what has arrived, at least one byte, waiting for it if need be. After
// the other end closed it returns what was left, then io.EOF.
func (c *Conn) Read(b []byte) (int, error) {
	n, err := c.in.read(b)
	if err != nil && err != io.EOF {
		err = c.opError("read", err)
	}
	return n, err
}

// Write writes all of b into the buffer, waiting for room if need be. It returns
// fewer bytes only with an error.
func (c *Conn) Write(b []byte) (int, error) {
	n, err := c.out.write(b)
	if err != nil {
		err = c.opError("write", err)
	}
	return n, err
}

// Close closes both directions and wakes every goroutine that waits on either end. The
// other end can still read what was written. Closing again does nothing.
func (c *Conn) Close() error {
	c.out.closeWrite()
	c.in.closeRead()
	return nil
}

// CloseWrite ends the outgoing direction alone: the other end reads the rest, then
// io.EOF, and can still answer.
func (c *Conn) CloseWrite() error {
	c.out.closeWrite()
	return nil
}

// LocalAddr returns the name of this end.
func (c *Conn) LocalAddr() net.Addr { return c.local }

// RemoteAddr returns the name of the other end.
func (c *Conn) RemoteAddr() net.Addr { return c.remote }

// SetDeadline sets both deadlines.
func (c *Conn) SetDeadline(t time.Time) error {
	if err := c.SetReadDeadline(t); err != nil {
		return err
	}
	return c.SetWriteDeadline(t)
}

// SetReadDeadline makes reads fail from t on, those already waiting included. The
// zero time means never.
func (c *Conn) SetReadDeadline(t time.Time) error {
	if err := c.in.setReadDeadline(t); err != nil {
		return c.opError("set", err)
	}
	return nil
}

// SetWriteDeadline makes writes fail from t on, those already waiting included. The
// zero time means never.
func (c *Conn) SetWriteDeadline(t time.Time) error {
	if err := c.out.setWriteDeadline(t); err != nil {
		return c.opError("set", err)
	}
	return nil
}

func (c *Conn) opError(op string, err error) error {
	return &net.OpError{Op: op, Net: "mem", Source: c.local, Addr: c.remote, Err: err}
}
