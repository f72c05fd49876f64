// Package etcd keeps instances and documents in etcd, version 3.4 or newer.
//
//	reg, err := etcd.New(etcd.Config{Endpoints: []string{"10.0.0.1:2379", "10.0.0.2:2379", "10.0.0.3:2379"}})
//	server := weft.NewServer(&weft.ServerConfig{Registry: reg})
//	client, err := cluster.New(&cluster.Config{Registry: reg})
//
// The command "weft up" runs an etcd.
//
// # What is in etcd
//
//	<prefix>/instances/<service>/<ID>   an instance in JSON, with a lease
//	<prefix>/documents/<name>           a document, byte for byte
//
// Each name is escaped as one part of a URL's path, so that one with a slash stays
// one part. Each instance has a lease of its own: what a server has registered is gone
// when the server is silent for Config.Registry.TTL, two seconds at least. An etcd with
// users needs one that may read and write the keys below the prefix.
//
// Lists are read from a majority of the cluster, and their revision is that of etcd.
// A watch asks its member every three seconds whether it is still there. It ends at
// once when the connection breaks, within six seconds when the member says nothing
// any more, and when the member has lost the others; the next one finds another
// member. Changes that were compacted away before they were seen are no loss: the list
// is read again.
//
// The package is a module of its own, since etcd's client requires others.
package etcd

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/weftrpc/weft/registry"
)

// The defaults of a Config.
const (
	DefaultEndpoint    = "127.0.0.1:2379"
	DefaultPrefix      = "/weft"
	DefaultDialTimeout = 2 * time.Second
)

// Config says where etcd is. The zero value is one on this machine.
type Config struct {
	// Endpoints are the addresses of members of the cluster, "10.0.0.1:2379" or with
	// "http://" or "https://" before it. nil: DefaultEndpoint.
	Endpoints []string
	// Username and Password are for a cluster with authentication.
	Username, Password string
	// TLS encrypts all connections; nil: they are plain, unless an endpoint begins
	// with "https://". Without a ServerName it is that of each endpoint.
	TLS *tls.Config
	// DialTimeout bounds the time of one attempt to connect to a member. 0:
	// DefaultDialTimeout.
	DialTimeout time.Duration
	// Prefix is what all keys begin with, so that several systems can share an etcd.
	// "": DefaultPrefix.
	Prefix string
	// Registry says how servers and clients treat the registry.
	Registry registry.Config
}

// New makes a registry whose instances and documents are in etcd. It does not connect
// to etcd, which may be started later; an error means that the configuration cannot
// be used.
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

// resolve fills in the defaults, tells what is wrong, and leaves endpoints that are
// only a host and a port.
func (c *Config) resolve() error {
	if len(c.Endpoints) == 0 {
		c.Endpoints = []string{DefaultEndpoint}
	}
	if c.Prefix == "" {
		c.Prefix = DefaultPrefix
	}
	c.Prefix = strings.TrimRight(c.Prefix, "/")
	if c.DialTimeout < 0 {
		return fmt.Errorf("etcd: DialTimeout is %v, want 0 (%v) or more", c.DialTimeout, DefaultDialTimeout)
	}
	if c.DialTimeout == 0 {
		c.DialTimeout = DefaultDialTimeout
	}
	if c.Username == "" && c.Password != "" {
		return errors.New("etcd: there is a Password and no Username")
	}
	return c.resolveEndpoints()
}

func (c *Config) resolveEndpoints() error {
	plain, hosts := "", make([]string, len(c.Endpoints))
	for i, endpoint := range c.Endpoints {
		scheme, host, found := strings.Cut(endpoint, "://")
		switch {
		case !found:
			host = endpoint
		case scheme == "http":
			plain = endpoint
		case scheme != "https":
			return fmt.Errorf("etcd: endpoint %q: want a host and a port, such as %q, or a URL with http or https", endpoint, DefaultEndpoint)
		case c.TLS == nil:
			c.TLS = &tls.Config{}
		}
		host = strings.TrimSuffix(host, "/")
		if name, port, err := net.SplitHostPort(host); err != nil || name == "" || port == "" || strings.Contains(host, "/") {
			return fmt.Errorf("etcd: endpoint %q has not the form of %q", endpoint, DefaultEndpoint)
		}
		hosts[i] = host
	}
	if plain != "" && c.TLS != nil {
		return fmt.Errorf("etcd: endpoint %q is not encrypted, and TLS is asked for: use https", plain)
	}
	c.Endpoints = hosts
	return nil
}
