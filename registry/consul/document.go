package consul

import (
	"context"
	"fmt"

	"github.com/hashicorp/consul/api"

	"github.com/weftrpc/weft/registry"
)

// Load implements registry.Documents.
func (d *driver) Load(ctx context.Context, name string) (registry.Document, error) {
	q := &api.QueryOptions{Datacenter: d.datacenter}
	key := d.documentKey(name)
	pair, _, err := d.client.KV().Get(key, q.WithContext(ctx))
	if err != nil {
		return registry.Document{}, fmt.Errorf("consul: load document %q: %w", name, explain(err, fmt.Sprintf("key:read for %q", key)))
	}
	return document(pair), nil
}

// Store implements registry.Documents.
func (d *driver) Store(ctx context.Context, name string, value []byte, version uint64) error {
	w := &api.WriteOptions{Datacenter: d.datacenter}
	// The index 0 stands for a key that does not exist.
	pair := &api.KVPair{Key: d.documentKey(name), Value: value, ModifyIndex: version}
	stored, _, err := d.client.KV().CAS(pair, w.WithContext(ctx))
	switch {
	case err != nil:
		return fmt.Errorf("consul: store document %q: %w", name, explain(err, fmt.Sprintf("key:write for %q", pair.Key)))
	case !stored:
		return registry.ErrConflict
	}
	return nil
}

// WatchDocument implements registry.Documents.
func (d *driver) WatchDocument(ctx context.Context, name string, emit func(registry.Document)) error {
	key := d.documentKey(name)
	err := follow(ctx, d.datacenter,
		func(q *api.QueryOptions) (*api.KVPair, *api.QueryMeta, error) { return d.client.KV().Get(key, q) },
		func(pair *api.KVPair, _ uint64) { emit(document(pair)) })
	return fmt.Errorf("consul: watch document %q: %w", name, explain(err, fmt.Sprintf("key:read for %q", key)))
}

// document is what a key holds; nil: there is no such key.
func document(pair *api.KVPair) registry.Document {
	if pair == nil {
		return registry.Document{}
	}
	return registry.Document{Value: pair.Value, Version: pair.ModifyIndex}
}
