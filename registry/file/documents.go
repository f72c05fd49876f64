package file

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/weftrpc/weft/registry"
)

func (d *driver) documents() string { return filepath.Join(d.folder, "documents") }

func (d *driver) documentPath(name string) string {
	return filepath.Join(d.documents(), fileName(name))
}

// version is that of a content, so that people can write documents: they would not
// count. A content that comes back has its old version again.
func version(value []byte) uint64 {
	sum := sha256.Sum256(value)
	return max(1, binary.BigEndian.Uint64(sum[:]))
}

// Load reads a document.
func (d *driver) Load(ctx context.Context, name string) (registry.Document, error) {
	if err := ctx.Err(); err != nil {
		return registry.Document{}, err
	}
	value, err := readFile(d.documentPath(name), registry.MaxDocument)
	if errors.Is(err, fs.ErrNotExist) {
		return registry.Document{}, nil
	}
	if err != nil {
		return registry.Document{}, err
	}
	return registry.Document{Value: value, Version: version(value)}, nil
}

// lockEvery is how often Store tries to get the lock.
const lockEvery = 5 * time.Millisecond

// Store replaces a document. A lock on the folder keeps other processes from storing
// one at the same time; a document written by hand is written without it.
func (d *driver) Store(ctx context.Context, name string, value []byte, version uint64) error {
	if len(value) > registry.MaxDocument {
		return fmt.Errorf("file: document %q has %d bytes, at most %d are allowed", name, len(value), registry.MaxDocument)
	}
	if err := os.MkdirAll(d.documents(), 0o755); err != nil {
		return err
	}
	unlock, err := lock(ctx, filepath.Join(d.documents(), ".lock"))
	if err != nil {
		return err
	}
	defer unlock()
	now, err := d.Load(ctx, name)
	if err != nil {
		return err
	}
	if now.Version != version {
		return registry.ErrConflict
	}
	return replace(d.documentPath(name), value, time.Time{})
}

// lock waits until it has the lock that is a file.
func lock(ctx context.Context, path string) (unlock func(), err error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("file: %s is locked: %w", path, err)
		}
		unlock, err := tryLock(path)
		if unlock != nil || err != nil {
			return unlock, err
		}
		select {
		case <-ctx.Done():
		case <-time.After(lockEvery):
		}
	}
}

// WatchDocument looks at a document until ctx ends, or it cannot be read.
func (d *driver) WatchDocument(ctx context.Context, name string, emit func(registry.Document)) error {
	path := d.documentPath(name)
	var last registry.Document
	var seen stamp
	return look(ctx, emit,
		func() (registry.Document, error) {
			now := time.Now()
			info, err := os.Stat(path)
			if err == nil && seen.same(info) {
				return last, nil
			}
			last, err = d.Load(ctx, name)
			if seen = (stamp{}); info != nil {
				seen = newStamp(info, now)
			}
			return last, err
		},
		func(a, b registry.Document) bool { return a.Version == b.Version && bytes.Equal(a.Value, b.Value) },
		func(document registry.Document) registry.Document {
			document.Value = slices.Clone(document.Value)
			return document
		})
}
