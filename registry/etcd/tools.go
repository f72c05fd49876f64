package etcd

import (
	"context"
	"slices"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// Services returns the names of all services that have something registered, sorted.
// It is for tools: clients know the names of the services that they call.
func Services(ctx context.Context, cfg Config) ([]string, error) {
	d, err := newDriver(cfg)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	prefix := d.keys.instances()
	got, err := d.client.Get(ctx, prefix, clientv3.WithPrefix(), clientv3.WithKeysOnly())
	if err != nil {
		return nil, failed("list", prefix, err)
	}
	var names []string
	for _, kv := range got.Kvs {
		part, _, _ := strings.Cut(strings.TrimPrefix(string(kv.Key), prefix), "/")
		// Of a key that is not ours, no service comes.
		if name, err := unescape(part); err == nil {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// Silence returns how long ago each instance of a service was last refreshed by its
// server, by ID and to the second: a server that is well is never silent for more than a
// third of its TTL, by much. What has no lease is left out. It is for tools, as it asks
// etcd for each instance.
func Silence(ctx context.Context, cfg Config, service string) (map[string]time.Duration, error) {
	d, err := newDriver(cfg)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	prefix := d.keys.service(service)
	got, err := d.client.Get(ctx, prefix, clientv3.WithPrefix())
	if err != nil {
		return nil, failed("list", prefix, err)
	}
	silent := make(map[string]time.Duration)
	for _, kv := range got.Kvs {
		id, err := unescape(strings.TrimPrefix(string(kv.Key), prefix))
		if err != nil || kv.Lease == 0 {
			continue
		}
		lease, err := d.client.TimeToLive(ctx, clientv3.LeaseID(kv.Lease))
		if err != nil {
			return nil, failed("lease of", string(kv.Key), err)
		}
		if lease.TTL >= 0 { // otherwise it has just expired
			silent[id] = time.Duration(max(lease.GrantedTTL-lease.TTL, 0)) * time.Second
		}
	}
	return silent, nil
}
