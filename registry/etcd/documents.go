package etcd

import (
	"bytes"
	"context"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/weftrpc/weft/registry"
)

// Load returns a document. Its version is the revision of etcd in which it was
// stored.
func (d *driver) Load(ctx context.Context, name string) (registry.Document, error) {
	key := d.keys.document(name)
	got, err := d.client.Get(ctx, key)
	if err != nil || len(got.Kvs) == 0 {
		return registry.Document{}, failed("load", key, err)
	}
	return documentOf(got.Kvs[0]), nil
}

func documentOf(kv *mvccpb.KeyValue) registry.Document {
	return registry.Document{Value: kv.Value, Version: uint64(kv.ModRevision)}
}

// Store replaces a document if its version is still the given one.
func (d *driver) Store(ctx context.Context, name string, value []byte, version uint64) error {
	key := d.keys.document(name)
	unchanged := clientv3.Compare(clientv3.ModRevision(key), "=", int64(version)) // that of a missing key is 0
	done, err := d.client.Txn(ctx).If(unchanged).Then(clientv3.OpPut(key, string(value))).Commit()
	if err != nil {
		return failed("store", key, err)
	}
	if !done.Succeeded {
		return registry.ErrConflict
	}
	return nil
}

// WatchDocument watches a document.
func (d *driver) WatchDocument(ctx context.Context, name string, emit func(registry.Document)) error {
	return d.follow(ctx, d.keys.document(name), "", &document{show: emit})
}

// document is the view of a document.
type document struct {
	show func(registry.Document)
	now  registry.Document
}

func (v *document) clear() { v.now = registry.Document{} }

func (v *document) put(kv *mvccpb.KeyValue) { v.now = documentOf(kv) }

func (v *document) remove(string) { v.clear() }

func (v *document) keys() int { return 1 }

func (v *document) emit(uint64) {
	v.show(registry.Document{Value: bytes.Clone(v.now.Value), Version: v.now.Version})
}
