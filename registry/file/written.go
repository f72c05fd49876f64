package file

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"time"
)

const (
	// maxFile is how many bytes the file can have.
	maxFile = 16 << 20
	// coarse is the coarsest clock that a file system stamps its files by: a file
	// that was changed so shortly before it was read can change again and look the
	// same.
	coarse = 2 * time.Second
	// missingFor is how long the file must be missing to be taken for an empty one:
	// some editors remove a file before they write it.
	missingFor = time.Second
)

// stamp reports whether a file has changed.
type stamp struct {
	info    fs.FileInfo // nil: it was not there
	settled bool        // what changes from now on is seen by the times
}

func (s stamp) same(info fs.FileInfo) bool {
	return s.info != nil && s.settled && os.SameFile(s.info, info) &&
		s.info.ModTime().Equal(info.ModTime()) && s.info.Size() == info.Size()
}

func newStamp(info fs.FileInfo, now time.Time) stamp {
	return stamp{info, now.Sub(info.ModTime()) > coarse}
}

// written is the file that people write, and what it said when it was last right.
type written struct {
	path string

	mu      sync.Mutex
	stamp   stamp     // of what was read last
	missing time.Time // since when the file is not there; zero: it is
	good    services  // what it said when it was last right; nil: it never was
	wrong   error     // what is wrong with it now
}

// read returns what the file said when it was last right, nil if it never was, and
// what is wrong with it now.
func (w *written) read(now time.Time) (services, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	info, err := os.Stat(w.path)
	if err == nil && w.stamp.same(info) {
		return w.good, w.wrong
	}
	var data []byte
	if err == nil {
		data, err = readFile(w.path, maxFile)
	}
	w.stamp = stamp{}
	if errors.Is(err, fs.ErrNotExist) {
		if w.missing.IsZero() {
			w.missing = now
		}
		if w.good == nil || now.Sub(w.missing) >= missingFor {
			w.good, w.wrong = services{}, nil
		}
		return w.good, w.wrong
	}
	var all services
	if err == nil {
		// Only what could be read has a stamp: permissions change without one.
		w.stamp = newStamp(info, now)
		all, err = parse(w.path, data)
	}
	w.missing, w.wrong = time.Time{}, err
	if err == nil {
		w.good = all
	}
	return w.good, w.wrong
}

// unfitError says that a file itself will not do, rather than that the file system has
// failed.
type unfitError struct{ path, why string }

func (e *unfitError) Error() string { return fmt.Sprintf("file: %s %s", e.path, e.why) }

// readFile reads a file of up to most bytes. It opens nothing but files: a pipe would
// keep it waiting for a writer.
func readFile(path string, most int) ([]byte, error) {
	info, err := os.Stat(path)
	tooLong := &unfitError{path, fmt.Sprintf("has more than %d bytes", most)}
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, &unfitError{path, "is not a regular file"}
	case info.Size() > int64(most):
		return nil, tooLong
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, int64(most)+1))
	if err == nil && len(data) > most {
		err = tooLong
	}
	return data, err
}
