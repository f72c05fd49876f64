package thriftidl

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Loader reads documents with their includes. Its zero value reads files.
type Loader struct {
	// Folders are where includes are looked for, after the folder of the document.
	Folders []string
	// Read reads a file; nil: os.ReadFile.
	Read func(name string) ([]byte, error)
}

// Bounds of what is loaded.
const (
	maxFile  = 8 << 20 // bytes of a file
	maxFiles = 1000
)

// loading is a load that goes on.
type loading struct {
	*Loader
	known map[string]*Document // by path
	chain []string             // the documents that are being read, each included by the one before
}

// Load reads a document, and those that it includes, and checks them.
func (l *Loader) Load(path string) (*Document, error) {
	g := &loading{Loader: l, known: make(map[string]*Document)}
	if g.Read == nil {
		g.Loader = &Loader{Folders: l.Folders, Read: os.ReadFile}
	}
	path = filepath.Clean(path)
	b, err := g.Read(path)
	if err != nil {
		return nil, err
	}
	return g.document(path, b)
}

// document parses a document, reads its includes, and resolves and checks it.
func (g *loading) document(path string, b []byte) (*Document, error) {
	if len(b) > maxFile {
		return nil, fmt.Errorf("%s has %d bytes: a document has at most %d", path, len(b), maxFile)
	}
	d, err := Parse(path, b)
	if err != nil {
		return nil, err
	}
	g.chain = append(g.chain, path)
	names := make(map[string]*Include)
	for _, i := range d.Includes {
		if err := g.include(d, i); err != nil {
			return nil, err
		}
		if other := names[i.Document.Name]; other != nil {
			if other.Document == i.Document {
				continue
			}
			return nil, i.Pos.errorf("%s is called %q, as %s at %s is", i.Path, i.Document.Name, other.Path, other.Pos)
		}
		names[i.Document.Name] = i
	}
	g.chain = g.chain[:len(g.chain)-1]
	c := &checker{d: d, includes: names}
	if err := c.check(); err != nil {
		return nil, err
	}
	g.known[path] = d
	return d, nil
}

// include reads the document of an include.
func (g *loading) include(d *Document, i *Include) error {
	candidates := []string{i.Path}
	if !filepath.IsAbs(i.Path) {
		candidates = []string{filepath.Join(filepath.Dir(d.Path), filepath.FromSlash(i.Path))}
		for _, folder := range g.Folders {
			candidates = append(candidates, filepath.Join(folder, filepath.FromSlash(i.Path)))
		}
	}
	for _, path := range candidates {
		for k, other := range g.chain {
			if other == path {
				return i.Pos.errorf("the include closes a circle: %s", strings.Join(append(g.chain[k:len(g.chain):len(g.chain)], path), " includes "))
			}
		}
		if known := g.known[path]; known != nil {
			i.Document = known
			return nil
		}
		b, err := g.Read(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return i.Pos.errorf("%v", err)
		case len(g.known)+len(g.chain) >= maxFiles:
			return i.Pos.errorf("there are more than %d files", maxFiles)
		}
		i.Document, err = g.document(path, b)
		return err
	}
	return i.Pos.errorf("%s is not there; it was looked for as %s", i.Path, strings.Join(candidates, " and "))
}
