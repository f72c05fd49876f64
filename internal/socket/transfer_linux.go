package socket

import (
	"io"
	"net"
	"os"
	"syscall"
	"unsafe"
)

// available says that there are such system calls.
const available = true

// newDirect returns a direct connection for a connection of TCP or of a Unix socket; nil for any other, and for one that blocks.
func newDirect(conn net.Conn) *direct {
	switch conn.(type) {
	case *net.TCPConn, *net.UnixConn:
	default:
		return nil
	}
	raw, err := conn.(syscall.Conn).SyscallConn()
	if err != nil || blocks(raw) {
		return nil
	}
	c := &direct{Conn: conn}
	c.in.raw, c.out.raw = raw, raw
	c.in.step, c.out.step = c.in.readOnce, c.out.writeAll
	return c
}

// blocks reports whether operations on a socket block, as they do when a program has asked for that by the File of its connection.
func blocks(raw syscall.RawConn) bool {
	set := false
	err := raw.Control(func(fd uintptr) {
		flags, _, failed := syscall.RawSyscall(syscall.SYS_FCNTL, fd, syscall.F_GETFL, 0)
		set = failed == 0 && flags&syscall.O_NONBLOCK != 0
	})
	return err != nil || !set
}

// wakeMonitor wakes the monitor of the scheduler, which then knows the timers that are set. Call it after a Read or a Write during which the
// last timer was stopped.
func wakeMonitor() {
	_, _ = syscall.Read(-1, nil) // the scheduler is told of this system call, which does nothing: there is no descriptor -1
}

// transfer is one direction of a socket.
type transfer struct {
	raw  syscall.RawConn
	step func(fd uintptr) (done bool) // for raw

	p   []byte // of the operation that is under way
	n   int
	err syscall.Errno
}

// read waits until there is something to read, and reads it.
func (t *transfer) read(conn net.Conn, p []byte) (int, error) {
	t.p, t.n, t.err = p, 0, 0
	err := t.raw.Read(t.step)
	t.p = nil
	if err == nil && t.err != 0 {
		err = os.NewSyscallError("read", t.err)
	}
	switch {
	case err != nil:
		return 0, opError("read", conn, err)
	case t.n == 0 && len(p) > 0:
		return 0, io.EOF
	}
	return t.n, nil
}

func (t *transfer) readOnce(fd uintptr) (done bool) {
	n, err := t.call(syscall.SYS_READ, fd)
	if err == syscall.EAGAIN {
		return false
	}
	t.n, t.err = n, err
	received(fd)
	return true
}

// write writes all of p, and returns how much it has written before an error.
func (t *transfer) write(conn net.Conn, p []byte) (int, error) {
	t.p, t.n, t.err = p, 0, 0
	err := t.raw.Write(t.step)
	t.p = nil
	if err == nil && t.err != 0 {
		err = os.NewSyscallError("write", t.err)
	}
	if err != nil {
		return t.n, opError("write", conn, err)
	}
	return t.n, nil
}

func (t *transfer) writeAll(fd uintptr) (done bool) {
	sends(fd)
	for len(t.p) > 0 {
		n, err := t.call(syscall.SYS_WRITE, fd)
		if err == syscall.EAGAIN {
			return false
		}
		if t.err = err; err != 0 {
			return true
		}
		t.n += n
		t.p = t.p[n:]
	}
	return true
}

// blocks reports whether operations on the socket block.
func (o *once) blocks() bool { return blocks(o.raw) }

// untoldWrite is one write of which the scheduler is not told.
func untoldWrite(fd uintptr, p []byte) (int, error) {
	sends(fd)
	n, _, err := syscall.RawSyscall(syscall.SYS_WRITE, fd, uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)))
	if err != 0 {
		return 0, err
	}
	return int(n), nil
}

// call reads into p, or writes it, as far as the socket can do at once.
func (t *transfer) call(number, fd uintptr) (int, syscall.Errno) {
	for {
		n, _, err := syscall.RawSyscall(number, fd, uintptr(unsafe.Pointer(unsafe.SliceData(t.p))), uintptr(len(t.p)))
		switch err {
		case 0:
			return int(n), 0
		case syscall.EINTR:
		default:
			return 0, err
		}
	}
}
