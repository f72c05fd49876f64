package file

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/internal/polltest"
	"github.com/weftrpc/weft/registry"
	"github.com/weftrpc/weft/registry/registrytest"
)

// TestConformance runs beside a file that people have written.
func TestConformance(t *testing.T) {
	path := filepath.Join(t.TempDir(), "registry.json")
	write(t, path, one("a"))
	registrytest.Run(t, registrytest.Config{New: func(t *testing.T) registry.Driver { return open(t, path) }})
}

func open(t *testing.T, path string) *driver {
	t.Helper()
	d, err := newDriver(path)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// swap replaces a file as careful editors do.
func swap(t *testing.T, path, text string) {
	t.Helper()
	write(t, path+".new", text)
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

// watch watches Arith and returns a function that waits until the IDs in the list are
// as wanted and the list has an invalid entry with some words, "" for none.
func watch(t *testing.T, d *driver) (until func(ids, invalid string)) {
	t.Helper()
	lists := make(chan registry.List, 1000)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	// It ends with its context, at the end of the test.
	go func() { ended <- d.Watch(ctx, "Arith", func(list registry.List) { lists <- list }) }()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
	return func(ids, invalid string) {
		t.Helper()
		deadline := time.After(time.Minute)
		got := "nothing"
		for {
			select {
			case list := <-lists:
				var all []string
				for _, i := range list.Instances {
					all = append(all, i.ID)
				}
				wrong := ""
				for _, i := range list.Invalid {
					wrong += i.Err.Error()
				}
				got = strings.Join(all, " ") + "; " + wrong
				if strings.Join(all, " ") == ids && strings.Contains(wrong, invalid) && (wrong == "") == (invalid == "") {
					return
				}
			case err := <-ended:
				ended <- err
				t.Fatalf("Watch returned %v", err)
			case <-deadline:
				t.Fatalf("the list is %q, want %q; %q", got, ids, invalid)
			}
		}
	}
}

func one(id string) string {
	return `{"services": {"Arith": [{"id": "` + id + `", "address": "tcp://10.0.0.7:1"}]}}`
}

func TestEdits(t *testing.T) {
	path := filepath.Join(t.TempDir(), "registry.json")
	until := watch(t, open(t, path))
	until("", "") // a file that is not there is empty
	write(t, path, one("a"))
	until("a", "")
	write(t, path, one("b")) // in place, with the same size, and quickly
	until("b", "")
	swap(t, path, one("c"))
	until("c", "")
	write(t, path, "{\n oops")
	until("c", "registry.json:2:2: invalid character 'o'") // the last that was right stays
	write(t, path, "")
	until("c", "unexpected end")
	write(t, path, one("d"))
	until("d", "")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	until("", "")
	swap(t, path, one("e"))
	until("e", "")
}

// TestLog: a client that runs logs once that the file has become wrong, with the place, and once that it is right again.
func TestLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "registry.json")
	write(t, path, one("a"))
	var logged lockedBuffer
	reg, err := New(path, &registry.Config{NoCache: true, Logger: slog.New(slog.NewTextHandler(&logged, nil))})
	if err != nil {
		t.Fatal(err)
	}
	defer reg.Close()
	invalid := make(chan int, 100)
	defer reg.Watch("Arith", func(s *registry.Snapshot) { invalid <- len(s.Invalid) })()
	until := func(want int) {
		t.Helper()
		for deadline := time.After(time.Minute); ; {
			select {
			case n := <-invalid:
				if n == want {
					return
				}
			case <-deadline:
				t.Fatalf("there is no list with %d invalid entries", want)
			}
		}
	}
	until(0)
	swap(t, path, "{\n oops")
	until(1)
	time.Sleep(2 * lookEvery) // it is looked at again
	swap(t, path, one("a"))
	until(0)
	text := logged.String()
	for _, line := range []string{
		`level=WARN msg="the registry has entries that cannot be used" registry="file ` + path + `" service=Arith entries=1 entry=` + path + ` error="` + path + `:2:2: invalid character 'o'`,
		`level=INFO msg="all entries of the registry can be used again" registry="file ` + path + `" service=Arith`,
	} {
		if strings.Count(text, line) != 1 {
			t.Errorf("not once: %s\n%s", line, text)
		}
	}
	if n := strings.Count(text, "\n"); n != 2 {
		t.Errorf("%d lines, want 2:\n%s", n, text)
	}
}

// lockedBuffer is a buffer that any number of goroutines write to.
type lockedBuffer struct {
	mu   sync.Mutex
	text strings.Builder
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// TestOldTimes: the new file looks exactly as the old one, but is another one.
func TestOldTimes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "registry.json")
	old := time.Now().Add(-time.Hour)
	age := func(path string) {
		t.Helper()
		if err := os.Chtimes(path, old, old); err != nil {
			t.Fatal(err)
		}
	}
	write(t, path, one("a"))
	age(path)
	until := watch(t, open(t, path))
	until("a", "")
	write(t, path+".new", one("b"))
	age(path + ".new")
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
	until("b", "")
}

// TestHalfWritten: whatever is there of a file that is being written, nothing is lost.
func TestHalfWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "registry.json")
	write(t, path, one("old"))
	d := open(t, path)
	e := d.entries("Arith")
	text := one("new")
	for n := -1; n <= len(text); n++ {
		want, wrong := "old", 1
		switch n {
		case -1:
			wrong = 0 // not begun
		case len(text):
			want, wrong = "new", 0
		}
		if n >= 0 {
			write(t, path, text[:n])
		}
		list, err := d.list(e)
		if err != nil || len(list.Instances) != 1 || list.Instances[0].ID != want || len(list.Invalid) != wrong {
			t.Fatalf("with %d bytes of it, the list is %+v, %v, want %q", n, list, err, want)
		}
	}
}

// TestLinks: Kubernetes replaces the folder with all the files of a volume at once, by a
// symbolic link.
func TestLinks(t *testing.T) {
	dir := t.TempDir()
	place := func(version, text string) {
		t.Helper()
		if err := os.Mkdir(filepath.Join(dir, version), 0o755); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, version, "registry.json"), text)
		tmp := filepath.Join(dir, "..tmp")
		if err := errors.Join(os.Symlink(version, tmp), os.Rename(tmp, filepath.Join(dir, "..data"))); err != nil {
			t.Fatal(err)
		}
	}
	place("..1", one("a"))
	path := filepath.Join(dir, "registry.json")
	if err := os.Symlink(filepath.Join("..data", "registry.json"), path); err != nil {
		t.Fatal(err)
	}
	until := watch(t, open(t, path))
	until("a", "")
	place("..2", one("b"))
	until("b", "")
}

// TestDeletedFolder: servers whose entries are deleted, with the folder they were
// in, are soon there again.
func TestDeletedFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "weft")
	path := filepath.Join(dir, "registry.json")
	reg, err := New(path, &registry.Config{TTL: time.Second, Protect: -1, NoCache: true, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer reg.Close()
	until := watch(t, open(t, path))
	until("", "")
	if _, err := reg.Register(weft.Instance{Service: "Arith", ID: "a", Address: "tcp://10.0.0.1:1"}); err != nil {
		t.Fatal(err)
	}
	until("a", "")
	// A file that the server writes meanwhile is in the way.
	polltest.True(t, time.Minute, "the folder is deleted", func() bool { return os.RemoveAll(dir) == nil })
	// It may be back before it is looked at, so the file is waited for.
	entry := open(t, path).entries("Arith").path("a")
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		_, err := os.Stat(entry)
		if err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the instance is not published again: %v", err)
		}
	}
	watch(t, open(t, path))("a", "")
}

// TestRemoveAndWrite: an editor that removes the file before it writes it does not
// empty the list.
func TestRemoveAndWrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "registry.json")
	write(t, path, one("a"))
	d := open(t, path)
	now := time.Now()
	read := func(after time.Duration, want int) {
		t.Helper()
		all, err := d.written.read(now.Add(after))
		if len(all["Arith"]) != want || err != nil {
			t.Errorf("after %v there are %d instances, %v; want %d", after, len(all["Arith"]), err, want)
		}
	}
	read(0, 1)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	read(time.Second, 1)
	write(t, path, one("b"))
	read(3*time.Second, 1)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	read(4*time.Second, 1)
	read(4*time.Second+missingFor, 0)
}

func TestWrongAtTheStart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "registry.json")
	write(t, path, `{"servces": {}}`)
	err := open(t, path).Watch(t.Context(), "Arith", func(list registry.List) { t.Errorf("it emitted %v", list) })
	if err == nil || !strings.Contains(err.Error(), path+`:1:2: unknown field "servces"`) {
		t.Errorf("Watch returned %v", err)
	}
}

// TestBoth: the file and the servers that registered themselves make one list.
func TestBoth(t *testing.T) {
	path := filepath.Join(t.TempDir(), "registry.json")
	write(t, path, `{"services": {"Arith": [{"id": "a", "address": "tcp://10.0.0.1:1"}, {"id": "c", "address": "tcp://10.0.0.3:1"}]}}`)
	d := open(t, path)
	until := watch(t, d)
	until("a c", "")
	b := weft.Instance{Service: "Arith", ID: "b", Address: "tcp://10.0.0.2:1"}
	c := weft.Instance{Service: "Arith", ID: "c", Address: "tcp://10.9.9.9:1"}
	if err := errors.Join(d.Put(t.Context(), b, time.Minute), d.Put(t.Context(), c, time.Minute)); err != nil {
		t.Fatal(err)
	}
	until("a b c", "")
	list, err := d.list(d.entries("Arith"))
	if err != nil || list.Instances[2].Address != c.Address {
		t.Errorf("%q is at %s, %v, want what has registered itself", "c", list.Instances[2].Address, err)
	}
	write(t, path, "{")
	until("a b c", "unexpected end")
	if err := errors.Join(d.Delete(t.Context(), b), d.Delete(t.Context(), c)); err != nil {
		t.Fatal(err)
	}
	until("a c", "unexpected end")
}

// TestForeignFiles: what lies in the folder and is no entry hides none.
func TestForeignFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "registry.json")
	d := open(t, path)
	a := weft.Instance{Service: "Arith", ID: "a", Address: "tcp://10.0.0.1:1"}
	if err := d.Put(t.Context(), a, time.Minute); err != nil {
		t.Fatal(err)
	}
	until := watch(t, d)
	until("a", "")
	dir := d.entries("Arith").dir
	place := func(name, text string) {
		t.Helper()
		if err := replace(filepath.Join(dir, name), []byte(text), time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
	}
	place("README", "hello")
	place(".hidden.json", "hello")
	place("b.json", "{")
	until("a", "unexpected end")
	place("b.json", `{"service": "Arith", "id": "x", "address": "tcp://10.0.0.1:1"}`)
	until("a", "belongs into another file")
	place("b.json", `{"service": "Other", "id": "b", "address": "tcp://10.0.0.1:1"}`)
	until("a", `says it is "b" of Other`)
	place("b.json", strings.Repeat("x", maxEntry+1))
	until("a", "has more than")
	if err := os.Remove(filepath.Join(dir, "b.json")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "b.json"), 0o755); err != nil {
		t.Fatal(err)
	}
	soon := time.Now().Add(time.Minute)
	if err := os.Chtimes(filepath.Join(dir, "b.json"), soon, soon); err != nil {
		t.Fatal(err)
	}
	until("a", "is not a regular file")
}

func TestSweep(t *testing.T) {
	path := filepath.Join(t.TempDir(), "registry.json")
	d := open(t, path)
	put := func(id string, ttl time.Duration) {
		t.Helper()
		if err := d.Put(t.Context(), weft.Instance{Service: "Arith", ID: id, Address: "tcp://10.0.0.1:1"}, ttl); err != nil {
			t.Fatal(err)
		}
	}
	put("dead", -2*sweepAfter)
	put("late", -sweepAfter/2)
	dir := d.entries("Arith").dir
	for _, name := range []string{newPrefix + "1", "README"} { // left by a writer that died, and by another program
		path := filepath.Join(dir, name)
		write(t, path, "x")
		old := time.Now().Add(-2 * sweepAfter)
		if err := os.Chtimes(path, old, old); err != nil {
			t.Fatal(err)
		}
	}
	put("alive", time.Minute)
	files, err := os.ReadDir(dir)
	var names []string
	for _, f := range files {
		names = append(names, f.Name())
	}
	if want := []string{"README", "alive.json", "late.json"}; err != nil || !slices.Equal(names, want) {
		t.Errorf("the folder has %q, %v, want %q", names, err, want)
	}
	watch(t, d)("alive", "")
	late := weft.Instance{Service: "Arith", ID: "late"}
	if err := d.Refresh(t.Context(), late, time.Minute); !errors.Is(err, registry.ErrLost) {
		t.Errorf("Refresh of an entry that has expired returned %v", err)
	}
}

// TestDocumentByHand: people write documents, too.
func TestDocumentByHand(t *testing.T) {
	path := filepath.Join(t.TempDir(), "registry.json")
	d := open(t, path)
	if err := d.Store(t.Context(), "rules/Arith", []byte("one"), 0); err != nil {
		t.Fatal(err)
	}
	before, err := d.Load(t.Context(), "rules/Arith")
	if err != nil {
		t.Fatal(err)
	}
	documents := make(chan registry.Document, 100)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	// It ends with its context, at the end of the test.
	go func() {
		ended <- d.WatchDocument(ctx, "rules/Arith", func(d registry.Document) { documents <- d })
	}()
	<-documents
	write(t, path+".d/documents/rules%2FArith", "two")
	deadline := time.After(time.Minute)
	for got := before; string(got.Value) != "two"; {
		select {
		case got = <-documents: // the old one may be confirmed before
			if got.Version == before.Version && string(got.Value) != string(before.Value) {
				t.Errorf("the document is %q with version %d, the same as before", got.Value, got.Version)
			}
		case <-deadline:
			t.Fatal("the change was not seen")
		}
	}
	if err := d.Store(t.Context(), "rules/Arith", []byte("three"), before.Version); !errors.Is(err, registry.ErrConflict) {
		t.Errorf("Store over what was written by hand returned %v, want ErrConflict", err)
	}
	cancel()
	<-ended
}

func TestLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	unlock, err := lock(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := lock(ctx, path); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a second lock: %v", err)
	}
	unlock()
	unlock, err = lock(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	unlock()
}

func TestFileName(t *testing.T) {
	long := strings.Repeat("x", 255)
	for name, want := range map[string]string{
		"Arith": "Arith", "a-b_c.d": "a-b_c.d", ".": "%2E", "..": "%2E.", ".hidden": "%2Ehidden", "": "%",
		"tcp://127.0.0.1:8972": "tcp%3A%2F%2F127.0.0.1%3A8972", "rules/Arith": "rules%2FArith", "%": "%25", "~": "%7E", "ü": "%C3%BC",
	} {
		if got := fileName(name); got != want {
			t.Errorf("fileName(%q) = %q, want %q", name, got, want)
		}
	}
	if a, b := fileName(long+"a"), fileName(long+"b"); a == b || len(a) > 190 {
		t.Errorf("long names become %q and %q", a, b)
	}
}

func TestNoPath(t *testing.T) {
	if _, err := New("", nil); err == nil {
		t.Error("New took an empty path")
	}
}
