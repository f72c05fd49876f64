//go:build !linux

package socket

import (
	"errors"
	"net"
)

// available says that there are such system calls.
const available = false

// newDirect returns nil: there are no such system calls here.
func newDirect(net.Conn) *direct { return nil }

// blocks is never called.
func (*once) blocks() bool { return true }

// untoldWrite is never called: there are no such system calls here.
func untoldWrite(uintptr, []byte) (int, error) { return 0, errors.ErrUnsupported }

// wakeMonitor does nothing: there is no direct connection here.
func wakeMonitor() {}

// transfer is one direction of a socket.
type transfer struct{}

func (transfer) read(conn net.Conn, p []byte) (int, error) { return conn.Read(p) }

func (transfer) write(conn net.Conn, p []byte) (int, error) { return conn.Write(p) }
