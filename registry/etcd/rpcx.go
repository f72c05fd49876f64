package etcd

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/registry"
	"github.com/weftrpc/weft/registry/rpcx"
)

// NewRpcx makes a registry of what servers of rpcx publish in etcd, in the layout of its plugin for etcd v3: see package
// rpcx below registry. Prefix is their BasePath, and must be named. Servers of weft that register with it are
// found by clients of rpcx. It keeps no documents.
func NewRpcx(cfg Config) (*registry.Registry, error) {
	d, err := newRpcxDriver(cfg)
	if err != nil {
		return nil, err
	}
	// Without the methods of registry.Documents.
	r, err := registry.New(d.name, struct{ registry.Driver }{d}, &cfg.Registry)
	if err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return r, nil
}

func newRpcxDriver(cfg Config) (*driver, error) {
	fleet := rpcx.Base(cfg.Prefix)
	if err := fleet.Check(); err != nil {
		return nil, err
	}
	d, err := newDriver(cfg)
	if err != nil {
		return nil, err
	}
	d.fleet = fleet
	d.name += " (rpcx)"
	return d, nil
}

// key is the key of an instance.
func (d *driver) key(i weft.Instance) (string, error) {
	if d.fleet != "" {
		return d.fleet.Key(i)
	}
	return d.keys.instance(i.Service, i.ID), nil
}

// entry is the key and the value of an instance.
func (d *driver) entry(i weft.Instance) (key string, value []byte, err error) {
	if key, err = d.key(i); err != nil {
		return "", nil, err
	}
	if d.fleet != "" {
		value, err = rpcx.Encode(i)
	} else {
		value, err = registry.Encode(i)
	}
	return key, value, err
}

// watchRpcx watches the servers of rpcx that have a service.
func (d *driver) watchRpcx(ctx context.Context, service string, emit func(registry.List)) error {
	prefix := d.fleet.Folder(service)
	return d.follow(ctx, prefix, clientv3.GetPrefixRangeEnd(prefix), &fleetView{service: service, prefix: prefix, show: emit})
}

// fleetView is the view of a service in the layout of rpcx.
type fleetView struct {
	service string
	prefix  string // of the keys
	show    func(registry.List)
	entries map[string]rpcx.Entry // by key
}

func (v *fleetView) clear() { v.entries = make(map[string]rpcx.Entry) }

func (v *fleetView) put(kv *mvccpb.KeyValue) {
	key := string(kv.Key)
	v.entries[key] = rpcx.Read(v.service, strings.TrimPrefix(key, v.prefix), kv.Value, uint64(kv.ModRevision))
}

func (v *fleetView) remove(key string) { delete(v.entries, key) }

func (v *fleetView) keys() int { return len(v.entries) }

func (v *fleetView) emit(revision uint64) {
	list := rpcx.List(slices.Collect(maps.Values(v.entries)))
	list.Revision = revision
	v.show(list)
}
