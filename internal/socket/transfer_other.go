//go:build !linux

package socket

import "net"

// available says that there are such system calls.
const available = false

// New returns nil: there are no such system calls here.
func New(net.Conn) *Conn { return nil }

// WakeMonitor does nothing: there is no Conn here.
func WakeMonitor() {}

// transfer is one direction of a socket.
type transfer struct{}

func (transfer) read(conn net.Conn, p []byte) (int, error) { return conn.Read(p) }

func (transfer) write(conn net.Conn, p []byte) (int, error) { return conn.Write(p) }
