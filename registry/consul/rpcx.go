package consul

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/consul/api"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/registry"
	"github.com/weftrpc/weft/registry/rpcx"
)

// NewRpcx makes a registry of what servers of rpcx publish in Consul, as keys and values in the layout of its plugin:
// see package rpcx below registry. Prefix is their BasePath, and must be named. Servers of weft that register
// with it are found by clients of rpcx. It keeps no documents.
//
// A key of weft's goes with a session of Consul, which lives for at least ten seconds and up to twice that when
// its server is silent. Servers need key:write and session:write, clients key:read.
func NewRpcx(cfg Config) (*registry.Registry, error) {
	f, err := newFleet(cfg)
	if err != nil {
		return nil, err
	}
	r, err := registry.New(f.d.name, f, &cfg.Registry)
	if err != nil {
		f.Close()
		return nil, err
	}
	return r, nil
}

// fleet is registry.Driver for the layout of rpcx.
type fleet struct {
	d    *driver
	base rpcx.Base

	mu   sync.Mutex
	held map[string]string // the sessions of what this process has put, by key
}

var _ registry.Driver = (*fleet)(nil)

func newFleet(cfg Config) (*fleet, error) {
	base := rpcx.Base(cfg.Prefix)
	if err := base.Check(); err != nil {
		return nil, err
	}
	cfg.Prefix = "" // weft's own has other letters
	d, err := newDriver(cfg)
	if err != nil {
		return nil, err
	}
	d.name += " " + strings.Trim(string(base), "/") + " (rpcx)"
	return &fleet{d: d, base: base, held: make(map[string]string)}, nil
}

// leastSession is the shortest time that Consul keeps a session.
const leastSession = 10 * time.Second

// Put implements registry.Driver.
func (f *fleet) Put(ctx context.Context, i weft.Instance, ttl time.Duration) error {
	key, err := f.base.Key(i)
	if err != nil {
		return err
	}
	value, err := rpcx.Encode(i)
	if err != nil {
		return err
	}
	session, err := f.session(ctx, key, max(ttl, leastSession))
	for first := true; err == nil; first = false {
		var done bool
		p := &api.KVPair{Key: key, Value: value, Session: session}
		if done, _, err = f.d.client.KV().Acquire(p, f.write(ctx)); done || err != nil {
			break
		}
		if !first {
			err = errors.New("another process publishes it too")
			break
		}
		_, err = f.d.client.KV().Delete(key, f.write(ctx)) // of an older session
	}
	return f.failed("put", key, err)
}

func (f *fleet) write(ctx context.Context) *api.WriteOptions {
	return (&api.WriteOptions{Datacenter: f.d.datacenter}).WithContext(ctx)
}

// failed says of an error what was tried.
func (f *fleet) failed(what, key string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("consul: %s %s: %w", what, key, explain(err, fmt.Sprintf("key:write for %q and session:write", key)))
}

func (f *fleet) lookup(key string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.held[key]
}

// session returns the session of a key, with its whole time before it.
func (f *fleet) session(ctx context.Context, key string, ttl time.Duration) (string, error) {
	if id := f.lookup(key); id != "" {
		entry, _, err := f.d.client.Session().Renew(id, f.write(ctx))
		if err != nil || entry != nil && entry.TTL == ttl.String() {
			return id, err
		}
	}
	// The checks of the node have no part in it: Consul cannot be asked from elsewhere otherwise.
	id, _, err := f.d.client.Session().CreateNoChecks(&api.SessionEntry{
		Name: "weft " + key, Behavior: api.SessionBehaviorDelete, TTL: ttl.String(), LockDelay: time.Millisecond}, f.write(ctx))
	if err != nil {
		return "", err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.held[key] = id
	return id, nil
}

// Refresh implements registry.Driver.
func (f *fleet) Refresh(ctx context.Context, i weft.Instance, _ time.Duration) error {
	key, err := f.base.Key(i)
	if err != nil {
		return err
	}
	id := f.lookup(key)
	if id == "" {
		return registry.ErrLost
	}
	q := (&api.QueryOptions{Datacenter: f.d.datacenter, RequireConsistent: true}).WithContext(ctx)
	p, _, err := f.d.client.KV().Get(key, q)
	if err != nil {
		return f.failed("refresh", key, err)
	}
	if p == nil || p.Session != id {
		return registry.ErrLost
	}
	entry, _, err := f.d.client.Session().Renew(id, f.write(ctx))
	if err == nil && entry == nil {
		return registry.ErrLost
	}
	return f.failed("refresh", key, err)
}

// Delete implements registry.Driver.
func (f *fleet) Delete(ctx context.Context, i weft.Instance) error {
	key, err := f.base.Key(i)
	if err != nil {
		return err
	}
	if _, err := f.d.client.KV().Delete(key, f.write(ctx)); err != nil {
		return f.failed("delete", key, err)
	}
	if id := f.lookup(key); id != "" {
		if _, err := f.d.client.Session().Destroy(id, f.write(ctx)); err != nil {
			return f.failed("delete", key, err)
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.held, key)
	}
	return nil
}

// Watch implements registry.Driver.
func (f *fleet) Watch(ctx context.Context, service string, emit func(registry.List)) error {
	folder := f.base.Folder(service)
	err := follow(ctx, f.d.datacenter,
		func(q *api.QueryOptions) (api.KVPairs, *api.QueryMeta, error) { return f.d.client.KV().List(folder, q) },
		func(pairs api.KVPairs, index uint64) {
			entries := make([]rpcx.Entry, 0, len(pairs))
			for _, p := range pairs {
				if node := strings.TrimPrefix(p.Key, folder); node != "" {
					entries = append(entries, rpcx.Read(service, node, p.Value, p.ModifyIndex))
				}
			}
			list := rpcx.List(entries)
			list.Revision = index
			emit(list)
		})
	return fmt.Errorf("consul: watch %s: %w", folder, explain(err, fmt.Sprintf("key:read for %q", folder)))
}

// Close implements registry.Driver.
func (f *fleet) Close() error { return f.d.Close() }
