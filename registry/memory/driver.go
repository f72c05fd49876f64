package memory

import (
	"context"
	"fmt"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/registry"
)

// Driver returns a driver for the store. It has nothing to close.
func (s *Store) Driver() registry.Driver { return driver{s} }

type driver struct{ store *Store }

var _ registry.Documents = driver{}

func (d driver) Put(ctx context.Context, instance weft.Instance, ttl time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	d.store.put(instance, ttl)
	return nil
}

func (d driver) Refresh(ctx context.Context, instance weft.Instance, ttl time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if !d.store.refresh(instance.Service, instance.ID, ttl) {
		return registry.ErrLost
	}
	return nil
}

func (d driver) Delete(ctx context.Context, instance weft.Instance) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	d.store.delete(instance.Service, instance.ID)
	return nil
}

// confirmEvery is how often a list is emitted that has not changed.
const confirmEvery = 5 * time.Second

func (d driver) Watch(ctx context.Context, service string, emit func(registry.List)) error {
	revision, confirmed := uint64(0), time.Time{}
	for ctx.Err() == nil {
		v := d.store.view(service)
		if v.revision != revision || time.Since(confirmed) >= confirmEvery {
			emit(v.list)
			revision, confirmed = v.revision, time.Now()
		}
		pause := time.Until(confirmed.Add(confirmEvery))
		if !v.expires.IsZero() {
			pause = min(pause, time.Until(v.expires))
		}
		await(ctx, pause, v.changed)
	}
	return ctx.Err()
}

// await waits for a time, for a change, or for the end of ctx.
func await(ctx context.Context, d time.Duration, changed <-chan struct{}) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-changed:
	case <-timer.C:
	}
}

func (d driver) Load(ctx context.Context, name string) (registry.Document, error) {
	if err := ctx.Err(); err != nil {
		return registry.Document{}, err
	}
	document, _ := d.store.load(name)
	return document, nil
}

func (d driver) Store(ctx context.Context, name string, value []byte, version uint64) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if len(value) > registry.MaxDocument {
		return fmt.Errorf("memory: document %q has %d bytes, at most %d are allowed", name, len(value), registry.MaxDocument)
	}
	return d.store.store(name, value, version)
}

func (d driver) WatchDocument(ctx context.Context, name string, emit func(registry.Document)) error {
	version, confirmed := uint64(0), time.Time{}
	for ctx.Err() == nil {
		document, changed := d.store.load(name)
		if document.Version != version || time.Since(confirmed) >= confirmEvery {
			version, confirmed = document.Version, time.Now()
			emit(document)
		}
		await(ctx, time.Until(confirmed.Add(confirmEvery)), changed)
	}
	return ctx.Err()
}

func (d driver) Close() error { return nil }
