package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/registry"
)

// writer returns the session that publishes.
func (d *driver) writer() (*session, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.writing == nil || d.writing.lost() {
		s, err := d.beginLocked(true)
		if err != nil {
			return nil, err
		}
		d.writing = s
	}
	return d.writing, nil
}

// attempts is how often an operation begins anew whose outcome is not known, which others
// have crossed, or whose session was lost. Each of them can be done twice.
const attempts = 5

// inSession does something in the session that publishes. When that turns out to be lost,
// it is done in the next one: what waited for a connection was not sent.
func (d *driver) inSession(do func(*session) error) error {
	for n := 1; ; n++ {
		s, err := d.writer()
		if err != nil {
			return err
		}
		err = do(s)
		ended := errors.Is(err, errExpired) || errors.Is(err, errRefused)
		if !ended || n == attempts {
			return err
		}
	}
}

// again reports whether it begins anew.
func again(err error) bool {
	return errors.Is(err, errNoNode) || errors.Is(err, errNodeExists) || errors.Is(err, errDisconnected)
}

// Put publishes an instance as an ephemeral node of this process's session. It takes
// the place of one that an older session has left, which clients see as a change.
func (d *driver) Put(ctx context.Context, instance weft.Instance, ttl time.Duration) error {
	path, value, err := d.nodeOf(instance)
	if err != nil {
		return err
	}
	err = d.inSession(func(s *session) (err error) {
		for range attempts {
			if err = s.publish(ctx, path, value); !again(err) {
				break
			}
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("zookeeper: %s cannot be published: %w", path, err)
	}
	d.hold(path, ttl)
	return nil
}

// publish makes a node of this session or changes it. errNoNode and errNodeExists mean
// that another process changed it at the same time.
func (s *session) publish(ctx context.Context, path string, value []byte) error {
	there, err := s.look(ctx, path, false)
	switch {
	case err != nil:
		return err
	case there == nil:
		return s.create(ctx, path, value, ephemeral)
	case s.owns(there):
		return s.set(ctx, path, value, anyVersion)
	}
	return s.recreate(ctx, path, value)
}

// Refresh asks whether the node is there and belongs to this process's session, which
// is kept alive in any case.
func (d *driver) Refresh(ctx context.Context, instance weft.Instance, ttl time.Duration) error {
	path, err := d.instancePath(instance)
	if err != nil {
		return err
	}
	own := false
	err = d.inSession(func(s *session) error {
		there, err := s.look(ctx, path, false)
		own = there != nil && s.owns(there)
		return err
	})
	if err != nil {
		return fmt.Errorf("zookeeper: %s cannot be refreshed: %w", path, err)
	}
	if !own {
		return registry.ErrLost
	}
	d.hold(path, ttl)
	return nil
}

// Delete removes the node, also of another process.
func (d *driver) Delete(ctx context.Context, instance weft.Instance) error {
	path, err := d.instancePath(instance)
	if err != nil {
		return err
	}
	err = d.inSession(func(s *session) (err error) {
		for range attempts {
			if err = s.remove(ctx, path, anyVersion); !errors.Is(err, errDisconnected) {
				break
			}
		}
		return err
	})
	if err != nil && !errors.Is(err, errNoNode) {
		return fmt.Errorf("zookeeper: %s cannot be withdrawn: %w", path, err)
	}
	d.drop(path)
	return nil
}

// lease is how long a node of this process stays without being refreshed.
type lease struct {
	ttl   time.Duration
	until time.Time
	timer *time.Timer
}

// hold gives a node another ttl.
func (d *driver) hold(path string, ttl time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return
	}
	l := d.held[path]
	if l == nil {
		l = &lease{}
		d.held[path] = l
		l.timer = time.AfterFunc(ttl, func() { d.overdue(path, l) })
	}
	l.ttl, l.until = ttl, time.Now().Add(ttl)
	l.timer.Reset(ttl)
}

func (d *driver) drop(path string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if l := d.held[path]; l != nil {
		l.timer.Stop()
		delete(d.held, path)
	}
}

// overdue removes a node that was not refreshed. If that fails it is tried again, for
// as long as there is the session with which the node goes in any case. Without a
// connection nothing can be refreshed: instances get as long again once there is one.
func (d *driver) overdue(path string, l *lease) {
	d.mu.Lock()
	s := d.writing
	overdue := func() bool { return !d.closed && d.held[path] == l && !time.Now().Before(l.until) }
	if !overdue() {
		d.mu.Unlock()
		return
	}
	if connected := s.connected(); connected < l.ttl && !s.lost() {
		l.timer.Reset(l.ttl - connected)
		d.mu.Unlock()
		return
	}
	d.wg.Add(1)
	d.mu.Unlock()
	defer d.wg.Done()
	ctx, cancel := context.WithTimeout(context.Background(), d.timeout)
	defer cancel()
	err := s.removeOwn(ctx, path, func() bool {
		d.mu.Lock()
		defer d.mu.Unlock()
		return overdue()
	})
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case !overdue():
		// It was refreshed meanwhile, or withdrawn.
	case err == nil || s.lost():
		delete(d.held, path)
	default:
		l.timer.Reset(d.timeout / 2)
	}
}

// removeOwn removes a node if it is of this session and, once that is known, still to go.
func (s *session) removeOwn(ctx context.Context, path string, still func() bool) error {
	there, err := s.look(ctx, path, false)
	if err != nil || there == nil || !s.owns(there) || !still() {
		return err
	}
	err = s.remove(ctx, path, there.version)
	if errors.Is(err, errNoNode) || errors.Is(err, errBadVersion) {
		return nil // it is gone, or published again
	}
	return err
}
