//go:build !linux

package tcp

import (
	"net"
	"syscall"
)

// early says that accepted connections do not surely have the probes of their listener.
const early = false

func setKeepAlive(syscall.RawConn, net.KeepAliveConfig) error { return nil }
