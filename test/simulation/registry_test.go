package simulation

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/registry"
	"github.com/weftrpc/weft/registry/memory"
)

// errAway is what a registry answers that is away.
var errAway = errors.New("the registry does not answer")

// authority is the registry of a simulation. Every program has a driver of its own.
type authority struct {
	mu      sync.Mutex
	store   *memory.Store
	away    bool
	empty   bool
	changed chan struct{} // closed at the next change of these
}

func newAuthority() *authority {
	return &authority{store: memory.NewStore(), changed: make(chan struct{})}
}

func (a *authority) set(f func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	f()
	close(a.changed)
	a.changed = make(chan struct{})
}

func (a *authority) state() (store *memory.Store, away, empty bool, changed <-chan struct{}) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.store, a.away, a.empty, a.changed
}

// driver is how one program reaches the registry. One that is dead has no effect any more.
type driver struct {
	of   *authority
	dead chan struct{}
}

var _ registry.Driver = (*driver)(nil)

func (a *authority) driver() *driver { return &driver{a, make(chan struct{})} }

// ask returns the driver of the store, unless the registry cannot be reached.
func (d *driver) ask(ctx context.Context) (registry.Driver, error) {
	store, away, _, _ := d.of.state()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if away || isClosed(d.dead) {
		return nil, errAway
	}
	return store.Driver(), nil
}

func (d *driver) Put(ctx context.Context, i weft.Instance, ttl time.Duration) error {
	to, err := d.ask(ctx)
	if err != nil {
		return err
	}
	return to.Put(ctx, i, ttl)
}

func (d *driver) Refresh(ctx context.Context, i weft.Instance, ttl time.Duration) error {
	to, err := d.ask(ctx)
	if err != nil {
		return err
	}
	return to.Refresh(ctx, i, ttl)
}

func (d *driver) Delete(ctx context.Context, i weft.Instance) error {
	to, err := d.ask(ctx)
	if err != nil {
		return err
	}
	return to.Delete(ctx, i)
}

func (d *driver) Watch(ctx context.Context, service string, emit func(registry.List)) error {
	for {
		store, away, empty, changed := d.of.state()
		if away || isClosed(d.dead) {
			return errAway
		}
		ended, err := d.watch(ctx, store, empty, changed, service, emit)
		if ended {
			return err
		}
	}
}

// watch hands on the lists of the store until the registry changes.
func (d *driver) watch(ctx context.Context, store *memory.Store, empty bool, changed <-chan struct{}, service string, emit func(registry.List)) (ended bool, err error) {
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := make(chan struct{})
	var wg sync.WaitGroup
	defer wg.Wait()
	defer close(stop)
	wg.Go(func() {
		select {
		case <-changed:
			cancel()
		case <-d.dead:
			cancel()
		case <-stop:
		}
	})
	err = store.Driver().Watch(inner, service, func(list registry.List) {
		if empty {
			list.Instances = nil
		}
		emit(list)
	})
	return ctx.Err() != nil, err
}

func (d *driver) Close() error { return nil }

// die has the driver reach nothing any more, as when its program is killed.
func (d *driver) die() {
	if !isClosed(d.dead) {
		close(d.dead)
	}
}
