// Package zookeeper keeps instances and documents in Apache ZooKeeper, version 3.5 or
// newer.
//
//	reg, err := zookeeper.New(zookeeper.Config{Servers: []string{"10.0.0.1", "10.0.0.2", "10.0.0.3"}})
//	server := weft.NewServer(&weft.ServerConfig{Registry: reg})
//	client, err := cluster.New(&cluster.Config{Registry: reg})
//
// # What is in ZooKeeper
//
//	<prefix>/instances/<service>/<ID>   an instance in JSON, an ephemeral node
//	<prefix>/documents/<name>           a document, byte for byte, a persistent node
//
// Each name is escaped as one part of a URL's path, so that one with a slash stays one
// part. Nodes above are made when they are missing, and stay. With a User all nodes
// are made so that the same identity alone can use them; otherwise they are open to all.
//
// The revision of a list, and the version of a document, is the transaction of
// ZooKeeper that changed it last.
//
// # Sessions
//
// ZooKeeper ties an instance to the session of its server's process, not to a time of
// its own: when the process dies, its instances go with the session, after
// [Config.SessionTimeout]. That is what the time to live of a registration comes to
// here, and it is the TTL of registry.Config unless it is set. An instance that is not
// refreshed, though the process lives, is withdrawn by the driver after its time to
// live.
//
// A process has up to two sessions. The one that publishes survives a lost connection:
// it is resumed at the next server that answers, and given up when it has expired or
// the servers do not know it, after which the instances are published anew. The one
// that watches lives as long as its connection, since what was missed meanwhile cannot
// be vouched for; the next watch begins another. Both are begun when they are needed.
// A server that says nothing for two thirds of the session's time is left for another, and
// so is one that does not begin a session within three seconds. When no server does, that
// time grows to twelve seconds.
//
// # Limits
//
// Of one service a client takes 100,000 instances and 64 MiB of values; of what is
// more, the watch ends with an error and the last good list stays. A value that is too
// large, or none of weft's, is an invalid entry beside the others. ZooKeeper itself
// answers with the names of a service's nodes in one message and takes values of up to 1
// MiB, unless its jute.maxbuffer is raised.
//
// The package speaks ZooKeeper's protocol itself: what a request may cost, how long it
// may take and what becomes of it when a connection is lost are then decided here.
package zookeeper

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/weftrpc/weft/registry"
	"github.com/weftrpc/weft/registry/rpcx"
)

// The defaults of a Config.
const (
	DefaultPrefix = "/weft"
	DefaultPort   = "2181"
)

// Config says where ZooKeeper is and how to use it.
type Config struct {
	// Servers are the servers of the ensemble, "host" or "host:port"; the port is
	// DefaultPort otherwise. Names are looked up at every attempt to connect.
	Servers []string
	// Prefix is the node below which everything lies. It is made when it is not
	// there. "": DefaultPrefix.
	Prefix string
	// User and Password are an identity of ZooKeeper's "digest" scheme. What is
	// made under it can be read and written with the same identity alone. ZooKeeper
	// gets it as it is: without TLS the network can read it. "": none, and what is
	// made is open to all.
	User, Password string
	// SessionTimeout is how long the instances of a dead process stay. The server
	// has bounds for it: 2 and 20 of its ticks, 4 s and 40 s by default. 0: the TTL
	// of Registry.
	SessionTimeout time.Duration
	// TLS encrypts the connections, if it is not nil. The servers need a
	// secureClientPort.
	TLS *tls.Config
	// Registry is how the registry is treated, whatever its kind.
	Registry registry.Config
}

// New makes a registry of a ZooKeeper ensemble, which need not be up: its servers are
// asked when there is something to ask. An error means that cfg is wrong. All methods
// of the registry may be called at the same time.
func New(cfg Config) (*registry.Registry, error) {
	d, err := newDriver(cfg)
	if err != nil {
		return nil, err
	}
	return registry.New("zookeeper "+strings.Join(d.servers, ",")+d.prefix, d, &cfg.Registry)
}

// driver is registry.Driver and registry.Documents for ZooKeeper.
type driver struct {
	servers []string
	prefix  string
	fleet   rpcx.Base     // where servers of rpcx are; "": the registry is weft's own
	timeout time.Duration // of sessions
	tls     *tls.Config
	auth    []byte // user:password; nil: none

	patience patience

	wg sync.WaitGroup // everything that the driver has begun

	mu      sync.Mutex
	closed  bool
	writing *session              // the one that publishes; nil: none yet
	reading *session              // the one that new watches share; nil: none
	held    map[string]*lease     // what is published, by path
	open    map[*session]struct{} // that are not closed
}

var (
	_ registry.Driver    = (*driver)(nil)
	_ registry.Documents = (*driver)(nil)
)

func newDriver(cfg Config) (*driver, error) {
	d := &driver{
		prefix: cmp.Or(cfg.Prefix, DefaultPrefix), tls: cfg.TLS,
		timeout: cmp.Or(cfg.SessionTimeout, cfg.Registry.TTL, registry.DefaultTTL),
		held:    make(map[string]*lease), open: make(map[*session]struct{}),
	}
	for _, s := range cfg.Servers {
		if s == "" {
			return nil, errors.New("zookeeper: Servers has an empty name")
		}
		if _, _, err := net.SplitHostPort(s); err != nil {
			s = net.JoinHostPort(strings.Trim(s, "[]"), DefaultPort)
		}
		d.servers = append(d.servers, s)
	}
	if len(d.servers) == 0 {
		return nil, errors.New(`zookeeper: no Servers; name at least one, such as "127.0.0.1:2181"`)
	}
	if d.timeout < time.Second {
		return nil, fmt.Errorf("zookeeper: SessionTimeout is %v, want 0 or at least a second", d.timeout)
	}
	if err := checkPrefix(d.prefix); err != nil {
		return nil, err
	}
	if strings.Contains(cfg.User, ":") || cfg.User == "" && cfg.Password != "" {
		return nil, fmt.Errorf("zookeeper: User is %q, want a name without a colon, and no Password without a User", cfg.User)
	}
	if cfg.User != "" {
		d.auth = []byte(cfg.User + ":" + cfg.Password)
	}
	return d, nil
}

// Close ends the sessions, with which the server drops what they have published. It
// waits for everything that the driver has begun.
func (d *driver) Close() error {
	d.mu.Lock()
	d.closed = true
	for _, l := range d.held {
		l.timer.Stop()
	}
	open := slices.Collect(maps.Keys(d.open))
	d.mu.Unlock()
	for _, s := range open {
		s.lose(errClosed) // with which s strikes itself off
	}
	d.wg.Wait()
	return nil
}

var errClosed = errors.New("the registry is closed")
