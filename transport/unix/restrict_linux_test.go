package unix

import (
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// The file has its mode from the start, before anything narrows it, even when the
// process hides nothing.
func TestNoMomentOfWiderAccess(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0))
	dir, err := os.MkdirTemp("", "weft")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "s")
	lc := net.ListenConfig{Control: restrict(0o600)}
	l, err := lc.Listen(t.Context(), "unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	info, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	if mode := info.Mode().Perm(); mode != 0o600 {
		t.Errorf("mode after bind is %o, want 600", mode)
	}
}
