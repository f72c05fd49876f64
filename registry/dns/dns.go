// Package dns finds servers in the Domain Name System. Servers do not register
// themselves there: they are listed by the operator of the zone, or by the cluster.
//
//	r, err := dns.New(dns.Config{
//		Name: func(service string) string { return "_" + service + "._tcp.example.com" },
//	})
//
// # Records
//
// SRV records (RFC 2782) name the port, a weight and a priority of each server. One
// server is one address: names of hosts are resolved, to their IPv4 addresses or, if
// a host has none, to its IPv6 addresses. With Config.Port, A and AAAA records take
// the place of SRV records. The ID of an instance is its address, such as
// "tcp://10.0.0.7:8972"; DNS knows no groups, versions, zones and tags.
//
//	SRV record                         instance
//	lowest priority of all             its weight
//	next higher priority               its weight below zero: called when no other is left
//	still higher priority              weight and Draining: called after those
//	weight 0, as all of its priority   DefaultWeight
//	weight 0, as some                  1, the least
//	target "."                         none
//
// # Time
//
// A list is good for the smallest TTL of the records it was made of, and then asked
// for again; a list of none for as long as RFC 2308 says. Config.MinTTL and
// Config.MaxTTL bound both. Name errors (NXDOMAIN) and names without such records are
// empty lists. Failures of the servers (SERVFAIL, REFUSED), answers that make no
// sense and silence are errors, upon which a [registry.Registry] keeps the last list.
//
// A server has a second for an answer, and in a second round over all servers three
// more; a whole list may take 20 s. Answers come by UDP, and by TCP when they are too
// long for that.
//
// # Limits
//
// A service can have 1000 instances, and a name 1000 records of a kind; eight hosts of a
// list are asked for at a time. Servers that do not know EDNS (RFC 6891) count as
// failing.
//
// # Trust
//
// Plain DNS does not authenticate servers. Ports and identifiers are random, and
// answers that do not fit the question are ignored; where that is not enough, ask a
// resolver on this machine that validates, and let TLS authenticate the servers.
package dns

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/weftrpc/weft/registry"
)

// The defaults of a Config.
const (
	DefaultMinTTL = time.Second
	DefaultMaxTTL = time.Minute
)

// Config says what to ask, and which servers.
type Config struct {
	// Name returns the domain name under which a service is listed, in full: search
	// lists do not apply. It may be called at the same time.
	Name func(service string) string
	// Port is that of all servers, whose addresses are then in A and AAAA records. 0:
	// SRV records are asked for, which name the port.
	Port int
	// Scheme is that of the addresses of instances. "": "tcp".
	Scheme string
	// Servers are the resolvers to ask, "10.0.0.2" or "10.0.0.2:53", in this order:
	// the next one is asked when one fails. They must recurse, or know all names
	// themselves. None: those in /etc/resolv.conf, which is read before every
	// question.
	Servers []string
	// MinTTL and MaxTTL bound how long a list is used before the next question. 0:
	// DefaultMinTTL, 1 s, and DefaultMaxTTL, 1 min.
	MinTTL, MaxTTL time.Duration

	// Registry is how lists are kept.
	Registry registry.Config
}

// New makes a registry that reads the Domain Name System. What is registered with it is
// not published, which its log says. New asks nothing yet; an error says what is wrong
// with cfg. All methods of the registry may be called at the same time.
func New(cfg Config) (*registry.Registry, error) {
	d, err := newDriver(cfg)
	if err != nil {
		return nil, err
	}
	name := "dns " + cfg.Name("Service")
	if len(d.fixed) > 0 {
		name += " at " + strings.Join(d.fixed, ", ")
	}
	return registry.New(name, d, &cfg.Registry)
}

func newDriver(cfg Config) (*driver, error) {
	d := &driver{name: cfg.Name, port: cfg.Port, scheme: cfg.Scheme, min: cfg.MinTTL, max: cfg.MaxTTL}
	if d.scheme == "" {
		d.scheme = "tcp"
	}
	if d.min == 0 {
		d.min = DefaultMinTTL
	}
	if d.max == 0 {
		d.max = max(DefaultMaxTTL, d.min)
	}
	u, err := url.Parse(d.scheme + "://127.0.0.1:1")
	switch {
	case d.name == nil:
		return nil, fmt.Errorf("dns: Config.Name is missing: say under which domain name a service is listed")
	case d.port < 0 || d.port > 65535:
		return nil, fmt.Errorf("dns: Config.Port is %d, want 0 for SRV records, or a port", d.port)
	case err != nil || u.Scheme != d.scheme || u.Host != "127.0.0.1:1":
		return nil, fmt.Errorf("dns: Config.Scheme is %q, want one such as \"tcp\"", d.scheme)
	case d.min < 0 || d.max < d.min:
		return nil, fmt.Errorf("dns: Config.MinTTL is %v and Config.MaxTTL %v, want the first above zero and no more than the second", d.min, d.max)
	}
	for _, server := range cfg.Servers {
		address, err := serverAddress(server)
		if err != nil {
			return nil, fmt.Errorf("dns: Config.Servers: %w", err)
		}
		d.fixed = append(d.fixed, address)
	}
	return d, nil
}

// serverAddress completes the address of a resolver.
func serverAddress(server string) (string, error) {
	if a, err := netip.ParseAddr(server); err == nil {
		return net.JoinHostPort(a.String(), "53"), nil
	}
	host, port, err := net.SplitHostPort(server)
	if err != nil {
		return "", fmt.Errorf("%q is not like \"10.0.0.2\" or \"10.0.0.2:53\"", server)
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if _, bad := netip.ParseAddr(host); bad != nil || err != nil || n == 0 {
		return "", fmt.Errorf("%q is not an IP address and a port, like \"10.0.0.2:53\"", server)
	}
	return server, nil
}
