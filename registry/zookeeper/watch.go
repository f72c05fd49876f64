package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/registry"
	"github.com/weftrpc/weft/registry/rpcx"
)

// Watch calls emit with the instances of a service. It ends when the connection is
// lost. The revision is the zxid of the service's last change.
func (d *driver) Watch(ctx context.Context, service string, emit func(registry.List)) error {
	if service == "" {
		return errors.New("zookeeper: a service needs a name")
	}
	path := d.servicePath(service)
	return d.follow(ctx, path, func(s *session) picture {
		return &roll{s: s, service: service, path: path, fleet: d.fleet != "", to: emit}
	})
}

// roll is the picture of the instances of a service.
type roll struct {
	s       *session
	service string
	path    string
	fleet   bool // in the layout of rpcx
	to      func(registry.List)

	changed int64             // zxid of the last node that came or went; 0: there is no folder
	entries map[string]*entry // by the name of the node; nil: not read yet
}

// entry is one node.
type entry struct {
	id       string
	instance weft.Instance
	err      error // it is no instance
	changed  int64 // zxid of the last change
	size     int   // of the value
}

func (e *entry) bytes() int {
	if e == nil {
		return 0
	}
	return e.size
}

func (r *roll) read(ctx context.Context, changed map[string]bool) (whole bool, err error) {
	if changed[r.path] {
		if err := r.readNames(ctx); err != nil {
			return false, err
		}
	}
	var stale []string
	for name, e := range r.entries {
		if e == nil || changed[r.path+"/"+name] {
			stale = append(stale, name)
		}
	}
	return r.readEntries(ctx, stale)
}

// What a client takes of one service. A process that can write to ZooKeeper could
// otherwise fill the memory of all clients.
const (
	maxInstances = 100_000
	maxBytes     = 64 << 20 // of all values together
)

// readNames reads which nodes there are.
func (r *roll) readNames(ctx context.Context) error {
	for {
		names, changed, err := r.s.children(ctx, r.path)
		if err == nil && len(names) > maxInstances {
			err = fmt.Errorf("it has %d instances, at most %d are taken: remove the nodes that are none", len(names), maxInstances)
		}
		if err == nil {
			old := r.entries
			r.changed, r.entries = changed, make(map[string]*entry, len(names))
			for _, n := range names {
				r.entries[n] = old[n]
			}
			return nil
		}
		if !errors.Is(err, errNoNode) {
			return err
		}
		there, err := r.s.look(ctx, r.path, true)
		if err != nil {
			return err
		}
		if there == nil {
			r.changed, r.entries = 0, nil
			return nil
		}
	}
}

var errTooMuch = fmt.Errorf("its instances have more than %d MiB in all: remove the nodes that are none", maxBytes>>20)

// readers is how many nodes are read at the same time.
const readers = 16

// readEntries reads nodes. It is not whole when one has gone since the names were read.
func (r *roll) readEntries(ctx context.Context, names []string) (whole bool, err error) {
	entries := make([]*entry, len(names))
	errs := make([]error, len(names))
	var next, size atomic.Int64
	for _, e := range r.entries {
		size.Add(int64(e.bytes()))
	}
	for _, name := range names {
		size.Add(-int64(r.entries[name].bytes()))
	}
	var wg sync.WaitGroup
	for range min(readers, len(names)) {
		// It ends after the last node, or with ctx or the connection.
		wg.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(names)); i = next.Add(1) - 1 {
				entries[i], errs[i] = r.readEntry(ctx, names[i])
				if size.Add(int64(entries[i].bytes())) > maxBytes {
					errs[i] = errTooMuch
				}
				if errs[i] != nil {
					return
				}
			}
		})
	}
	wg.Wait()
	whole = true
	for i, name := range names {
		switch {
		case errs[i] != nil:
			return false, errs[i]
		case entries[i] == nil:
			delete(r.entries, name)
			whole = false
		default:
			r.entries[name] = entries[i]
		}
	}
	return whole, nil
}

// readEntry reads one node; nil if it has gone.
func (r *roll) readEntry(ctx context.Context, name string) (*entry, error) {
	id := name
	if !r.fleet {
		var err error
		if id, err = unescape(name); err != nil {
			return &entry{id: name, err: err}, nil
		}
	}
	n, err := r.s.get(ctx, r.path+"/"+name, true)
	if errors.Is(err, errNoNode) {
		return nil, nil
	}
	if long, ok := errors.AsType[tooLong](err); ok {
		return &entry{id: id, err: long}, nil // ZooKeeper will tell when it changes
	}
	if err != nil {
		return nil, err
	}
	e := &entry{id: id, changed: n.stat.mzxid, size: len(n.value)}
	if r.fleet {
		e.instance, e.err = rpcx.Decode(r.service, name, n.value)
	} else {
		e.instance, e.err = registry.Decode(r.service, id, n.value)
	}
	return e, nil
}

func (r *roll) current(ctx context.Context) (bool, error) {
	there, err := r.s.look(ctx, r.path, false)
	if err != nil {
		return false, err
	}
	return there == nil && r.changed == 0 || there != nil && there.pzxid == r.changed, nil
}

func (r *roll) emit() {
	if r.fleet {
		r.emitFleet()
		return
	}
	list := registry.List{Revision: uint64(r.changed)}
	for _, e := range r.entries {
		list.Revision = max(list.Revision, uint64(e.changed))
		if e.err != nil {
			list.Invalid = append(list.Invalid, registry.Invalid{ID: e.id, Err: e.err})
		} else {
			list.Instances = append(list.Instances, e.instance.Clone())
		}
	}
	r.to(list)
}
