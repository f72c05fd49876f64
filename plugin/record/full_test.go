package record

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrpc/weft"
)

// disk is a file of a disk with so much room.
type disk struct {
	*os.File
	room *int64
}

var errFull = errors.New("no space left on device")

// WriteAt writes what there is room for.
func (d disk) WriteAt(b []byte, at int64) (int, error) {
	info, err := d.Stat()
	if err != nil {
		return 0, err
	}
	more := max(at+int64(len(b))-info.Size(), 0)
	if more <= *d.room {
		*d.room -= more
		return d.File.WriteAt(b, at)
	}
	fits := int64(len(b)) - more + *d.room
	*d.room = 0
	n, _ := d.File.WriteAt(b[:max(fits, 0)], at)
	return n, errFull
}

// calls are the calls that can be read of a folder.
func readable(t *testing.T, dir string) (n int) {
	t.Helper()
	recording, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range recording.Calls() {
		if err != nil {
			t.Error(err)
		}
		n++
	}
	return n
}

// A disk that is full costs the calls of that time alone: what was recorded before stays and can be read, no files
// are made or deleted, and recording goes on when there is room.
func TestFullDisk(t *testing.T) {
	for _, room := range []int64{0, 4, 8, 300, 1000, 1111, 5000} {
		dir := t.TempDir()
		synctest.Test(t, func(t *testing.T) {
			left := room
			f, err := newFiles(dir, 2000, 3)
			if err != nil {
				t.Fatal(err)
			}
			made := 0
			f.create = func(path string) (file, error) {
				made++
				real, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
				return disk{real, &left}, err
			}
			one := &Call{Time: time.Now(), Side: Answered, Method: "Arith.Mul", Request: Message{"json", []byte(`{"A":1}`)}, Reply: Message{"json", []byte(`{"C":1}`)}}
			written, lost := 0, 0
			record := func(n int) (failed error) {
				for range n {
					failed = errors.Join(failed, f.append(one), f.flush())
					w, l := f.tally()
					written, lost = written+w, lost+l
				}
				return failed
			}
			failed := record(100)
			if room == 5000 { // three files of it
				if written > 34 || written < 10 {
					t.Errorf("%d calls were written", written)
				}
			}
			if !errors.Is(failed, errFull) || lost == 0 || written+lost != 100 {
				t.Errorf("room for %d bytes: %d written, %d lost, %v", room, written, lost, failed)
			}
			if written > 0 && readable(t, dir) > written {
				t.Errorf("room for %d bytes: %d can be read of %d", room, readable(t, dir), written)
			}
			before, files := made, 0
			if written > 0 {
				files = readable(t, dir)
			}
			for range 20 { // of the pauses
				_ = record(5)
				time.Sleep(2 * pause)
			}
			if written > 0 && readable(t, dir) < files {
				t.Errorf("room for %d bytes: of %d calls %d are left", room, files, readable(t, dir))
			}
			if room > 8 && made > before+20 {
				t.Errorf("%d files were begun", made-before)
			}
			left, lost = 1<<20, 0
			time.Sleep(2 * pause)
			if err := record(5); err != nil || lost != 0 {
				t.Errorf("there is room again: %d lost, %v", lost, err)
			}
			if err := f.close(); err != nil {
				t.Error(err)
			}
			if n := readable(t, dir); n < 5 {
				t.Errorf("%d calls can be read", n)
			}
		})
	}
}

// A Change that panics costs its call.
func TestChangePanics(t *testing.T) {
	dir := t.TempDir()
	n := 0
	r, err := New(&Config{Dir: dir, Logger: slog.New(slog.DiscardHandler), Change: func(*Call) bool {
		if n++; n == 1 {
			panic("as asked")
		}
		return true
	}})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		_, err := r.made(t.Context(), &weft.CallInfo{Method: "Arith.Mul", Codec: "json"}, &struct{ A int }{1}, func(context.Context, *weft.CallInfo, any) (any, error) { return &struct{ C int }{1}, nil })
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Close(); err != nil || r.Stats() != (Stats{Written: 2, LeftOut: 1}) || readable(t, dir) != 2 {
		t.Errorf("%v, %+v", err, r.Stats())
	}
}

// stuck is a file that cannot be closed.
type stuck struct{ *os.File }

var errStuck = errors.New("input/output error")

func (s stuck) Close() error { return errors.Join(errStuck, s.File.Close()) }

// A file that cannot be closed is an error of Close: the first one, when the next one is begun, and the last one.
func TestNotClosed(t *testing.T) {
	for _, which := range []int{1, 2} {
		r, err := New(&Config{Dir: t.TempDir(), MaxFile: 1, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		made := 0
		r.files.create = func(path string) (file, error) {
			made++
			real, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
			if made == which {
				return stuck{real}, err
			}
			return real, err
		}
		for range 2 {
			_, _ = r.made(t.Context(), &weft.CallInfo{Method: "Arith.Mul", Codec: "json"}, &struct{ A int }{1}, func(context.Context, *weft.CallInfo, any) (any, error) { return &struct{ C int }{1}, nil })
		}
		if err := r.Close(); made != 2 || !errors.Is(err, weft.Unavailable) || !errors.Is(err, errStuck) {
			t.Errorf("%d files, %v", made, err)
		}
	}
}

// A folder that is gone is an error of Close, and of the figures.
func TestGone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "calls")
	r, err := New(&Config{Dir: dir, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	_, _ = r.made(t.Context(), &weft.CallInfo{Method: "Arith.Mul", Codec: "json"}, &struct{ A int }{1}, func(context.Context, *weft.CallInfo, any) (any, error) { return &struct{ C int }{1}, nil })
	if err := r.Close(); !errors.Is(err, weft.Unavailable) || r.Stats().Failures != 1 {
		t.Errorf("%v, %+v", err, r.Stats())
	}
}
