package tcp

import (
	"net"
	"syscall"
	"time"
)

// inherited says that accepted connections have the probes of their listener. They are set on
// it once, and not on each connection, which would be four system calls.
const inherited = true

// setKeepAlive has the connections that a listener accepts send probes.
func setKeepAlive(c syscall.RawConn, k net.KeepAliveConfig) error {
	var err error
	failed := c.Control(func(fd uintptr) {
		for _, o := range [...]struct{ level, name, value int }{
			{syscall.SOL_SOCKET, syscall.SO_KEEPALIVE, 1},
			{syscall.IPPROTO_TCP, syscall.TCP_KEEPIDLE, seconds(k.Idle)},
			{syscall.IPPROTO_TCP, syscall.TCP_KEEPINTVL, seconds(k.Interval)},
			{syscall.IPPROTO_TCP, syscall.TCP_KEEPCNT, k.Count},
		} {
			if err == nil {
				err = syscall.SetsockoptInt(int(fd), o.level, o.name, o.value)
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
