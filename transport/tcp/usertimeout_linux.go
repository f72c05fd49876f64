package tcp

import (
	"os"
	"syscall"
	"time"
)

// tcpUserTimeout is TCP_USER_TIMEOUT of linux/tcp.h, the same on every
// architecture; package syscall does not have it.
const tcpUserTimeout = 0x12

// setUserTimeout bounds how long sent bytes may stay unacknowledged. Keep-alive
// does not run while bytes are in flight, so it cannot do this.
func setUserTimeout(c syscall.RawConn, timeout time.Duration) error {
	millis := int(max(timeout.Milliseconds(), 1))
	var err error
	if e := c.Control(func(fd uintptr) {
		err = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpUserTimeout, millis)
	}); e != nil {
		return e
	}
	return os.NewSyscallError("setsockopt TCP_USER_TIMEOUT", err)
}
