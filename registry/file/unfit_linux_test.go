package file

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/weftrpc/weft"
)

// TestPipe: nothing waits for the writer of a pipe.
func TestPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "registry.json")
	d := open(t, path)
	if err := d.Put(t.Context(), weft.Instance{Service: "Arith", ID: "a", Address: "tcp://10.0.0.1:1"}, time.Minute); err != nil {
		t.Fatal(err)
	}
	until := watch(t, d)
	until("a", "")
	soon := time.Now().Add(time.Minute)
	for _, place := range []string{path, filepath.Join(d.entries("Arith").dir, "b.json")} {
		if err := syscall.Mkfifo(place, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(place, soon, soon); err != nil {
			t.Fatal(err)
		}
		until("a", place+" is not a regular file")
		if err := os.Remove(place); err != nil {
			t.Fatal(err)
		}
		until("a", "")
	}
}

// TestPermission: what becomes readable is read, though nothing in it changes.
func TestPermission(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "registry.json")
	write(t, path, one("a"))
	d := open(t, path)
	b := weft.Instance{Service: "Arith", ID: "b", Address: "tcp://10.0.0.1:1"}
	if err := d.Put(t.Context(), b, time.Minute); err != nil {
		t.Fatal(err)
	}
	e := d.entries("Arith")
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(path, old, old); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name        string
		file, entry os.FileMode
		want        string
	}{
		{"neither", 0, 0, "open " + path + ": permission denied"},
		{"the file", 0o644, 0, "a; open " + e.path("b") + ": permission denied"},
		{"both", 0o644, 0o644, "a b"},
	} {
		for place, mode := range map[string]os.FileMode{filepath.Dir(dir): 0o755, dir: 0o755, path: test.file, e.path("b"): test.entry} {
			if err := os.Chmod(place, mode); err != nil {
				t.Fatal(err)
			}
		}
		if got := asNobody(t, func() string { return listed(d, e) }); got != test.want {
			t.Errorf("%s can be read: the list is %q, want %q", test.name, got, test.want)
		}
	}
}

// listed is a list as a text: the IDs, and what is wrong.
func listed(d *driver, e *entries) string {
	list, err := d.list(e)
	if err != nil {
		return err.Error()
	}
	var ids []string
	for _, i := range list.Instances {
		ids = append(ids, i.ID)
	}
	text := strings.Join(ids, " ")
	for _, i := range list.Invalid {
		text += "; " + i.Err.Error()
	}
	return text
}

// asNobody runs f without the rights of root, which may read everything.
func asNobody(t *testing.T, f func() string) string {
	t.Helper()
	if os.Geteuid() != 0 {
		return f()
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	const nobody = 65534
	if err := syscall.Setfsuid(nobody); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := syscall.Setfsuid(0); err != nil {
			t.Error(err)
		}
	}()
	return f()
}
