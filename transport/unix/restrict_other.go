//go:build !linux

package unix

import (
	"io/fs"
	"syscall"
)

// restrict does nothing: only Linux takes the mode of the file from the socket.
// Listen narrows the file once it is there.
func restrict(fs.FileMode) func(network, address string, c syscall.RawConn) error { return nil }
