package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// subscription collects what ZooKeeper's watches tell of a node and of the nodes right
// below it.
type subscription struct {
	path string
	wake chan struct{} // holds one when something has changed

	mu      sync.Mutex
	changes map[string]bool // the paths
}

func (s *session) subscribe(path string) *subscription {
	v := &subscription{path: path, wake: make(chan struct{}, 1)}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.views[v] = struct{}{}
	return v
}

func (s *session) unsubscribe(v *subscription) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.views, v)
}

// changed tells the watches that a change concerns.
func (s *session) changed(path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for v := range s.views {
		if v.path == path || v.path == parent(path) {
			v.note(path)
		}
	}
}

func (v *subscription) note(path string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.changes == nil {
		v.changes = make(map[string]bool)
	}
	v.changes[path] = true
	select {
	case v.wake <- struct{}{}:
	default:
	}
}

// take returns what has changed since the last call. A node that is read after that
// has its next change in the next call.
func (v *subscription) take() map[string]bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	changes := v.changes
	v.changes = nil
	return changes
}

const (
	// confirmEvery is how often a server is asked whether all is as it was.
	confirmEvery = 5 * time.Second
	// batch is how long changes are collected: a deployment makes many at a time, and
	// each asks for the names of all instances.
	batch = 20 * time.Millisecond
)

// errMissed is what ends a watch that was not told of a change. ZooKeeper
// sends a notification of each change, so this does not happen.
var errMissed = errors.New("something has changed, and the server sent no notification of it")

// picture is what a watch has to know of a part of the tree.
type picture interface {
	// read reads what has changed, and asks to be told of the next change. It is not
	// whole when a node was removed meanwhile; its notification follows.
	read(ctx context.Context, changed map[string]bool) (whole bool, err error)
	// current asks whether it is as it was read.
	current(ctx context.Context) (bool, error)
	emit()
}

// follow keeps a picture of a node up to date until ctx ends or the session is lost.
func (d *driver) follow(ctx context.Context, path string, draw func(*session) picture) error {
	err := ctx.Err()
	var s *session
	if err == nil {
		s, err = d.borrow()
	}
	if err == nil {
		defer d.release(s)
		err = s.follow(ctx, path, draw(s))
	}
	return fmt.Errorf("zookeeper: %s cannot be watched: %w", path, err)
}

func (s *session) follow(ctx context.Context, path string, p picture) error {
	v := s.subscribe(path)
	defer s.unsubscribe(v)
	confirm := time.NewTicker(confirmEvery)
	defer confirm.Stop()
	for changed := map[string]bool{path: true}; ; changed = v.take() {
		whole, err := p.read(ctx, changed)
		if err != nil {
			return err
		}
		if whole {
			p.emit()
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-s.life.Done():
			return context.Cause(s.life)
		case <-v.wake:
			if err := s.pause(ctx, batch); err != nil {
				return err
			}
		case <-confirm.C:
			current, err := p.current(ctx)
			if err != nil {
				return err
			}
			if !current && len(v.wake) == 0 {
				return errMissed
			}
		}
	}
}

// pause waits for a time.
func (s *session) pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-s.life.Done():
		return context.Cause(s.life)
	}
}

// borrow returns the session that watches share, to be released.
func (d *driver) borrow() (*session, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.reading
	if s == nil || s.lost() {
		var err error
		if s, err = d.beginLocked(false); err != nil {
			return nil, err
		}
		d.reading = s
	}
	s.users++
	return s, nil
}

func (d *driver) release(s *session) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if s.users--; s.users == 0 {
		s.lose(errUnused)
	}
}
