package up

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"go.etcd.io/etcd/client/pkg/v3/fileutil"
)

// lockFile is in every data folder, and locked while its registry runs.
const lockFile = "weft.lock"

// claim makes the folder of a registry if it is not there, and locks it for this
// process until release is called. A folder in use is refused: etcd would wait for
// another etcd, and would write beside the files of another program.
func claim(folder string) (release func(), err error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, fmt.Errorf("the data folder cannot be made; name another with --data: %w", err)
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, fmt.Errorf("the data folder cannot be read; name another with --data: %w", err)
	}
	for _, e := range entries {
		if name := e.Name(); name != "member" && name != lockFile && name != "lost+found" && !strings.HasPrefix(name, ".") {
			return nil, fmt.Errorf("the data folder %s has %q in it, which no registry wrote; name a folder of its own with --data", folder, name)
		}
	}
	lock, err := fileutil.TryLockFile(filepath.Join(folder, lockFile), os.O_RDWR|os.O_CREATE, 0o600)
	switch {
	case errors.Is(err, fileutil.ErrLocked):
		return nil, fmt.Errorf("the data folder %s is in use by another registry that is up; stop that one, or name another folder with --data", folder)
	case errors.Is(err, fs.ErrPermission):
		return nil, fmt.Errorf("this user may not write to the data folder; name another with --data: %w", err)
	case err != nil:
		return nil, fmt.Errorf("the data folder cannot be locked: %w", err)
	}
	return func() { _ = lock.Close() }, nil // it ends with the process, too
}
