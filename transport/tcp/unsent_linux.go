package tcp

import (
	"os"
	"syscall"
)

// tcpNotsentLowat is TCP_NOTSENT_LOWAT of linux/tcp.h, the same on every
// architecture; package syscall does not have it.
const tcpNotsentLowat = 25

// maxUnsent is how many bytes the system takes that it cannot send yet. More
// would only stand in the way of what is written later: weft decides late what to
// send next, so that small calls pass large ones.
const maxUnsent = 128 << 10

// setMaxUnsent bounds the bytes that wait in the socket.
func setMaxUnsent(fd uintptr) error {
	err := syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpNotsentLowat, maxUnsent)
	return os.NewSyscallError("setsockopt TCP_NOTSENT_LOWAT", err)
}
