package registry

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/weftrpc/weft"
)

// cache is the folder where the last good lists and documents of a registry are. An
// empty one keeps nothing.
type cache string

// cache returns that of the registry.
func (r *Registry) cache() cache {
	if r.cfg.NoCache {
		return ""
	}
	dir := r.cfg.CacheDir
	if dir == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return ""
		}
		dir = filepath.Join(user, "weft")
	}
	return cache(filepath.Join(dir, fileName(r.name)))
}

// maxName is how many bytes of a name are written out. File systems take 255, with
// what comes around it.
const maxName = 100

// fileName makes one part of a path of any name, never the same for two.
func fileName(name string) string {
	escaped := url.PathEscape(name)
	if escaped == "." || escaped == ".." || escaped == "" {
		escaped = "%" + escaped
	}
	if len(escaped) <= maxName {
		return escaped
	}
	sum := sha256.Sum256([]byte(name))
	return fmt.Sprintf("%s~%x", escaped[:maxName], sum[:16])
}

// cachedList is a list as it lies on the disk.
type cachedList struct {
	Confirmed time.Time       `json:"confirmed"`
	Instances []weft.Instance `json:"instances"`
}

// maxCached bounds what is read from the disk.
const maxCached = 64 << 20

func (c cache) saveList(service string, instances []weft.Instance, confirmed time.Time) error {
	if c == "" {
		return nil
	}
	data, err := json.Marshal(cachedList{confirmed.UTC(), instances})
	if err != nil {
		return err
	}
	return c.write("instances", service, data)
}

// loadList returns the instances of a service and when the registry confirmed them;
// none if there is no such file.
func (c cache) loadList(service string) ([]weft.Instance, time.Time, error) {
	var list cachedList
	if err := c.read("instances", service, &list); err != nil {
		return nil, time.Time{}, err
	}
	for i := range list.Instances {
		instance := &list.Instances[i]
		err := instance.Check()
		if err == nil && instance.Service != service {
			err = fmt.Errorf("instance %q is of %s, not of %s", instance.ID, instance.Service, service)
		}
		if err != nil {
			return nil, time.Time{}, fmt.Errorf("registry: cache %s: %w", c, err)
		}
	}
	return list.Instances, list.Confirmed, nil
}

// saveDocument writes a document. That there is none is kept as no file: names may be any that a program is asked for.
func (c cache) saveDocument(name string, d Document) error {
	if c == "" {
		return nil
	}
	if d.Version == 0 {
		if err := os.Remove(c.path("documents", name)); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	data, err := json.Marshal(d)
	if err != nil {
		return err
	}
	return c.write("documents", name, data)
}

func (c cache) loadDocument(name string) (d Document, err error) {
	return d, c.read("documents", name, &d)
}

// path is where the file of a name is.
func (c cache) path(kind, name string) string {
	return filepath.Join(string(c), kind, fileName(name)+".json")
}

// write puts a file in its place at once, so that a reader, or a crash, never sees
// half of it. The cache says where servers are, so it is for its user alone.
func (c cache) write(kind, name string, data []byte) error {
	dir := filepath.Join(string(c), kind)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	file, err := os.CreateTemp(dir, ".new-*")
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	if err = errors.Join(err, file.Close()); err == nil {
		err = os.Rename(file.Name(), c.path(kind, name))
	}
	if err != nil {
		err = errors.Join(err, os.Remove(file.Name()))
	}
	return err
}

// read decodes a file; that there is none is no error.
func (c cache) read(kind, name string, into any) error {
	if c == "" {
		return nil
	}
	path := c.path(kind, name)
	data, err := readFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("registry: cache %s: %w", path, err)
	}
	return nil
}

// readFile reads a regular file, at most maxCached bytes of it: to open a pipe would
// wait for a writer.
func readFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("registry: cache %s is not a regular file", path)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxCached+1))
	if err == nil && len(data) > maxCached {
		err = fmt.Errorf("registry: cache %s has more than %d bytes", path, maxCached)
	}
	return data, err
}
