package delivered

import (
	"net"
	"syscall"
)

// finWait1 is the state of a connection of TCP whose end the peer's system has not acknowledged.
const finWait1 = 4

// Whole reports whether the peer's system has acknowledged all that was sent on a connection
// of TCP, whose sending direction was closed; true also where that is not known.
func Whole(conn net.Conn) bool {
	for {
		if c, ok := conn.(*net.TCPConn); ok {
			return whole(c)
		}
		under, ok := conn.(interface{ NetConn() net.Conn })
		if !ok {
			return true
		}
		conn = under.NetConn()
	}
}

func whole(c *net.TCPConn) bool {
	raw, err := c.SyscallConn()
	if err != nil {
		return true
	}
	state := 0
	// The state is the first byte of the answer.
	err = raw.Control(func(fd uintptr) {
		if info, failed := syscall.GetsockoptInt(int(fd), syscall.IPPROTO_TCP, syscall.TCP_INFO); failed == nil {
			state = info & 0xff
		}
	})
	return err != nil || state != finWait1
}
