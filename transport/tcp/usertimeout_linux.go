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
func setUserTimeout(fd uintptr, timeout time.Duration) error {
	err := syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpUserTimeout, int(max(timeout.Milliseconds(), 1)))
	return os.NewSyscallError("setsockopt TCP_USER_TIMEOUT", err)
}
