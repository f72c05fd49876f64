package record

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"
)

const (
	extension = ".weftrec" // of the files
	batch     = 64 << 10   // bytes that are written together
	pause     = time.Second
)

// files are the files of a folder, of which the newest is written. It is for one goroutine. A call counts as written
// when the file has it. What a full disk has taken of others is cut off again, so that the file can be read, and
// written on when there is room; until the next attempt, a pause later, calls are refused.
type files struct {
	dir     string
	maxFile int64
	most    int
	create  func(path string) (file, error)

	file  file   // nil: the next call begins one
	size  int64  // what it has, in whole frames
	last  string // the name of the last file
	wait  []byte // frames that are to be written
	calls int    // of wait
	full  error  // why nothing can be written until a time; nil: it can
	until time.Time

	written, lost int // calls, since tally was called

	unclosed error // the first error of closing a file
}

// file is what is used of an *os.File.
type file interface {
	WriteAt(b []byte, at int64) (int, error)
	Truncate(size int64) error
	Close() error
}

// newFiles makes the folder.
func newFiles(dir string, maxFile int64, most int) (*files, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	create := func(path string) (file, error) { return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600) }
	return &files{dir: dir, maxFile: maxFile, most: most, create: create}, nil
}

// tally returns how many calls were written and lost since it was called before.
func (f *files) tally() (written, lost int) {
	written, lost = f.written, f.lost
	f.written, f.lost = 0, 0
	return written, lost
}

// append writes a call, into the next file when the last one is full.
func (f *files) append(c *Call) error {
	before := len(f.wait)
	b, err := c.frame(f.wait)
	if err != nil {
		f.lost++
		return err
	}
	size := int64(len(magic))
	if f.file != nil {
		size = f.size
	}
	if size+int64(len(b)) > f.maxFile && size+int64(before) > int64(len(magic)) {
		f.wait = b[:before]
		err = f.close()
		b = append(f.wait[:0], b[before:]...)
	}
	f.wait = b
	f.calls++
	if err == nil && len(f.wait) >= batch {
		err = f.flush()
	}
	return err
}

// flush writes what waits.
func (f *files) flush() error {
	if f.calls == 0 {
		return nil
	}
	err := f.write()
	if err == nil {
		f.written += f.calls
	} else {
		f.lost += f.calls
	}
	f.calls, f.wait = 0, f.wait[:0]
	if cap(f.wait) > 4*batch {
		f.wait = nil
	}
	return err
}

func (f *files) write() error {
	if f.full != nil {
		if time.Now().Before(f.until) {
			return f.full
		}
		f.full = nil
	}
	err := f.begin()
	if err == nil {
		_, err = f.file.WriteAt(f.wait, f.size)
	}
	if err != nil {
		f.full, f.until = fmt.Errorf("nothing is recorded for %v: %w", pause, err), time.Now().Add(pause)
		if f.file != nil {
			_ = f.file.Truncate(f.size) // otherwise the file ends in a part of a frame, which a reader reports
		}
		return f.full
	}
	f.size += int64(len(f.wait))
	return nil
}

// begin begins a file, if there is none, whose name sorts behind those of all before, and deletes the oldest once
// the head of the new one is on the disk.
func (f *files) begin() error {
	if f.file != nil {
		return nil
	}
	at := time.Now().UTC()
	for {
		name := at.Format("20060102-150405.000000000") + extension
		at = at.Add(1)
		if name <= f.last {
			continue
		}
		path := filepath.Join(f.dir, name)
		file, err := f.create(path)
		if errors.Is(err, os.ErrExist) {
			continue
		}
		if err != nil {
			return err
		}
		if _, err := file.WriteAt([]byte(magic), 0); err != nil {
			return errors.Join(err, file.Close(), os.Remove(path))
		}
		f.file, f.size, f.last = file, int64(len(magic)), name
		return f.deleteOld()
	}
}

func (f *files) deleteOld() error {
	all, err := list(f.dir)
	for len(all) > f.most && err == nil {
		if err = os.Remove(all[0]); errors.Is(err, os.ErrNotExist) {
			err = nil // another program has removed it
		}
		all = all[1:]
	}
	return err
}

// list are the files of a folder, the oldest first.
func list(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var all []string
	for _, e := range entries {
		if e.Type().IsRegular() && filepath.Ext(e.Name()) == extension {
			all = append(all, filepath.Join(dir, e.Name()))
		}
	}
	slices.Sort(all)
	return all, nil
}

// close writes what waits and ends the file.
func (f *files) close() error {
	err := f.flush()
	if f.file != nil {
		failed := f.file.Close()
		f.file, f.unclosed = nil, cmp.Or(f.unclosed, failed)
		err = errors.Join(err, failed)
	}
	return err
}
