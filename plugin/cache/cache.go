// Package cache keeps the replies of idempotent methods for a while, and makes one call of several
// equal ones that come at the same time. It works on servers and on clients.
//
//	c, err := cache.New(&cache.Config{Methods: map[string]time.Duration{"Catalog.Get": time.Minute}})
//	srv := weft.NewServer(&weft.ServerConfig{Plugins: []weft.Plugin{c.Plugin()}})
//
// Calls are equal when they have the same method, request, principal, and the same metadata under
// the keys of Config.Vary. Errors are not kept. A reply from the cache comes without the
// metadata that its handler set. Streams and one-way calls are left alone.
package cache

import (
	"container/list"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"hash"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/codec/msgpack"
	"github.com/weftrpc/weft/codec/protobuf"
	"github.com/weftrpc/weft/plugin/internal/match"
)

// DefaultMaxEntries is how many replies are kept.
const DefaultMaxEntries = 10_000

// Config configures a Cache.
type Config struct {
	// Methods are the methods, by name or by service ("Catalog.*"), with the time for which a
	// reply is kept; 0: it is not kept, and equal calls at the same time are one. Name only
	// methods that may be made twice with the effect of once, and whose replies may be so old.
	Methods map[string]time.Duration
	// Vary are keys of metadata that change the reply. nil: none.
	Vary []string
	// Shared says that replies do not depend on the principal: all callers share them.
	// Otherwise, on a server, each principal has its own, and calls of a principal without a
	// name (see package acl) are left alone. On a client the credential is taken to be the
	// same for all calls.
	Shared bool
	// MaxEntries is how many replies are kept; the one used longest ago makes room. 0:
	// DefaultMaxEntries.
	MaxEntries int
}

// Stats are what a cache has done.
type Stats struct {
	Hits    uint64 // calls that were answered with a reply that was kept
	Shared  uint64 // calls that were answered with the reply of an equal one under way
	Misses  uint64 // calls that were made
	Entries int    // replies that are kept now
}

// Cache keeps replies. Its methods may be called from any goroutine.
type Cache struct {
	cfg   Config
	exact map[string]time.Duration

	mu      sync.Mutex
	entries map[key]*list.Element
	recent  list.List // of *entry, the one used last in front
	flights map[key]*flight
	stats   Stats
}

type key [sha256.Size]byte

// entry is a reply that is kept: as a value on a server, and encoded on a client.
type entry struct {
	key   key
	reply any
	until time.Time
}

// flight is a call under way.
type flight struct {
	done    chan struct{}
	reply   any
	err     error
	unknown bool // the call says nothing about others: its own time was up
}

// New makes a Cache.
func New(cfg *Config) (*Cache, error) {
	if cfg == nil || len(cfg.Methods) == 0 {
		return nil, weft.Errorf(weft.InvalidArgument, "cache: Config.Methods names no methods")
	}
	c := &Cache{cfg: *cfg, exact: maps.Clone(cfg.Methods), entries: make(map[key]*list.Element), flights: make(map[key]*flight)}
	if err := match.Methods(slices.Sorted(maps.Keys(cfg.Methods))).Check(); err != nil {
		return nil, weft.Errorf(weft.InvalidArgument, "cache: Config.Methods: %w", err)
	}
	for name, ttl := range cfg.Methods {
		if ttl < 0 || name == "*" {
			return nil, weft.Errorf(weft.InvalidArgument, "cache: Config.Methods[%q] is %v: name methods or services, with times of 0 or more", name, ttl)
		}
	}
	if c.cfg.MaxEntries == 0 {
		c.cfg.MaxEntries = DefaultMaxEntries
	}
	if c.cfg.MaxEntries < 0 {
		return nil, weft.Errorf(weft.InvalidArgument, "cache: Config.MaxEntries is %d, want 0 (%d) or more", c.cfg.MaxEntries, DefaultMaxEntries)
	}
	return c, nil
}

// Plugin is for servers and clients; on a cluster.Client for Config.Plugins. Those that have the
// same cache share its replies: they must be of the same services.
func (c *Cache) Plugin() weft.Plugin {
	return weft.Plugin{Name: "cache", Server: c.serve, Client: c.call}
}

// Stats are what the cache has done.
func (c *Cache) Stats() Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := c.stats
	out.Entries = c.recent.Len()
	return out
}

// Clear forgets all replies.
func (c *Cache) Clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.entries)
	c.recent.Init()
}

// lasts is for how long replies of a method are kept.
func (c *Cache) lasts(method string) (ttl time.Duration, ok bool) {
	if ttl, ok = c.exact[method]; !ok {
		ttl, ok = c.exact[match.Service(method)+".*"]
	}
	return ttl, ok
}

func (c *Cache) serve(ctx context.Context, info *weft.CallInfo, req any, next weft.UnaryFunc) (any, error) {
	ttl, ok := c.lasts(info.Method)
	if !ok || info.Oneway {
		return next(ctx, info, req)
	}
	principal := ""
	if p := weft.PrincipalFrom(ctx); p != nil && !c.cfg.Shared {
		if principal, ok = match.Principal(p); !ok {
			return next(ctx, info, req)
		}
	}
	k, ok := c.keyOf("served", info.Method, principal, weft.MetadataFrom(ctx), req)
	if !ok {
		return next(ctx, info, req)
	}
	// A reply must not be changed once it was returned, so calls may share it.
	return c.do(ctx, k, ttl, func() (any, error) { return next(ctx, info, req) })
}

func (c *Cache) call(ctx context.Context, info *weft.CallInfo, req any, next weft.UnaryFunc) (any, error) {
	ttl, ok := c.lasts(info.Method)
	if !ok || info.Oneway || info.Reply == nil {
		return next(ctx, info, req)
	}
	k, ok := c.keyOf("called", info.Method, "", weft.OutgoingMetadata(ctx), req)
	if !ok {
		return next(ctx, info, req)
	}
	own := false
	b, err := c.do(ctx, k, ttl, func() (any, error) {
		own = true
		if _, err := next(ctx, info, req); err != nil {
			return nil, err
		}
		b, err := encode(info.Reply)
		if err != nil {
			return nil, nil // it is not kept, and the caller has it
		}
		return b, nil
	})
	switch {
	case err != nil:
		return nil, err
	case own:
		return info.Reply, nil
	case b == nil:
		return next(ctx, info, req)
	}
	return info.Reply, decode(b.([]byte), info.Reply)
}

// keyOf is the key of a call; ok is false for a request that cannot be encoded. The two sides of
// a plugin keep replies in different forms.
func (c *Cache) keyOf(side, method, principal string, m weft.Metadata, req any) (k key, ok bool) {
	b, err := encode(req)
	if err != nil {
		return k, false
	}
	h := sha256.New()
	add(h, side)
	add(h, method)
	add(h, principal)
	for _, name := range c.cfg.Vary {
		values := m.Values(name)
		add(h, string(binary.AppendUvarint(nil, uint64(len(values)))))
		for _, v := range values {
			add(h, v)
		}
	}
	h.Write(b)
	return key(h.Sum(nil)), true
}

// add adds a text with its length.
func add(h hash.Hash, s string) {
	h.Write(binary.AppendUvarint(nil, uint64(len(s))))
	h.Write([]byte(s))
}

func encode(v any) ([]byte, error) {
	if protobuf.Is(v) {
		return protobuf.New().Append(nil, v)
	}
	return msgpack.New().Append(nil, v)
}

func decode(b []byte, v any) error {
	if protobuf.Is(v) {
		return protobuf.New().Decode(b, v)
	}
	return msgpack.New().Decode(b, v)
}

// do returns the reply of a call: one that is kept, that of an equal call under way, or its own.
func (c *Cache) do(ctx context.Context, k key, ttl time.Duration, call func() (any, error)) (any, error) {
	for {
		c.mu.Lock()
		if reply, ok := c.keptLocked(k); ok {
			c.stats.Hits++
			c.mu.Unlock()
			return reply, nil
		}
		f := c.flights[k]
		if f == nil {
			f = &flight{done: make(chan struct{}), err: weft.Errorf(weft.Internal, "the call of an equal request panicked"), unknown: true}
			c.flights[k] = f
			c.stats.Misses++
			c.mu.Unlock()
			return c.lead(ctx, k, ttl, f, call)
		}
		c.mu.Unlock()
		select {
		case <-f.done:
		case <-ctx.Done():
			return nil, weft.Errorf(weft.CodeOf(ctx.Err()), "while an equal call was under way: %w", ctx.Err())
		}
		if !f.unknown {
			c.mu.Lock()
			c.stats.Shared++
			c.mu.Unlock()
			return f.reply, f.err
		}
	}
}

// lead makes the call for all that wait for it.
func (c *Cache) lead(ctx context.Context, k key, ttl time.Duration, f *flight, call func() (any, error)) (any, error) {
	defer func() {
		c.mu.Lock()
		delete(c.flights, k)
		if f.err == nil && f.reply != nil && ttl > 0 {
			c.keepLocked(&entry{k, f.reply, time.Now().Add(ttl)})
		}
		c.mu.Unlock()
		close(f.done)
	}()
	reply, err := call()
	f.reply, f.err = reply, err
	f.unknown = err != nil && (ctx.Err() != nil || errors.Is(err, weft.Canceled) || errors.Is(err, weft.DeadlineExceeded))
	return reply, err
}

func (c *Cache) keptLocked(k key) (reply any, ok bool) {
	e, ok := c.entries[k]
	if !ok {
		return nil, false
	}
	found := e.Value.(*entry)
	if time.Now().After(found.until) {
		delete(c.entries, k)
		c.recent.Remove(e)
		return nil, false
	}
	c.recent.MoveToFront(e)
	return found.reply, true
}

func (c *Cache) keepLocked(e *entry) {
	if old, ok := c.entries[e.key]; ok {
		c.recent.Remove(old)
	}
	c.entries[e.key] = c.recent.PushFront(e)
	for c.recent.Len() > c.cfg.MaxEntries {
		oldest := c.recent.Back()
		delete(c.entries, oldest.Value.(*entry).key)
		c.recent.Remove(oldest)
	}
}
