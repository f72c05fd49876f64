package etcd

import (
	"context"
	"maps"
	"slices"
	"strings"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/registry"
)

// Watch watches the instances of a service.
func (d *driver) Watch(ctx context.Context, service string, emit func(registry.List)) error {
	if d.fleet != "" {
		return d.watchRpcx(ctx, service, emit)
	}
	prefix := d.keys.service(service)
	return d.follow(ctx, prefix, clientv3.GetPrefixRangeEnd(prefix), &instances{service: service, prefix: prefix, show: emit})
}

// instances is the view of a service.
type instances struct {
	service string
	prefix  string // of the keys
	show    func(registry.List)
	entries map[string]entry // by key
}

// entry is an instance, or why it is none.
type entry struct {
	instance weft.Instance
	invalid  registry.Invalid
}

func (v *instances) clear() { v.entries = make(map[string]entry) }

func (v *instances) put(kv *mvccpb.KeyValue) {
	key := string(kv.Key)
	id, err := unescape(strings.TrimPrefix(key, v.prefix))
	if err != nil {
		v.entries[key] = entry{invalid: registry.Invalid{ID: strings.TrimPrefix(key, v.prefix), Err: err}}
		return
	}
	var e entry
	e.instance, e.invalid.Err = registry.Decode(v.service, id, kv.Value)
	e.invalid.ID = id
	v.entries[key] = e
}

func (v *instances) remove(key string) { delete(v.entries, key) }

func (v *instances) keys() int { return len(v.entries) }

func (v *instances) emit(revision uint64) {
	list := registry.List{Revision: revision}
	for _, key := range slices.Sorted(maps.Keys(v.entries)) {
		e := v.entries[key]
		if e.invalid.Err != nil {
			list.Invalid = append(list.Invalid, e.invalid)
		} else {
			list.Instances = append(list.Instances, e.instance.Clone())
		}
	}
	v.show(list)
}
