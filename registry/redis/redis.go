// Package redis keeps instances and documents in Redis, version 6.0 or newer, or in what
// speaks its protocol and runs its scripts, such as Valkey: one server, a master that
// Sentinels watch over, or a Redis Cluster.
//
//	reg, err := redis.New(redis.Config{Addresses: []string{"10.0.0.1"}})
//	server := weft.NewServer(&weft.ServerConfig{Registry: reg})
//	client, err := cluster.New(&cluster.Config{Registry: reg})
//
// # What is in Redis
//
//	<prefix>:service:{<service>}:instances   hash, ID -> instance in JSON
//	<prefix>:service:{<service>}:expiry      sorted set, ID -> milliseconds of the server's clock
//	<prefix>:service:{<service>}:revision
//	<prefix>:document:{<name>}               hash, value and version
//
// Names in keys are escaped as in the path of a URL. The braces make a cluster keep what
// belongs together on one node. Scripts that run in the server change and read it in
// one step. The clock is the server's alone, so those of the hosts need not agree. What
// is left of a service that is not used any more is dropped an hour after its last
// instance has expired.
//
// The revision of a service, and the version of a document, is the server's time of the
// last change, in microseconds, or the one before plus one if the clock has gone back.
// It goes on growing after Redis has lost its data, when a counter would begin at 1
// again and clients would not use the new lists for some time. A service of which
// Redis knows nothing has revision 0.
//
// # How changes are seen
//
// A change is announced by PUBLISH on a channel for each service and document, and is
// read within milliseconds. A client misses what is announced while its connection
// fails, and Redis does not announce that an instance has expired; so what is watched is read again
// every two seconds in any case, which costs a few bytes when it has not changed. A
// watch ends when Redis does not answer for two seconds.
//
// Redis acknowledges a write before a replica has it. A failover can therefore bring
// back a list from some moments before; the servers' next refreshes mend it.
//
// # Rights and limits
//
// A reader removes what has expired, so clients need the right to write,
// and a replica is no place to read from. A user needs the keys and channels that begin
// with the prefix, and +@scripting +@hash +@sortedset +@string +@keyspace +@pubsub
// +@connection +time -@dangerous.
//
// Of one service a client takes 100,000 instances and 64 MiB; of what is more, the watch
// ends with an error and the last good list stays. A value that is too large, or none of
// weft's, is an invalid entry beside the others. A Redis that evicts keys, or refuses
// writes, for want of memory (maxmemory) loses registrations, which are then made again.
package redis

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/weftrpc/weft/registry"
	"github.com/weftrpc/weft/registry/rpcx"
)

// The defaults of a Config.
const (
	DefaultPrefix = "weft"
	DefaultPort   = "6379"
)

// Config says where Redis is and how to use it.
type Config struct {
	// Addresses are "host" or "host:port"; the port is DefaultPort otherwise. One is
	// a Redis, several are nodes of a Redis Cluster; of a cluster with one known
	// address name that twice. With a Master they are Sentinels, whose port must be
	// named.
	Addresses []string
	// Master is the name under which Sentinels know the Redis. "": there are none.
	Master string
	// User and Password are told to Redis, if Password is not empty; without a User
	// it is that of requirepass. Sentinels are told nothing. Without TLS the network
	// can read them.
	User, Password string
	// DB is the number of the database; a cluster has 0 alone.
	DB int
	// TLS encrypts the connections, if it is not nil.
	TLS *tls.Config
	// Prefix begins every key. "": DefaultPrefix.
	Prefix string
	// Registry is how the registry is treated, whatever its kind.
	Registry registry.Config
}

// New makes a registry of Redis, which need not be up: it is asked when there is
// something to ask. An error means that cfg is wrong. All methods of the registry may
// be called at the same time.
//
// The library that is used may write to standard error about the nodes of a cluster, and
// has no logger of one client. SetLogger of package github.com/redis/go-redis/v9 replaces
// that of the program as a whole.
func New(cfg Config) (*registry.Registry, error) {
	d, err := newDriver(cfg)
	if err != nil {
		return nil, err
	}
	r, err := registry.New(d.name, d, &cfg.Registry)
	if err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return r, nil
}

// driver is registry.Driver and registry.Documents for Redis.
type driver struct {
	name    string
	prefix  string
	fleet   rpcx.Base // where servers of rpcx are; "": the registry is weft's own
	client  redis.UniversalClient
	scripts scripts
	news    *news
	poll    time.Duration // usualPoll
}

var (
	_ registry.Driver    = (*driver)(nil)
	_ registry.Documents = (*driver)(nil)
)

const (
	dialTimeout = 2 * time.Second
	// answerTimeout is how long Redis may take for an answer. It takes about a
	// millisecond.
	answerTimeout = 2 * time.Second
	// connections are enough for all the watches of a process, which take turns.
	connections = 8
)

func newDriver(cfg Config) (*driver, error) { return newDriverWithin(cfg, answerTimeout) }

// newDriverWithin makes a driver that gives Redis so long for an answer.
func newDriverWithin(cfg Config, answer time.Duration) (*driver, error) {
	o := &redis.UniversalOptions{
		MasterName: cfg.Master, Username: cfg.User, Password: cfg.Password, DB: cfg.DB, TLSConfig: cfg.TLS,
		Protocol: 2, DisableIdentity: true, ContextTimeoutEnabled: true,
		MaxRetries: -1, DialerRetries: 1, // Registry goes on trying
		DialTimeout: dialTimeout, ReadTimeout: answer, WriteTimeout: answer,
		Dialer:   dialer(cfg.TLS),
		PoolSize: connections,
	}
	for _, a := range cfg.Addresses {
		if a == "" {
			return nil, errors.New("redis: Addresses has an empty one")
		}
		if _, _, err := net.SplitHostPort(a); err != nil {
			if cfg.Master != "" {
				return nil, fmt.Errorf("redis: Addresses: the Sentinel %q needs a port: %w", a, err)
			}
			a = net.JoinHostPort(strings.Trim(a, "[]"), DefaultPort)
		}
		o.Addrs = append(o.Addrs, a)
	}
	prefix := cmp.Or(cfg.Prefix, DefaultPrefix)
	switch {
	case len(o.Addrs) == 0:
		return nil, errors.New(`redis: no Addresses; name at least one, such as "127.0.0.1:6379"`)
	case cfg.User != "" && cfg.Password == "":
		return nil, fmt.Errorf("redis: there is a User %q and no Password", cfg.User)
	case strings.ContainsAny(prefix, "{}"):
		return nil, fmt.Errorf("redis: Prefix %q has a brace, which tells a cluster where a key lies", prefix)
	case cfg.DB < 0, cfg.DB > 0 && cfg.Master == "" && len(o.Addrs) > 1:
		return nil, fmt.Errorf("redis: DB is %d, want 0 or more, and 0 for a cluster", cfg.DB)
	}
	addresses := strings.Join(o.Addrs, ",")
	if cfg.Master != "" {
		s := &sentinels{addresses: o.Addrs, master: cfg.Master, dial: o.Dialer}
		o.Addrs, o.MasterName = []string{cfg.Master}, "" // for messages
		o.Dialer, o.ConnMaxLifetime = s.dialMaster, masterLifetime
	}
	client := redis.NewUniversalClient(o)
	d := &driver{
		name:   fmt.Sprintf("redis %s/%d/%s", addresses, cfg.DB, prefix),
		prefix: prefix, client: client, scripts: newScripts(), news: newNews(client), poll: usualPoll,
	}
	if cfg.Master != "" {
		d.name += " of " + cfg.Master
	}
	return d, nil
}

// Close closes the connections. What was published expires.
func (d *driver) Close() error {
	d.news.close()
	return d.client.Close()
}

// topic is what a service or a document is called in Redis.
type topic struct {
	keys    []string
	channel string // of its announcements
}

// service returns what the scripts of instances ask for.
func (d *driver) service(name string) topic {
	base := d.prefix + ":service:{" + url.PathEscape(name) + "}:"
	return topic{[]string{base + "instances", base + "expiry", base + "revision"}, base + "changed"}
}

// document returns what the scripts of documents ask for.
func (d *driver) document(name string) topic {
	base := d.prefix + ":document:{" + url.PathEscape(name) + "}"
	return topic{[]string{base}, base + ":changed"}
}

// usualPoll is how often what is watched is read in any case.
const usualPoll = 2 * time.Second

// batch is how long announcements are collected: a deployment makes many changes at a
// time, and each reads all instances.
const batch = 20 * time.Millisecond

// follow reads a topic at its begin, at every announcement, and every two seconds. It
// ends with the first error.
func (d *driver) follow(ctx context.Context, t topic, read func(context.Context) error) error {
	changed, stop := d.news.listen(t.channel)
	defer stop()
	timer := time.NewTimer(d.poll)
	defer timer.Stop()
	for {
		if err := read(ctx); err != nil {
			return err
		}
		timer.Reset(d.poll)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-timer.C:
			continue
		case <-changed:
		}
		timer.Reset(batch)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-timer.C:
		}
	}
}
