package file

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/registry"
)

const (
	entrySuffix = ".json"
	// newPrefix is that of the names of files that are not in their place yet.
	newPrefix = ".new-"
	// maxEntry is how many bytes of an entry are read, more than an instance can have.
	maxEntry = 128 << 10
	// sweepAfter is how long an entry is left where it is after it has expired, so
	// that a server that was merely late does not lose it while it refreshes it.
	sweepAfter = time.Minute
)

// entries is the folder with the instances of one service. Each is a file, whose
// time of modification is when it expires: to refresh it is to set that time, which
// takes no lock and leaves nothing half done.
type entries struct {
	dir     string
	service string
	known   map[string]known // by file name, for read alone
}

// known is an entry as it was read.
type known struct {
	stamp stamp
	list  registry.List // with the instance, or why it is none
}

func (e *entries) path(id string) string {
	return filepath.Join(e.dir, fileName(id)+entrySuffix)
}

func (e *entries) put(instance weft.Instance, ttl time.Duration) error {
	value, err := registry.Encode(instance)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(e.dir, 0o755); err != nil {
		return err
	}
	e.sweep(time.Now())
	return replace(e.path(instance.ID), value, time.Now().Add(ttl))
}

func (e *entries) refresh(id string, ttl time.Duration) error {
	path := e.path(id)
	info, err := os.Stat(path)
	if err == nil {
		now := time.Now()
		if !now.Before(info.ModTime()) {
			return registry.ErrLost
		}
		err = os.Chtimes(path, now, now.Add(ttl))
	}
	if errors.Is(err, fs.ErrNotExist) {
		return registry.ErrLost
	}
	return err
}

func (e *entries) delete(id string) error {
	err := os.Remove(e.path(id))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// sweep removes entries that have expired, and what a process that died has left half
// written. What cannot be removed is read as expired all the same.
func (e *entries) sweep(now time.Time) {
	files, err := os.ReadDir(e.dir)
	if err != nil {
		return
	}
	for _, f := range files {
		if !isEntry(f.Name()) && !strings.HasPrefix(f.Name(), newPrefix) {
			continue
		}
		if info, err := f.Info(); err == nil && now.Sub(info.ModTime()) > sweepAfter {
			_ = os.Remove(filepath.Join(e.dir, f.Name()))
		}
	}
}

func isEntry(name string) bool {
	return strings.HasSuffix(name, entrySuffix) && !strings.HasPrefix(name, ".")
}

// read returns the entries that have not expired, of which it reads those that have
// changed.
func (e *entries) read(now time.Time) (registry.List, error) {
	var list registry.List
	files, err := os.ReadDir(e.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return list, err
	}
	fresh := make(map[string]known, len(files))
	for _, f := range files {
		name := f.Name()
		if !isEntry(name) {
			continue
		}
		info, err := f.Info()
		if err == nil && !now.Before(info.ModTime()) {
			continue
		}
		k, ok := e.known[name]
		if err == nil && !(ok && k.stamp.same(info)) {
			k, err = e.load(name, info)
		}
		if errors.Is(err, fs.ErrNotExist) {
			continue // it was deleted meanwhile
		}
		if err != nil {
			return list, err
		}
		fresh[name] = k
		list.Instances = append(list.Instances, k.list.Instances...)
		list.Invalid = append(list.Invalid, k.list.Invalid...)
	}
	e.known = fresh
	return list, nil
}

// load reads one entry. One that cannot be read is invalid, and hides no other; an error
// is one of the file system.
func (e *entries) load(name string, info fs.FileInfo) (known, error) {
	var k known
	value, err := readFile(filepath.Join(e.dir, name), maxEntry)
	_, unfit := errors.AsType[*unfitError](err)
	switch {
	case unfit || errors.Is(err, fs.ErrPermission):
		k.list.Invalid = []registry.Invalid{{ID: name, Err: err}}
		return k, nil
	case err != nil:
		return k, err
	}
	// The times of entries are set to the nanosecond by their writers, so no two
	// versions have the same.
	k.stamp = stamp{info: info, settled: true}
	var head struct {
		ID string `json:"id"`
	}
	err = json.Unmarshal(value, &head)
	if err == nil && fileName(head.ID)+entrySuffix != name {
		err = fmt.Errorf("file: %s has the instance %q, which belongs into another file", name, head.ID)
	}
	if err != nil {
		k.list.Invalid = []registry.Invalid{{ID: name, Err: err}}
	} else {
		k.list.Add(e.service, head.ID, value)
	}
	return k, nil
}

// replace puts a file in its place at once, with a time of modification; a zero one is
// now. Neither a reader nor a crash ever sees half of it.
func replace(path string, value []byte, modified time.Time) error {
	file, err := os.CreateTemp(filepath.Dir(path), newPrefix+"*")
	if err != nil {
		return err
	}
	_, err = file.Write(value)
	err = errors.Join(err, file.Chmod(0o644), file.Sync(), file.Close())
	if err == nil && !modified.IsZero() {
		err = os.Chtimes(file.Name(), modified, modified)
	}
	if err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		err = errors.Join(err, os.Remove(file.Name()))
	}
	return err
}
