package redis

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/registry"
	"github.com/weftrpc/weft/registry/rpcx"
)

// NewRpcx makes a registry of what servers of rpcx publish in Redis, in the layout of its plugin: see package
// rpcx below registry. Prefix is their BasePath, and must be named. Servers of weft that register with it are
// found by clients of rpcx. It keeps no documents, and cannot be a cluster, as rpcx's cannot.
//
// What servers of rpcx change is seen within two seconds. Each watched service has Redis look through all its keys
// that often, so a Redis of its own is better than one that is full of other things.
func NewRpcx(cfg Config) (*registry.Registry, error) {
	d, err := newRpcxDriver(cfg)
	if err != nil {
		return nil, err
	}
	r, err := registry.New(d.name, fleet{d}, &cfg.Registry)
	if err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return r, nil
}

func newRpcxDriver(cfg Config) (*driver, error) {
	base := rpcx.Base(cfg.Prefix)
	if err := base.Check(); err != nil {
		return nil, err
	}
	if len(cfg.Addresses) > 1 && cfg.Master == "" {
		return nil, errors.New("redis: rpcx keeps its keys in one Redis, not in a cluster: name one of Addresses")
	}
	d, err := newDriver(cfg)
	if err != nil {
		return nil, err
	}
	d.fleet = base
	d.name += " (rpcx)"
	return d, nil
}

// fleet is registry.Driver for the layout of rpcx.
type fleet struct{ d *driver }

var _ registry.Driver = fleet{}

// pair is what a key holds: rpcx's library keeps a value in JSON, with its key.
type pair struct {
	Key       string
	Value     []byte
	LastIndex uint64
}

// channel is that of the changes that servers of weft make.
func (f fleet) channel(service string) string { return f.d.fleet.Folder(service) + ":changed" }

// Put implements registry.Driver.
func (f fleet) Put(ctx context.Context, i weft.Instance, ttl time.Duration) error {
	key, err := f.d.fleet.Key(i)
	if err != nil {
		return err
	}
	value, err := rpcx.Encode(i)
	if err != nil {
		return err
	}
	text, err := json.Marshal(pair{key, value, uint64(time.Now().UnixMicro())})
	if err == nil {
		err = f.d.client.Set(ctx, key, text, ttl).Err()
	}
	return f.changed(ctx, "published", i, err)
}

// changed announces a change.
func (f fleet) changed(ctx context.Context, what string, i weft.Instance, err error) error {
	if err == nil {
		err = f.d.client.Publish(ctx, f.channel(i.Service), "").Err()
	}
	if err != nil {
		return fmt.Errorf("redis: instance %q of %s cannot be %s: %w", i.ID, i.Service, what, explain(err))
	}
	return nil
}

// Refresh implements registry.Driver.
func (f fleet) Refresh(ctx context.Context, i weft.Instance, ttl time.Duration) error {
	key, err := f.d.fleet.Key(i)
	if err != nil {
		return err
	}
	there, err := f.d.client.PExpire(ctx, key, ttl).Result()
	if err != nil {
		return fmt.Errorf("redis: instance %q of %s cannot be refreshed: %w", i.ID, i.Service, explain(err))
	}
	if !there {
		return registry.ErrLost
	}
	return nil
}

// Delete implements registry.Driver.
func (f fleet) Delete(ctx context.Context, i weft.Instance) error {
	key, err := f.d.fleet.Key(i)
	if err != nil {
		return err
	}
	return f.changed(ctx, "withdrawn", i, f.d.client.Del(ctx, key).Err())
}

// Watch implements registry.Driver.
func (f fleet) Watch(ctx context.Context, service string, emit func(registry.List)) error {
	return f.d.follow(ctx, topic{channel: f.channel(service)}, func(ctx context.Context) error {
		list, err := f.list(ctx, service)
		if err != nil {
			return fmt.Errorf("redis: the instances of %s cannot be read: %w", service, explain(err))
		}
		emit(list)
		return nil
	})
}

// Close implements registry.Driver.
func (f fleet) Close() error { return f.d.Close() }

const (
	// scanned is how many keys Redis looks at in one step.
	scanned = 1000
	// together is how many values are read in one step.
	together = 100
)

// list reads the instances of a service.
func (f fleet) list(ctx context.Context, service string) (registry.List, error) {
	folder := f.d.fleet.Folder(service)
	keys := make(map[string]bool) // Redis may name one more than once
	for cursor, first := uint64(0), true; first || cursor != 0; first = false {
		found, next, err := f.d.client.Scan(ctx, cursor, pattern(folder), scanned).Result()
		if err != nil {
			return registry.List{}, err
		}
		for _, k := range found {
			keys[k] = true
		}
		if len(keys) > maxInstances {
			return registry.List{}, fmt.Errorf("it has more than %d keys: remove those that are no instances", maxInstances)
		}
		cursor = next
	}
	var entries []rpcx.Entry
	size := 0
	batch := make([]string, 0, together)
	read := func() error {
		values, err := f.d.client.MGet(ctx, batch...).Result()
		for n, v := range values {
			if text, ok := v.(string); ok { // else it has expired
				size += len(text)
				entries = append(entries, entryOf(service, strings.TrimPrefix(batch[n], folder), text))
			}
		}
		if err == nil && size > maxBytes {
			err = fmt.Errorf("its instances have more than %d MiB in all: remove the keys that are none", maxBytes>>20)
		}
		batch = batch[:0]
		return err
	}
	for k := range keys {
		if batch = append(batch, k); len(batch) == together {
			if err := read(); err != nil {
				return registry.List{}, err
			}
		}
	}
	if len(batch) > 0 {
		if err := read(); err != nil {
			return registry.List{}, err
		}
	}
	return rpcx.List(entries), nil
}

// entryOf reads what a key holds: JSON, or the value as it is.
func entryOf(service, node, text string) rpcx.Entry {
	p := pair{Value: []byte(text)}
	if strings.HasPrefix(text, "{") {
		p.Value = nil
		if err := json.Unmarshal([]byte(text), &p); err != nil {
			return rpcx.Entry{Node: node, Err: fmt.Errorf("redis: %s of %s: %w", node, service, err)}
		}
	}
	return rpcx.Read(service, node, p.Value, p.LastIndex)
}

// pattern matches the keys that begin with a text.
func pattern(prefix string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`).Replace(prefix) + "*"
}
