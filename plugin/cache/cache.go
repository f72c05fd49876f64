// Package cache keeps the replies of idempotent methods for a while, and makes one call of several
// equal ones that come at the same time. It works on servers and on clients.
//
//	c, err := cache.New(&cache.Config{Methods: map[string]time.Duration{"Catalog.Get": time.Minute}})
//	srv := weft.NewServer(&weft.ServerConfig{Plugins: []weft.Plugin{c.Plugin()}})
//
// Calls are equal when they have the same method, request, principal, and the same metadata under
// the keys of Config.Vary. Requests are compared as their codec writes them, messages of Protocol Buffers as their own
// bytes, and those of gob and of codecs that Config.Codecs does not name as MessagePack has them: a field that is left out
// there does not tell calls apart. Errors are not kept. A reply from the cache comes without the metadata that its handler
// set. Streams and one-way calls are left alone.
//
// A server keeps replies as values. A client keeps them as their codec writes them, so that a reply from the cache is
// the same value as one from the server; calls with a codec that is unknown here (see Config.Codecs) are left alone.
package cache

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/codec"
	"github.com/weftrpc/weft/plugin/internal/keyed"
	"github.com/weftrpc/weft/plugin/internal/match"
)

// The defaults of a Config.
const (
	DefaultMaxEntries = 10_000
	DefaultMaxBytes   = 64 << 20
)

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
	// name (see package acl) are left alone. On a client, calls with a credential of their own, by
	// weft.WithCredential or as "authorization" of weft.WithMetadata, are left alone, and the others through one value of
	// Plugin are taken to be made for one caller: a client that acts for several, by the context that it gives its Credential
	// function, or by metadata with another key, must set Caller.
	Shared bool
	// Caller names for whom a client makes a call; calls for different callers are not equal. With it calls with
	// credentials of their own are not left alone, and all clients share the replies to one caller. nil: all others through
	// one value of Plugin are for one.
	Caller func(ctx context.Context) string
	// MaxEntries is how many replies are kept, and MaxBytes how many bytes they have when they are encoded; the
	// one used longest ago makes room. 0: DefaultMaxEntries, DefaultMaxBytes.
	MaxEntries, MaxBytes int
	// Codecs are further ones that calls are made with, such as cbor or one of the program. msgpack, json, protobuf,
	// gob, gencode and raw are known. nil: no others.
	Codecs []codec.Codec
}

// Stats are what a cache has done.
type Stats struct {
	Hits    uint64 // calls that were answered with a reply that was kept
	Shared  uint64 // calls that were answered with the reply of an equal one under way
	Misses  uint64 // calls that were made
	Entries int    // replies that are kept now
	Bytes   int    // that they have when they are encoded
}

// Cache keeps replies. Its methods may be called from any goroutine.
type Cache struct {
	cfg    Config
	exact  map[string]time.Duration
	codecs codecs
	// plugins counts the calls of Plugin, each of which has replies of its own on clients.
	plugins atomic.Uint64

	mu      sync.Mutex
	entries *keyed.Table[key, entry]
	bytes   int // of the entries
	flights map[key]*flight
	stats   Stats

	encoders sync.Pool // of *[]byte
}

type key [sha256.Size]byte

// entry is a reply that is kept: as a value on a server, and encoded on a client.
type entry struct {
	reply any
	size  int
	until time.Time
}

// answer is a reply and about how many bytes it has.
type answer struct {
	reply any
	size  int
}

// flight is a call under way.
type flight struct {
	answer
	done    chan struct{}
	err     error
	unknown bool // the call says nothing about others: its own time was up
}

// New makes a Cache.
func New(cfg *Config) (*Cache, error) {
	if cfg == nil || len(cfg.Methods) == 0 {
		return nil, weft.Errorf(weft.InvalidArgument, "cache: Config.Methods names no methods")
	}
	c := &Cache{cfg: *cfg, exact: maps.Clone(cfg.Methods), flights: make(map[key]*flight)}
	c.encoders.New = func() any { return new([]byte) }
	c.cfg.Vary = slices.Clone(cfg.Vary)
	if err := match.Methods(slices.Sorted(maps.Keys(cfg.Methods))).Check(); err != nil {
		return nil, weft.Errorf(weft.InvalidArgument, "cache: Config.Methods: %w", err)
	}
	for name, ttl := range cfg.Methods {
		if ttl < 0 || name == "*" {
			return nil, weft.Errorf(weft.InvalidArgument, "cache: Config.Methods[%q] is %v: name methods or services, with times of 0 or more", name, ttl)
		}
	}
	if c.cfg.MaxEntries < 0 || c.cfg.MaxBytes < 0 {
		return nil, weft.Errorf(weft.InvalidArgument, "cache: Config.MaxEntries is %d and MaxBytes %d, want 0 (%d and %d) or more",
			c.cfg.MaxEntries, c.cfg.MaxBytes, DefaultMaxEntries, DefaultMaxBytes)
	}
	c.cfg.MaxEntries = cmp.Or(c.cfg.MaxEntries, DefaultMaxEntries)
	c.cfg.MaxBytes = cmp.Or(c.cfg.MaxBytes, DefaultMaxBytes)
	c.entries = keyed.New[key, entry](c.cfg.MaxEntries)
	var err error
	if c.codecs, err = newCodecs(cfg.Codecs); err != nil {
		return nil, err
	}
	return c, nil
}

// Plugin is for servers and clients. Servers that have the same cache share its replies: they must be of the same
// services. Clients share the replies of one value of Plugin alone, unless Config.Shared or Config.Caller is set. Clients of one value
// must be of the same services and have the same credentials and certificate, since a cache sees none of them: call Plugin for each
// client of another caller. On a cluster.Client it is for Config.Plugins or Client.Plugins.
//
// Replies to the calls of a weft.Peer, such as a server makes to one of its clients, are kept only if Config.Shared or Config.Caller is set: each peer
// may answer differently. Where peers do, Caller must say which is called.
func (c *Cache) Plugin() weft.Plugin {
	own := "" // the caller of all calls through this value that Config.Caller does not name
	if !c.cfg.Shared && c.cfg.Caller == nil {
		own = strconv.FormatUint(c.plugins.Add(1), 10)
	}
	return weft.Plugin{Name: "cache", Server: c.serve, Client: func(ctx context.Context, info *weft.CallInfo, req any, next weft.UnaryFunc) (any, error) {
		return c.call(ctx, info, req, next, own)
	}}
}

// Stats are what the cache has done.
func (c *Cache) Stats() Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := c.stats
	out.Entries, out.Bytes = c.entries.Len(), c.bytes
	return out
}

// Clear forgets all replies. Replies of calls that are under way are not kept, and not shared with calls that begin later.
func (c *Cache) Clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.entries, c.bytes = keyed.New[key, entry](c.cfg.MaxEntries), 0
	clear(c.flights)
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
	k, ok := c.keyOf("served", info, principal, weft.MetadataFrom(ctx), req)
	if !ok {
		return next(ctx, info, req)
	}
	if reply, ok := c.kept(k); ok {
		return reply, nil
	}
	// A reply must not be changed once it was returned, so calls may share it.
	return c.do(ctx, k, ttl, func() (answer, error) {
		reply, err := next(ctx, info, req)
		if err != nil || ttl == 0 {
			return answer{reply: reply}, err
		}
		return answer{reply: reply, size: c.codecs.sizeOf(info.Codec, reply)}, nil
	})
}

func (c *Cache) call(ctx context.Context, info *weft.CallInfo, req any, next weft.UnaryFunc, caller string) (any, error) {
	ttl, ok := c.lasts(info.Method)
	if !ok || info.Oneway || info.Reply == nil {
		return next(ctx, info, req)
	}
	m := weft.OutgoingMetadata(ctx)
	if !c.cfg.Shared && c.cfg.Caller == nil && (info.OwnCredential || info.Peer != nil || hasCredential(m)) {
		return next(ctx, info, req)
	}
	with := c.codecs.of(info.Codec, info.Reply)
	if with == nil {
		return next(ctx, info, req)
	}
	if c.cfg.Caller != nil && !c.cfg.Shared {
		caller = c.cfg.Caller(ctx)
	}
	k, ok := c.keyOf("called", info, caller, m, req)
	if !ok {
		return next(ctx, info, req)
	}
	if b, ok := c.kept(k); ok {
		return info.Reply, decode(with, b.([]byte), info.Reply)
	}
	own := false
	b, err := c.do(ctx, k, ttl, func() (answer, error) {
		own = true
		if _, err := next(ctx, info, req); err != nil {
			return answer{}, err
		}
		b, err := encode(nil, with, info.Reply)
		if err != nil {
			return answer{}, nil // it is not kept, and the caller has it
		}
		return answer{reply: b, size: len(b)}, nil
	})
	switch {
	case err != nil:
		return nil, err
	case own:
		return info.Reply, nil
	case b == nil:
		return next(ctx, info, req)
	}
	return info.Reply, decode(with, b.([]byte), info.Reply)
}

// hasCredential reports whether metadata carries a credential. On a wire whose keys are not told apart by case, a key
// in another case is the same.
func hasCredential(m weft.Metadata) bool {
	for key := range m.All() {
		if strings.EqualFold(key, "authorization") {
			return true
		}
	}
	return false
}

// mostKept is the largest buffer of a key that is used again.
const mostKept = 64 << 10

// keyOf is the key of a call; ok is false for a request that cannot be encoded. The two sides of
// a plugin keep replies in different forms, and a client each as its codec writes it.
func (c *Cache) keyOf(side string, info *weft.CallInfo, caller string, m weft.Metadata, req any) (k key, ok bool) {
	buf := c.encoders.Get().(*[]byte)
	b := add((*buf)[:0], side)
	b = add(b, info.Method)
	b = add(b, caller)
	if side == "called" {
		b = add(b, info.Codec)
	}
	for _, name := range c.cfg.Vary {
		values := m.Values(name)
		b = binary.AppendUvarint(b, uint64(len(values)))
		for _, v := range values {
			b = add(b, v)
		}
	}
	with := c.codecs.comparing(info.Codec, req)
	b, err := encode(add(b, with.Name()), with, req)
	if err == nil {
		k = sha256.Sum256(b)
	}
	if cap(b) <= mostKept {
		*buf = b[:0]
		c.encoders.Put(buf)
	}
	return k, err == nil
}

// add appends a text with its length.
func add(b []byte, s string) []byte { return append(binary.AppendUvarint(b, uint64(len(s))), s...) }

// do returns the reply of a call: one that is kept, that of an equal call under way, or its own.
func (c *Cache) do(ctx context.Context, k key, ttl time.Duration, call func() (answer, error)) (any, error) {
	for {
		c.mu.Lock()
		if reply, ok := c.keptLocked(k); ok {
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
func (c *Cache) lead(ctx context.Context, k key, ttl time.Duration, f *flight, call func() (answer, error)) (any, error) {
	defer func() {
		c.mu.Lock()
		if c.flights[k] == f { // otherwise Clear was called since
			delete(c.flights, k)
			if f.err == nil && f.reply != nil && ttl > 0 {
				c.keepLocked(k, entry{f.reply, f.size, time.Now().Add(ttl)})
			}
		}
		c.mu.Unlock()
		close(f.done)
	}()
	got, err := call()
	if raw, ok := got.reply.(*[]byte); ok && raw != nil { // the function of HandleRaw may use its memory again
		reply := bytes.Clone(*raw)
		got.reply = &reply
	}
	f.answer, f.err = got, err
	if e, ok := err.(*weft.Error); ok { // the memory of this call's name may be used again before the others have the error
		shared := *e
		shared.Method = strings.Clone(e.Method)
		f.err = &shared
	}
	f.unknown = err != nil && (ctx.Err() != nil || errors.Is(err, weft.Canceled) || errors.Is(err, weft.DeadlineExceeded))
	return got.reply, err
}

// kept returns a reply that is kept.
func (c *Cache) kept(k key) (reply any, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.keptLocked(k)
}

func (c *Cache) keptLocked(k key) (reply any, ok bool) {
	e := c.entries.Get(k)
	switch {
	case e == nil:
		return nil, false
	case time.Now().After(e.until):
		c.dropLocked(k, e)
		return nil, false
	}
	c.stats.Hits++
	return e.reply, true
}

func (c *Cache) dropLocked(k key, e *entry) {
	c.bytes -= e.size
	c.entries.Delete(k)
}

// keepLocked keeps a reply, unless it is larger than all that are kept may be.
func (c *Cache) keepLocked(k key, e entry) {
	if e.size > c.cfg.MaxBytes {
		return
	}
	if old := c.entries.Get(k); old != nil {
		c.dropLocked(k, old)
	}
	for c.entries.Len() == c.cfg.MaxEntries || c.bytes > c.cfg.MaxBytes-e.size {
		c.dropLocked(c.entries.Oldest())
	}
	*c.entries.Add(k, nil) = e
	c.bytes += e.size
}
