//go:build unix

package socket

import (
	"io"
	"net"
	"os"
	"syscall"
	"time"
)

// once is one write of a socket that does not block.
type once struct {
	raw  syscall.RawConn
	step func(fd uintptr) (done bool) // for raw

	p      []byte // of the write that is under way
	n      int
	err    error
	untold bool // the scheduler is not told of it
}

func (o *once) init(conn net.Conn) bool {
	raw, err := conn.(syscall.Conn).SyscallConn()
	if err != nil {
		return false
	}
	o.raw, o.step = raw, o.take
	return true
}

func (o *once) write(_ net.Conn, p []byte, _ time.Time, untold bool) (int, error) {
	o.p, o.n, o.err, o.untold = p, 0, nil, untold
	err := o.raw.Write(o.step)
	o.p = nil
	if err == nil {
		err = o.err
	}
	return o.n, err
}

// send makes one system call.
func (o *once) send(fd uintptr) (int, error) {
	if o.untold {
		return untoldWrite(fd, o.p)
	}
	return syscall.Write(int(fd), o.p)
}

// take writes until the socket takes no more. It is never called again for one write.
func (o *once) take(fd uintptr) (done bool) {
	for len(o.p) > 0 {
		n, err := o.send(fd)
		switch {
		case n > 0:
			o.n += n
			o.p = o.p[n:]
		case err == syscall.EINTR:
		case err == syscall.EAGAIN:
			return true
		case err == nil:
			o.err = io.ErrUnexpectedEOF
			return true
		default:
			o.err = os.NewSyscallError("write", err)
			return true
		}
	}
	return true
}
