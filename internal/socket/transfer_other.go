//go:build !linux

package socket

import "net"

// available says that there are such system calls.
const available = false

// newDirect returns nil: there are no such system calls here.
func newDirect(net.Conn) *direct { return nil }

// wakeMonitor does nothing: there is no direct connection here.
func wakeMonitor() {}

// transfer is one direction of a socket.
type transfer struct{}

func (transfer) read(conn net.Conn, p []byte) (int, error) { return conn.Read(p) }

func (transfer) write(conn net.Conn, p []byte) (int, error) { return conn.Write(p) }
