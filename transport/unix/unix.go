// Package unix carries weft over Unix domain sockets, for processes of one machine.
package unix

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/weftrpc/weft/transport"
)

// DefaultMode is the [Config.Mode] of a zero configuration: the owner alone.
const DefaultMode fs.FileMode = 0o600

// probeTime bounds the check whether a process listens on an old socket file.
const probeTime = time.Second

// Config tunes the socket files of a transport. The zero value is ready for use.
type Config struct {
	// Mode is the permission of a socket file, which decides which users may connect.
	// Zero means [DefaultMode]. On Linux the file never has more than this; on
	// other systems it is narrowed right after it is made, so put it in a
	// directory that only its users can enter.
	Mode fs.FileMode
}

type unix struct {
	mode fs.FileMode
}

// New returns a transport with scheme "unix". A nil cfg means the defaults; cfg is
// not kept.
//
// An address is the path of a socket file. On Linux it may also be "@name", an
// abstract address, which has no file and so no permission: every process of the
// network namespace may connect. The connections are of type [*net.UnixConn].
//
// Listen takes over the socket file of a process that is gone. A path where
// a process listens, or where anything other than a socket is, is left as it is and
// is an error. When two servers start on one such old file at the same instant,
// the later one has the path. Closing the listener removes the file if it is still
// its own.
func New(cfg *Config) transport.Transport {
	mode := DefaultMode
	if cfg != nil && cfg.Mode != 0 {
		mode = cfg.Mode.Perm()
	}
	return &unix{mode: mode}
}

// Scheme returns "unix".
func (u *unix) Scheme() string { return "unix" }

// Dial connects to the socket at addr.
func (u *unix) Dial(ctx context.Context, addr string) (net.Conn, error) {
	if err := check(addr); err != nil {
		return nil, &net.OpError{Op: "dial", Net: "unix", Addr: name(addr), Err: err}
	}
	var d net.Dialer
	return d.DialContext(ctx, "unix", addr)
}

// Listen makes the socket at addr.
func (u *unix) Listen(ctx context.Context, addr string) (net.Listener, error) {
	fail := func(err error) (net.Listener, error) {
		return nil, &net.OpError{Op: "listen", Net: "unix", Addr: name(addr), Err: err}
	}
	if err := check(addr); err != nil {
		return fail(err)
	}
	if abstract(addr) {
		var lc net.ListenConfig
		return lc.Listen(ctx, "unix", addr)
	}
	if err := clearStale(ctx, addr); err != nil {
		return fail(err)
	}
	// A relative path must still be found at Close if the process has moved.
	path, err := filepath.Abs(addr)
	if err != nil {
		return fail(err)
	}
	lc := net.ListenConfig{Control: restrict(u.mode)}
	inner, err := lc.Listen(ctx, "unix", addr)
	if err != nil {
		return nil, err
	}
	l := &listener{UnixListener: inner.(*net.UnixListener), path: path}
	// Package net would remove whatever is at the path by then.
	l.SetUnlinkOnClose(false)
	l.file, err = os.Lstat(path)
	if err == nil && l.file.Mode().Perm() != u.mode {
		err = os.Chmod(path, u.mode)
	}
	if err != nil {
		l.Close()
		return fail(err)
	}
	return l, nil
}

// listener removes its own file, and no other, when it is closed.
type listener struct {
	*net.UnixListener
	path  string
	file  fs.FileInfo // nil until known
	close sync.Once
}

// Close stops the listener and removes its file. Accepted connections live on.
func (l *listener) Close() error {
	l.close.Do(func() {
		// Before the socket closes: while it is open its inode cannot be given
		// to another file, so the comparison is sure.
		now, err := os.Lstat(l.path)
		if err == nil && l.file != nil && os.SameFile(now, l.file) {
			_ = os.Remove(l.path) // a later Listen removes what is left
		}
	})
	return l.UnixListener.Close()
}

// clearStale removes the socket file of a dead process from path.
func clearStale(ctx context.Context, path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Mode().Type() != fs.ModeSocket {
		return fmt.Errorf("%w and is not a socket: remove it or listen elsewhere", fs.ErrExist)
	}
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", path)
	switch {
	case err == nil:
		conn.Close()
		return fmt.Errorf("%w: a process answers there", syscall.EADDRINUSE)
	case errors.Is(err, syscall.ECONNREFUSED):
		return os.Remove(path)
	case errors.Is(err, fs.ErrNotExist):
		return nil // its owner removed it meanwhile
	default:
		// Not a proof that no process listens: no permission, or a full queue.
		return fmt.Errorf("%w: cannot tell whether its process lives: %w", syscall.EADDRINUSE, err)
	}
}

// check refuses what the system would refuse with "invalid argument", or misread.
func check(addr string) error {
	// The BSDs have 104 bytes including the final zero, Linux has 108.
	longest := 103
	if runtime.GOOS == "linux" {
		longest = 107
	}
	switch {
	case addr == "" || addr == "@":
		return errors.New("empty address: give the path of a socket file")
	case abstract(addr) && runtime.GOOS != "linux":
		return errors.New("abstract addresses exist on Linux only: give the path of a socket file")
	case strings.IndexByte(addr, 0) >= 0:
		return errors.New("address has a zero byte")
	case len(addr) > longest:
		return fmt.Errorf("address has %d bytes, this system allows %d", len(addr), longest)
	}
	return nil
}

func abstract(addr string) bool { return strings.HasPrefix(addr, "@") }

func name(addr string) net.Addr { return &net.UnixAddr{Name: addr, Net: "unix"} }
