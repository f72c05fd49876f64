package zookeeper

import (
	"context"
	"errors"
	"fmt"

	"github.com/weftrpc/weft/registry"
)

// errUnnamed is said of a document without a name.
var errUnnamed = errors.New("a document needs a name")

// Load returns a document as the leader of the ensemble has it. Its version is the zxid
// of its last change, which comes again neither after a change nor when the document
// was removed and made anew.
func (d *driver) Load(ctx context.Context, name string) (registry.Document, error) {
	var n node
	err := d.inSession(func(s *session) (err error) {
		n, err = s.load(ctx, name)
		return err
	})
	if errors.Is(err, errNoNode) {
		return registry.Document{}, nil
	}
	if err == nil {
		err = checkLength(n.value)
	}
	if err != nil {
		return registry.Document{}, fmt.Errorf("zookeeper: document %q cannot be loaded: %w", name, err)
	}
	return registry.Document{Value: n.value, Version: uint64(n.stat.mzxid)}, nil
}

func (s *session) load(ctx context.Context, name string) (node, error) {
	if name == "" {
		return node{}, errUnnamed
	}
	path := s.d.documentPath(name)
	if err := s.sync(ctx, path); err != nil {
		return node{}, err
	}
	return s.get(ctx, path, false)
}

// checkLength reports whether a value can be that of a document.
func checkLength(value []byte) error {
	if len(value) > registry.MaxDocument {
		return fmt.Errorf("it has %d bytes, at most %d are allowed", len(value), registry.MaxDocument)
	}
	return nil
}

// Store replaces a document if its version is the given one.
func (d *driver) Store(ctx context.Context, name string, value []byte, version uint64) error {
	err := d.inSession(func(s *session) error { return s.store(ctx, name, value, version) })
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errNodeExists), errors.Is(err, errNoNode), errors.Is(err, errBadVersion):
		return registry.ErrConflict
	}
	return fmt.Errorf("zookeeper: document %q cannot be stored: %w", name, err)
}

// store replaces a document that has a version.
func (s *session) store(ctx context.Context, name string, value []byte, version uint64) error {
	n, err := s.load(ctx, name)
	none := errors.Is(err, errNoNode)
	switch {
	case err != nil && !none:
		return err
	case none && version == 0:
		return s.create(ctx, s.d.documentPath(name), value, persistent)
	case none || uint64(n.stat.mzxid) != version:
		return errBadVersion
	}
	return s.set(ctx, s.d.documentPath(name), value, n.stat.version)
}

// WatchDocument calls emit with a document. It ends when the connection is lost.
func (d *driver) WatchDocument(ctx context.Context, name string, emit func(registry.Document)) error {
	if name == "" {
		return fmt.Errorf("zookeeper: %w", errUnnamed)
	}
	path := d.documentPath(name)
	return d.follow(ctx, path, func(s *session) picture { return &page{s: s, path: path, to: emit} })
}

// page is the picture of a document.
type page struct {
	s    *session
	path string
	to   func(registry.Document)
	node node // the zero node: there is none
}

func (p *page) read(ctx context.Context, changed map[string]bool) (whole bool, err error) {
	for changed[p.path] {
		p.node, err = p.s.get(ctx, p.path, true)
		if err == nil {
			err = checkLength(p.node.value)
		}
		if !errors.Is(err, errNoNode) {
			return err == nil, err
		}
		p.node = node{}
		if there, err := p.s.look(ctx, p.path, true); err != nil || there == nil {
			return err == nil, err
		}
	}
	return true, nil
}

func (p *page) current(ctx context.Context) (bool, error) {
	there, err := p.s.look(ctx, p.path, false)
	if there == nil {
		there = &stat{}
	}
	return there.mzxid == p.node.stat.mzxid, err
}

func (p *page) emit() {
	p.to(registry.Document{Value: append([]byte(nil), p.node.value...), Version: uint64(p.node.stat.mzxid)})
}
