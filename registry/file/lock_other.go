//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package file

import (
	"errors"
	"os"
	"time"
)

// staleAfter is when a lock was left by a process that has died: it is held for as
// long as it takes to write one small file.
const staleAfter = 10 * time.Second

// tryLock returns nil for unlock when another process has the lock. The lock is that the
// file is there, since these systems have no other way in the standard library.
func tryLock(path string) (unlock func(), err error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644)
	if err == nil {
		file.Close()
		return func() { os.Remove(path) }, nil
	}
	if !errors.Is(err, os.ErrExist) {
		return nil, err
	}
	if info, err := os.Stat(path); err == nil && time.Since(info.ModTime()) > staleAfter {
		os.Remove(path)
	}
	return nil, nil
}
