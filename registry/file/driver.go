package file

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/registry"
)

const (
	// lookEvery is how often files are looked at.
	lookEvery = 250 * time.Millisecond
	// confirmEvery is how often a list is emitted that has not changed.
	confirmEvery = 5 * time.Second
)

// driver is the file and the folder beside it.
type driver struct {
	written written
	folder  string
}

var _ registry.Documents = (*driver)(nil)

// entries returns the folder of the instances of a service that have registered
// themselves.
func (d *driver) entries(service string) *entries {
	return &entries{dir: filepath.Join(d.folder, "instances", fileName(service)), service: service}
}

// Put publishes an instance.
func (d *driver) Put(ctx context.Context, instance weft.Instance, ttl time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return d.entries(instance.Service).put(instance, ttl)
}

// Refresh keeps a published instance.
func (d *driver) Refresh(ctx context.Context, instance weft.Instance, ttl time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return d.entries(instance.Service).refresh(instance.ID, ttl)
}

// Delete withdraws an instance that was published. It does nothing to one that is in
// the file.
func (d *driver) Delete(ctx context.Context, instance weft.Instance) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return d.entries(instance.Service).delete(instance.ID)
}

// Watch looks at the file and the folder until ctx ends, or the folder cannot be
// read, or the file is wrong and never was right.
func (d *driver) Watch(ctx context.Context, service string, emit func(registry.List)) error {
	entries := d.entries(service)
	return look(ctx, emit,
		func() (registry.List, error) { return d.list(entries) },
		func(a, b registry.List) bool {
			return slices.EqualFunc(a.Instances, b.Instances, func(a, b weft.Instance) bool { return a.Equal(&b) }) &&
				slices.EqualFunc(a.Invalid, b.Invalid, func(a, b registry.Invalid) bool {
					return a.ID == b.ID && a.Err.Error() == b.Err.Error()
				})
		},
		func(list registry.List) registry.List {
			list.Instances, list.Invalid = slices.Clone(list.Instances), slices.Clone(list.Invalid)
			for n := range list.Instances {
				list.Instances[n] = list.Instances[n].Clone()
			}
			return list
		})
}

// look calls read again and again, and emit with copies of what it returns, when that
// has changed or when it is time to confirm it.
func look[T any](ctx context.Context, emit func(T), read func() (T, error), same func(a, b T) bool, clone func(T) T) error {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	var last T
	var emitted time.Time // zero: never
	for ctx.Err() == nil {
		now, err := read()
		if err != nil {
			return err
		}
		if emitted.IsZero() || !same(now, last) || time.Since(emitted) >= confirmEvery {
			last, emitted = now, time.Now()
			emit(clone(now))
		}
		select {
		case <-ctx.Done():
		case <-ticker.C:
		}
	}
	return ctx.Err()
}

// list returns what a service has now. Its instances are shared.
func (d *driver) list(e *entries) (registry.List, error) {
	now := time.Now()
	list, err := e.read(now)
	if err != nil {
		return list, err
	}
	all, wrong := d.written.read(now)
	if all == nil {
		return list, wrong
	}
	registered := make(map[string]bool, len(list.Instances))
	for _, i := range list.Instances {
		registered[i.ID] = true
	}
	for _, i := range all[e.service] {
		if !registered[i.ID] {
			list.Instances = append(list.Instances, i)
		}
	}
	if wrong != nil {
		list.Invalid = append(list.Invalid, registry.Invalid{ID: d.written.path, Err: wrong})
	}
	slices.SortFunc(list.Instances, func(a, b weft.Instance) int { return cmp.Compare(a.ID, b.ID) })
	return list, nil
}

// Close does nothing: files are open only while they are used.
func (d *driver) Close() error { return nil }
