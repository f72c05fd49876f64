package tcp

import (
	"net"
	"os"
	"syscall"
	"time"
)

// early says that probes are set before a socket connects or listens. Accepted connections have those of their listener, which saves four
// system calls for each; a dialed one is in use four system calls earlier, so that a server which has accepted it finds the first call.
const early = true

// setKeepAlive has a socket send probes, or the connections that it accepts.
func setKeepAlive(c syscall.RawConn, k net.KeepAliveConfig) error {
	var err error
	failed := c.Control(func(fd uintptr) {
		for _, o := range [...]struct{ level, name, value int }{
			{syscall.SOL_SOCKET, syscall.SO_KEEPALIVE, 1},
			// The kernel refuses more than these.
			{syscall.IPPROTO_TCP, syscall.TCP_KEEPIDLE, min(seconds(k.Idle), 32767)},
			{syscall.IPPROTO_TCP, syscall.TCP_KEEPINTVL, min(seconds(k.Interval), 32767)},
			{syscall.IPPROTO_TCP, syscall.TCP_KEEPCNT, min(k.Count, 127)},
		} {
			if err == nil {
				err = os.NewSyscallError("setsockopt", syscall.SetsockoptInt(int(fd), o.level, o.name, o.value))
			}
		}
	})
	if failed != nil {
		return failed
	}
	return err
}

// seconds are those of d, rounded up as package net does.
func seconds(d time.Duration) int { return int((d + time.Second - 1) / time.Second) }
