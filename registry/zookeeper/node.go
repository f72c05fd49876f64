package zookeeper

import (
	"context"
	"errors"
)

// kind is what becomes of a node when the session ends.
type kind int32

const (
	persistent kind = 0
	ephemeral  kind = 1
)

// anyVersion stands for whatever version a node has.
const anyVersion int32 = -1

// node is the value of a node and what ZooKeeper knows of it.
type node struct {
	value []byte
	stat  stat
}

// get reads a node, and asks to be told of its next change.
func (s *session) get(ctx context.Context, path string, tell bool) (n node, err error) {
	d, err := s.ask(ctx, opGet, putBool(putText(nil, path), tell))
	if err != nil {
		return node{}, err
	}
	n.value, n.stat = d.bytes(), d.stat()
	return n, d.err()
}

// look tells what ZooKeeper knows of a node; nil if there is none. If tell is set it
// asks to be told of the next change.
func (s *session) look(ctx context.Context, path string, tell bool) (*stat, error) {
	d, err := s.ask(ctx, opExists, putBool(putText(nil, path), tell))
	if errors.Is(err, errNoNode) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	of := d.stat()
	return &of, d.err()
}

// children reads the names of the nodes below a node, with the zxid of the last one
// that came or went, and asks to be told when that happens again.
func (s *session) children(ctx context.Context, path string) (names []string, changed int64, err error) {
	d, err := s.ask(ctx, opChildren, putBool(putText(nil, path), true))
	if err != nil {
		return nil, 0, err
	}
	names, changed = d.texts(), d.stat().pzxid
	return names, changed, d.err()
}

// set replaces the value of a node that has a version.
func (s *session) set(ctx context.Context, path string, value []byte, version int32) error {
	_, err := s.ask(ctx, opSet, putInt(putText(putText(nil, path), value), version))
	return err
}

// create makes a node, and those above it that are missing.
func (s *session) create(ctx context.Context, path string, value []byte, k kind) error {
	request := s.creation(path, value, k)
	_, err := s.ask(ctx, opCreate, request)
	if !errors.Is(err, errNoNode) || parent(path) == "" {
		return err
	}
	err = s.create(ctx, parent(path), nil, persistent)
	if err != nil && !errors.Is(err, errNodeExists) {
		return err
	}
	_, err = s.ask(ctx, opCreate, request)
	return err
}

// creation is the request that makes a node. It is open to all, or to those with the
// same identity.
func (s *session) creation(path string, value []byte, k kind) []byte {
	scheme, id := "world", "anyone"
	if s.d.auth != nil {
		scheme, id = "auth", ""
	}
	const one, all = 1, 1<<5 - 1
	request := putText(putText(nil, path), value)
	request = putInt(putInt(request, one), all)
	request = putText(putText(request, scheme), id)
	return putInt(request, int32(k))
}

// recreate puts an ephemeral node of this session in the place of a node, in one step.
func (s *session) recreate(ctx context.Context, path string, value []byte) error {
	part := func(b []byte, what op, last bool) []byte {
		return putInt(putBool(putInt(b, int32(what)), last), -1)
	}
	request := part(nil, opDelete, false)
	request = putInt(putText(request, path), anyVersion)
	request = part(request, opCreate, false)
	request = append(request, s.creation(path, value, ephemeral)...)
	request = part(request, -1, true)
	d, err := s.ask(ctx, opMulti, request)
	if err != nil {
		return err
	}
	// When it was not done the answer is a code for each part, 0 before the one that
	// could not be done. When it was, the first part has no result.
	for what := op(d.int()); what == -1 && !d.bad; what = op(d.int()) {
		last := d.take(1)[0] != 0
		d.int()
		if last {
			break
		}
		if code := d.int(); code != 0 {
			return fault(code)
		}
	}
	return d.err()
}

// remove removes a node that has a version.
func (s *session) remove(ctx context.Context, path string, version int32) error {
	_, err := s.ask(ctx, opDelete, putInt(putText(nil, path), version))
	return err
}

// sync lets the server that is asked catch up with the ensemble's leader.
func (s *session) sync(ctx context.Context, path string) error {
	_, err := s.ask(ctx, opSync, putText(nil, path))
	return err
}
