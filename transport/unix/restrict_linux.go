package unix

import (
	"io/fs"
	"os"
	"syscall"
)

// restrict gives the socket its mode before bind makes the file: Linux takes the
// mode of the file from the socket. There is no moment at which others could
// connect, and the umask of the process is left alone.
func restrict(mode fs.FileMode) func(network, address string, c syscall.RawConn) error {
	return func(_, _ string, c syscall.RawConn) error {
		var err error
		if e := c.Control(func(fd uintptr) {
			err = syscall.Fchmod(int(fd), uint32(mode.Perm()))
		}); e != nil {
			return e
		}
		return os.NewSyscallError("fchmod", err)
	}
}
