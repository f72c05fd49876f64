package unix_test

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/weftrpc/weft/transport"
	"github.com/weftrpc/weft/transport/transporttest"
	"github.com/weftrpc/weft/transport/unix"
)

// socketPath returns a path for a socket that is short enough for every system,
// which those of t.TempDir are not.
func socketPath(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "weft")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return filepath.Join(dir, "s")
}

func listen(t *testing.T, addr string) net.Listener {
	t.Helper()
	l, err := unix.New(nil).Listen(t.Context(), addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// abandon leaves the socket file of a dead process at path.
func abandon(t *testing.T, path string) {
	t.Helper()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	l.Close()
}

func TestConformance(t *testing.T) {
	transporttest.Run(t, func(t *testing.T) (transport.Transport, string) { return unix.New(nil), socketPath(t) })
}

func TestMode(t *testing.T) {
	for _, test := range []struct {
		cfg  *unix.Config
		want fs.FileMode
	}{
		{nil, 0o600},
		{&unix.Config{}, 0o600},
		{&unix.Config{Mode: 0o660}, 0o660}, // more than the usual umask lets through
		{&unix.Config{Mode: 0o666}, 0o666},
	} {
		path := socketPath(t)
		l, err := unix.New(test.cfg).Listen(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		info, err := os.Lstat(path)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode() != fs.ModeSocket|test.want {
			t.Errorf("%+v: mode %v, want %v", test.cfg, info.Mode(), fs.ModeSocket|test.want)
		}
		l.Close()
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("after Close: %v, want no file", err)
		}
	}
}

func TestStaleFileIsTakenOver(t *testing.T) {
	path := socketPath(t)
	abandon(t, path)
	if _, err := os.Lstat(path); err != nil {
		t.Fatal(err)
	}
	l := listen(t, path)
	c, err := unix.New(nil).Dial(t.Context(), l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
}

func TestLiveListenerIsLeftAlone(t *testing.T) {
	path := socketPath(t)
	listen(t, path)
	if _, err := unix.New(nil).Listen(t.Context(), path); !errors.Is(err, syscall.EADDRINUSE) || !strings.Contains(err.Error(), path) {
		t.Errorf("Listen where a process listens: %v, want address in use and the path", err)
	}
	c, err := unix.New(nil).Dial(t.Context(), path)
	if err != nil {
		t.Fatalf("the first listener lost its socket: %v", err)
	}
	c.Close()
}

func TestWhatIsNotASocketIsLeftAlone(t *testing.T) {
	for _, test := range []struct {
		name string
		make func(path string) error
	}{
		{"file", func(path string) error { return os.WriteFile(path, []byte("precious"), 0o600) }},
		{"empty file", func(path string) error { return os.WriteFile(path, nil, 0o600) }},
		{"directory", func(path string) error { return os.Mkdir(path, 0o700) }},
		{"symbolic link to a dead socket", func(path string) error {
			abandon(t, path+"2")
			return os.Symlink(path+"2", path)
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := socketPath(t)
			if err := test.make(path); err != nil {
				t.Fatal(err)
			}
			before, err := os.Lstat(path)
			if err != nil {
				t.Fatal(err)
			}
			_, err = unix.New(nil).Listen(t.Context(), path)
			if !errors.Is(err, fs.ErrExist) || !strings.Contains(err.Error(), "is not a socket") || !strings.Contains(err.Error(), path) {
				t.Errorf("Listen: %v, want that the path is not a socket", err)
			}
			after, err := os.Lstat(path)
			if err != nil || !os.SameFile(before, after) || before.Size() != after.Size() {
				t.Errorf("the %s did not survive: %v", test.name, err)
			}
		})
	}
}

// A datagram socket refuses streams; that does not prove its owner dead.
func TestSocketOfAnotherKindIsLeftAlone(t *testing.T) {
	path := socketPath(t)
	c, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := unix.New(nil).Listen(t.Context(), path); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("Listen: %v, want address in use", err)
	}
	if _, err := os.Lstat(path); err != nil {
		t.Errorf("the datagram socket is gone: %v", err)
	}
}

// When the file was removed and another server was started there, its file stays.
func TestCloseRemovesOnlyItsOwnFile(t *testing.T) {
	path := socketPath(t)
	old := listen(t, path)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	listen(t, path)
	old.Close()
	c, err := unix.New(nil).Dial(t.Context(), path)
	if err != nil {
		t.Fatalf("the second listener lost its file: %v", err)
	}
	c.Close()
}

func TestRelativePathAfterChdir(t *testing.T) {
	path := socketPath(t)
	t.Chdir(filepath.Dir(path))
	l := listen(t, "s")
	t.Chdir("/")
	l.Close()
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("after Close: %v, want no file", err)
	}
}

func TestBadAddresses(t *testing.T) {
	tr := unix.New(nil)
	for _, addr := range []string{"", "@", strings.Repeat("x", 108), "a\x00b", "/no such directory/s"} {
		if _, err := tr.Listen(t.Context(), addr); err == nil || !strings.Contains(err.Error(), addr) {
			t.Errorf("Listen(%q): %v, want an error with the address", addr, err)
		}
		if _, err := tr.Dial(t.Context(), addr); err == nil || !strings.Contains(err.Error(), addr) {
			t.Errorf("Dial(%q): %v, want an error with the address", addr, err)
		}
	}
}
